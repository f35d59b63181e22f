//! Service adapter without code: a folder of templates and JSON Schemas
//! (`docs/authors/templates.md`).
//!
//! | module | holds |
//! | --- | --- |
//! | here | which folder is served |
//! | `adapter` | the subcommands |
//! | `folder` | the folder: `adapter.yml`, settings, schemas |
//! | `template` | templates, what they can call, and how values get into what they render |
//! | `context` | the protocol's inputs under the names that templates know |
//! | `manifest`, `manifest_check`, `values`, `secrets` | making a manifest |
//! | `binding` | what is asked of a deployed instance |
//! | `needs` | what is refused: plans, releases and stemcells that do not fit, and what users may not bring |
//! | `path`, `near` | places in manifests, spellings |

mod adapter;
mod binding;
mod context;
mod folder;
mod manifest;
mod manifest_check;
mod near;
mod needs;
mod path;
mod secrets;
mod template;
mod values;

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use odb_adapter_sdk::protocol::Subcommand;
use odb_adapter_sdk::runner::{VERSION_OPTION, print_version, run_with_arguments};
use odb_adapter_sdk::version;

use crate::adapter::TemplateAdapter;
use crate::folder::{DESCRIPTION, Folder};

fn main() -> ExitCode {
    // Also without a folder.
    if env::args_os().skip(1).eq([VERSION_OPTION]) {
        return print_version(version!());
    }
    let loaded = Invocation::find()
        .and_then(|invocation| Ok((Folder::load(&invocation.folder)?, invocation.arguments)));
    match loaded {
        Ok((folder, arguments)) => {
            run_with_arguments(&TemplateAdapter::new(folder), version!(), &arguments)
        }
        Err(error) => {
            // For the operator, in one line. A failure to write is ignored.
            let text = format!("{error:#}").replace('\n', " ");
            let _ = writeln!(std::io::stderr(), "[template-service-adapter] {text}");
            ExitCode::FAILURE
        }
    }
}

/// Names the folder, where the arguments do not.
const FOLDER_VARIABLE: &str = "SERVICE_ADAPTER_FOLDER";

/// Where the BOSH job of the adapter puts its folder.
const DEFAULT_FOLDER: &str = "/var/vcap/jobs/template-service-adapter/config";

#[derive(Debug, PartialEq, Eq)]
struct Invocation {
    folder: PathBuf,
    /// The arguments for the adapter: the subcommand and the arguments after it.
    arguments: Vec<String>,
}

impl Invocation {
    fn find() -> anyhow::Result<Self> {
        let arguments: Vec<OsString> = env::args_os().collect();
        let named = env::var_os(FOLDER_VARIABLE);
        Self::of(&arguments, named.as_deref().map(Path::new)).with_context(|| {
            format!(
                "no folder with an `{DESCRIPTION}`: name it by the first argument or by `{FOLDER_VARIABLE}`, put the executable beside it, or put it at `{DEFAULT_FOLDER}`"
            )
        })
    }

    /// The first argument if it is a folder or a file; the folder that the environment names; the
    /// folder in which the program is called; the BOSH job's.
    fn of(arguments: &[OsString], named: Option<&Path>) -> Option<Self> {
        let program = arguments.first().map(Path::new);
        let rest = arguments.get(1..).unwrap_or_default();
        if let Some(folder) = rest.first().and_then(|first| folder_of(Path::new(first))) {
            return Some(Self {
                folder,
                arguments: texts(&rest[1..]),
            });
        }
        let beside = program
            .and_then(Path::parent)
            .filter(|folder| folder.join(DESCRIPTION).is_file());
        let default = Some(Path::new(DEFAULT_FOLDER)).filter(|folder| folder.is_dir());
        let folder = named.or(beside).or(default)?;
        Some(Self {
            folder: folder.to_owned(),
            arguments: texts(rest),
        })
    }
}

/// The folder that an argument names: the argument itself, or the folder of its file. The name of a subcommand never
/// counts as a folder.
fn folder_of(argument: &Path) -> Option<PathBuf> {
    let is_a_subcommand = argument
        .to_str()
        .is_some_and(|text| text.parse::<Subcommand>().is_ok());
    if is_a_subcommand {
        return None;
    }
    if argument.is_dir() {
        return Some(argument.to_owned());
    }
    let parent = argument.parent().filter(|_| argument.is_file())?;
    Some(if parent.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        parent.to_owned()
    })
}

fn texts(arguments: &[OsString]) -> Vec<String> {
    let texts = arguments.iter().map(|argument| argument.to_string_lossy());
    texts.map(Cow::into_owned).collect()
}
