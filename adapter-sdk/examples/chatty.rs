//! An adapter that prints at wrong times and panics on request, to show how the runner handles it.

use std::io::Write;
use std::process::ExitCode;

use odb_adapter_sdk::protocol::{GenerateManifest, GeneratedManifest};
use odb_adapter_sdk::{Adapter, AdapterError, run};

fn main() -> ExitCode {
    run(&Chatty, odb_adapter_sdk::version!())
}

struct Chatty;

impl Adapter for Chatty {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        writeln!(std::io::stdout(), "a library says hello")?;
        let parameters = call.request_parameters.arbitrary();
        assert!(
            !parameters.contains_key("panic"),
            "asked to panic by {parameters:?}"
        );
        Ok(GeneratedManifest::from_text("name: chatty\n".into()))
    }
}
