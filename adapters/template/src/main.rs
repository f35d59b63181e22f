//! Service adapter without code: a folder of templates and JSON Schemas
//! (`docs/authors/templates.md`).
//!
//! | module | holds |
//! | --- | --- |
//! | `folder` | the folder: `adapter.yml`, settings, schemas, which folder it is |
//! | `template` | templates, what they can call, and how values get into what they render |
//! | `context` | the protocol's inputs under the names that templates know |
//! | `adapter` | the subcommands |
//! | `manifest`, `manifest_check`, `needs`, `values`, `secrets` | making a manifest |
//! | `references` | what users may not bring |
//! | `binding`, `dashboard` | what is asked of a deployed instance |
//! | `path`, `near` | places in manifests, spellings |

mod adapter;
mod binding;
mod context;
mod dashboard;
mod failure;
mod folder;
mod manifest;
mod manifest_check;
mod near;
mod needs;
mod path;
mod references;
mod secrets;
mod template;
mod values;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use odb_adapter_sdk::runner::run_with_arguments;

use crate::adapter::TemplateAdapter;
use crate::folder::{Folder, Invocation};

fn main() -> ExitCode {
    let invocation = match Invocation::find() {
        Ok(invocation) => invocation,
        Err(error) => return failed(&error),
    };
    match Folder::load(&invocation.folder) {
        Ok(folder) => run_with_arguments(&TemplateAdapter::new(folder), &invocation.arguments),
        Err(error) => failed(&error),
    }
}

/// Reports to the operator, in one line, why the adapter cannot be loaded.
fn failed(error: &dyn Error) -> ExitCode {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    // A failure to write is ignored.
    let _ = writeln!(
        std::io::stderr(),
        "[template-service-adapter] {}",
        text.replace('\n', " ")
    );
    ExitCode::FAILURE
}
