use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{Language, NewAdapter, Sdk};

/// The arguments of `odb-adapter new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// Folder to create, named like the adapter: lower-case letters, digits and hyphens.
    #[arg(value_name = "NAME")]
    pub folder: PathBuf,
    /// Create an adapter of templates, without code. Default: an adapter in Rust.
    #[arg(long)]
    pub template: bool,
    /// Folder `adapter-sdk` of a checkout, for an adapter in Rust. Default: that of the checkout this executable
    /// was built in.
    #[arg(long, value_name = "FOLDER", conflicts_with = "template")]
    pub sdk: Option<PathBuf>,
}

/// Creates the folder and prints the next steps.
pub fn execute(arguments: &NewArguments) -> ExitCode {
    let mut stderr = io::stderr().lock();
    match make(arguments) {
        Ok(adapter) => {
            // A failure to print is ignored.
            let _ = io::stdout().write_all(how_to_go_on(arguments, &adapter).as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            let _ = writeln!(stderr, "odb-adapter: {text}");
            ExitCode::from(2)
        }
    }
}

fn make(arguments: &NewArguments) -> Result<NewAdapter, Box<dyn Error>> {
    let language = match (&arguments.sdk, arguments.template) {
        (_, true) => Language::Templates,
        (Some(folder), false) => Language::Rust(Sdk::at(folder)?),
        (None, false) => Language::Rust(Sdk::of_this_checkout()?),
    };
    let adapter = NewAdapter::at(&arguments.folder, language)?;
    adapter.make()?;
    Ok(adapter)
}

fn how_to_go_on(arguments: &NewArguments, adapter: &NewAdapter) -> String {
    let (folder, name) = (arguments.folder.display(), adapter.name());
    let steps = if arguments.template {
        "odb-adapter check adapter\n  odb-sandbox up --broker broker.yml --adapter adapter --state sandbox"
            .to_owned()
    } else {
        format!(
            "cargo test\n  odb-sandbox up --broker broker.yml --adapter target/debug/{name} --state sandbox"
        )
    };
    format!("Made {folder}. Go on with\n\n  cd {folder}\n  {steps}\n\nSee README.md there.\n")
}
