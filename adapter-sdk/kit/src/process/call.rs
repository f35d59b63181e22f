use std::fmt;

use odb_adapter_sdk::protocol::{AdapterArguments, AdapterInput, Subcommand};

/// The arguments and the stdin of one adapter process.
///
/// Both may hold secrets; formatting shows the first argument only.
#[derive(Clone, PartialEq, Eq)]
pub struct ProcessCall {
    pub(super) arguments: Vec<String>,
    pub(super) stdin: Option<Vec<u8>>,
}

impl ProcessCall {
    /// The stdin form (`spec/contracts/adapter-protocol.md`, "stdin form").
    pub fn stdin(subcommand: Subcommand, input: &AdapterInput) -> Self {
        Self::document(subcommand, input.to_json())
    }

    /// The stdin form with a document of the caller's making, which need not keep to the protocol.
    pub fn document(subcommand: Subcommand, document: impl Into<Vec<u8>>) -> Self {
        Self {
            arguments: vec![subcommand.name().to_owned()],
            stdin: Some(document.into()),
        }
    }

    /// The argv form of old brokers (`spec/contracts/adapter-protocol.md`, "argv form"): stdin is empty.
    pub fn arguments(subcommand: Subcommand, arguments: AdapterArguments) -> Self {
        let mut all = vec![subcommand.name().to_owned()];
        all.extend(arguments.into_vec());
        Self::of(all)
    }

    /// A call with these arguments, unchecked, and an empty stdin.
    pub fn of(arguments: Vec<String>) -> Self {
        Self {
            arguments,
            stdin: None,
        }
    }

    /// Everything that the process is given as arguments.
    pub fn argv(&self) -> &[String] {
        &self.arguments
    }

    /// Its stdin; `None` in the argv form.
    pub fn input(&self) -> Option<&[u8]> {
        self.stdin.as_deref()
    }
}

impl fmt::Debug for ProcessCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessCall")
            .field("subcommand", &self.arguments.first())
            .finish_non_exhaustive()
    }
}
