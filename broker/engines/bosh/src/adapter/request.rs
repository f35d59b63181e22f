//! A request to an adapter, in the form that the adapter supports.

use odb_adapter_sdk::protocol::{AdapterArguments, AdapterInput, Subcommand};
use odb_config::AdapterForm;

/// A call before it is made.
pub(super) struct AdapterRequest {
    pub(super) call: Subcommand,
    /// The arguments after the subcommand.
    pub(super) arguments: Vec<String>,
    /// The input on stdin; empty if `None`.
    pub(super) stdin: Option<Vec<u8>>,
}

impl AdapterRequest {
    pub(super) fn new(
        form: AdapterForm,
        call: Subcommand,
        input: impl FnOnce() -> AdapterInput,
        arguments: impl FnOnce() -> AdapterArguments,
    ) -> Self {
        match form {
            AdapterForm::Stdin => Self {
                call,
                arguments: Vec::new(),
                stdin: Some(input().to_json().into_bytes()),
            },
            AdapterForm::Arguments => Self {
                call,
                arguments: arguments().into_vec(),
                stdin: None,
            },
        }
    }

    /// The longest argument in bytes.
    pub(super) fn longest_argument(&self) -> usize {
        let lengths = self.arguments.iter().map(String::len);
        lengths.max().unwrap_or_default()
    }
}
