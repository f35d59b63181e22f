//! A new adapter: a folder that passes `odb-adapter check` and takes orders at once.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the command line, creating the folder |
//! | `language` | the languages, and the files of each from `skeletons/` |
//! | `name` | valid names of adapters |
//! | `sdk` | where an adapter in Rust finds the SDK |
//! | `skeleton` | files with placeholders |

mod language;
mod name;
mod sdk;
mod skeleton;

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use self::language::Language;
use self::name::AdapterName;
use self::sdk::Sdk;
use self::skeleton::{File, Placeholders};
use crate::command_line::failed;

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Folder to create, named like the adapter: lower-case letters, digits and hyphens.
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// What the adapter is written in
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    lang: Language,
    /// The earlier name of `--lang templates`.
    #[arg(long, hide = true, conflicts_with = "lang")]
    template: bool,
    /// Folder `adapter-sdk` of a checkout, for an adapter in Rust. Default: that in the environment variable
    /// `ODB_ADAPTER_SDK`, otherwise the tag of this version in the project's repository.
    #[arg(long, value_name = "FOLDER")]
    sdk: Option<PathBuf>,
}

const SDK_VARIABLE: &str = "ODB_ADAPTER_SDK";

impl NewArguments {
    fn language(&self) -> Language {
        if self.template {
            Language::Templates
        } else {
            self.lang
        }
    }
}

pub(crate) fn execute(arguments: &NewArguments) -> ExitCode {
    match make(arguments) {
        Ok(name) => {
            // A failure to print is ignored.
            let _ = io::stdout().write_all(how_to_go_on(arguments, &name).as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => failed("odb-adapter", &error),
    }
}

fn how_to_go_on(arguments: &NewArguments, name: &AdapterName) -> String {
    let folder = arguments.folder.display();
    let language = arguments.language();
    let (test, adapter) = (language.test(), language.adapter(name));
    format!(
        "Made {folder}. Next:\n\n  cd {folder}\n  {test}\n  \
         odb-sandbox up --broker broker.yml --adapter {adapter} --state sandbox\n\nSee README.md there.\n"
    )
}

/// Creates the folder with all files. On an error nothing remains.
fn make(arguments: &NewArguments) -> anyhow::Result<AdapterName> {
    let language = arguments.language();
    let sdk = match (&arguments.sdk, language) {
        (Some(folder), Language::Rust) => Sdk::at(folder)?,
        (Some(_), _) => bail!("--sdk is for adapters in Rust; remove it, or use `--lang rust`"),
        (None, Language::Rust) => {
            env::var_os(SDK_VARIABLE).map_or(Ok(Sdk::Tag), |folder| Sdk::at(Path::new(&folder)))?
        }
        (None, _) => Sdk::Tag,
    };
    let folder = &arguments.folder;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name
        .parse::<AdapterName>()
        .context("the folder cannot be that of an adapter")?;
    fs::create_dir(folder).map_err(|error| {
        let folder = folder.display();
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                anyhow!("`{folder}` already exists; choose another name, or remove it first")
            }
            _ => anyhow::Error::new(error).context(format!("could not make the folder `{folder}`")),
        }
    })?;
    fill(folder, &name, language, &sdk).inspect_err(|_| {
        // The original error is reported, not one of this clean-up.
        let _ = fs::remove_dir_all(folder);
    })?;
    Ok(name)
}

fn fill(folder: &Path, name: &AdapterName, language: Language, sdk: &Sdk) -> anyhow::Result<()> {
    let placeholders = Placeholders::new(name, language, sdk);
    let not_written = |path: &Path| format!("could not write `{}`", path.display());
    for file in language.files() {
        let path = folder.join(placeholders.fill(file.path));
        let written = write(&path, file, &placeholders.fill(file.text));
        written.with_context(|| not_written(&path))?;
    }
    // An adapter is built with the versions of crates that its SDK is tested with.
    if let Some(lock) = sdk.lock() {
        let path = folder.join("Cargo.lock");
        fs::copy(lock, &path).with_context(|| not_written(&path))?;
    }
    Ok(())
}

fn write(path: &Path, file: &File, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Before the user's own mask.
    let mode = if file.is_executable { 0o777 } else { 0o666 };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    options.open(path)?.write_all(text.as_bytes())
}
