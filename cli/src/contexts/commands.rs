//! `odb context`: the brokers that the command line knows.

use std::io::IsTerminal;

use anyhow::{Context, bail};
use clap::Subcommand;
use odb_config::Address;
use odb_errand::ExitStatus;
use secrecy::SecretString;
use serde_json::json;

use super::{
    Selection, Settings,
    file::{self, ContextFile, Stored},
    pem, read_password,
};
use crate::{
    names::unknown,
    output::{Output, Table},
};

/// Manage the brokers that the command line knows
///
/// A context is a broker with its credentials. Contexts are in `$ODB_CONFIG`, else in
/// `$XDG_CONFIG_HOME/odb/config.yml`, else in `~/.config/odb/config.yml`, which only its owner may read.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  odb context set production --url https://broker.example.com --username broker\n  odb context use production"
)]
pub(crate) enum ContextCommand {
    /// List the contexts
    #[command(after_help = "Examples:\n  odb context list")]
    List,
    /// Add a context, or change it
    ///
    /// Takes --url, --username, --ca-cert and --skip-ssl-validation. The password comes from --password-file, or from
    /// a prompt. The first context becomes the current one.
    #[command(
        after_help = "Examples:\n  odb context set production --url https://broker.example.com --username broker\n  odb context set production --ca-cert authority.pem --password-file broker.password"
    )]
    Set {
        /// Name of the context.
        name: String,
    },
    /// Make a context the current one
    #[command(after_help = "Examples:\n  odb context use production")]
    Use {
        /// Name of the context.
        name: String,
    },
    /// Delete a context
    #[command(after_help = "Examples:\n  odb context delete production")]
    Delete {
        /// Name of the context.
        name: String,
    },
}

impl ContextCommand {
    pub(crate) fn run(&self, selection: &Selection, output: &Output) -> anyhow::Result<ExitStatus> {
        let path = file::path(&selection.environment)?;
        let mut file = ContextFile::load(&path)?;
        match self {
            Self::List => {
                list(&file, output)?;
                return Ok(ExitStatus::Success);
            }
            Self::Set { name } => set(&mut file, name, selection)?,
            Self::Use { name } => {
                require(&file, name)?;
                file.current = Some(name.clone());
            }
            Self::Delete { name } => {
                require(&file, name)?;
                file.contexts.retain(|context| context.name != *name);
                file.current = file.current.filter(|current| current != name);
            }
        }
        file.save(&path)?;
        Ok(ExitStatus::Success)
    }
}

fn require(file: &ContextFile, name: &str) -> anyhow::Result<()> {
    match file.find(name) {
        Some(_) => Ok(()),
        None => Err(unknown("context", name, file.names(), "odb context list")),
    }
}

fn list(file: &ContextFile, output: &Output) -> anyhow::Result<()> {
    let mut table = Table::new(&["CURRENT", "NAME", "URL", "USERNAME"]);
    for context in &file.contexts {
        let is_current = file.current.as_ref() == Some(&context.name);
        table.add([
            if is_current { "*" } else { "" },
            &context.name,
            &context.url,
            &context.username,
        ]);
    }
    let contexts = file.contexts.iter().map(|context| {
        json!({
            "name": context.name,
            "url": context.url,
            "username": context.username,
            "current": file.current.as_ref() == Some(&context.name),
        })
    });
    output.print(&contexts.collect::<Vec<_>>(), &table)
}

fn set(file: &mut ContextFile, name: &str, selection: &Selection) -> anyhow::Result<()> {
    let before = file.find(name).map(Settings::of).unwrap_or_default();
    let password = selection.password_file.as_ref().map(read_password);
    let given = Settings {
        url: selection.url.clone(),
        username: selection.username.clone(),
        password: password.transpose()?,
        ca_cert: selection.ca_cert.clone(),
        skip_ssl_validation: selection.skip_ssl_validation,
    };
    let is_moved = given.url.is_some() && given.url != before.url;
    let settings = given.or(&before);
    let url = settings.url.context("Give the address with --url URL")?;
    Address::of(&url).with_context(|| format!("`{url}` is not an address"))?;
    let username = settings.username;
    let username = username.context("Give the user name with --username NAME")?;
    if let Some(certificates) = &settings.ca_cert {
        pem(certificates)?;
    }
    // The password of one address is not for another.
    let known = given.password.or(before.password.filter(|_| !is_moved));
    let stored = Stored {
        name: name.to_owned(),
        password: known.map_or_else(|| prompted(&url), Ok)?,
        url,
        username,
        ca_cert: settings.ca_cert.map(absolute).transpose()?,
        skip_ssl_validation: settings.skip_ssl_validation,
    };
    match file.contexts.iter_mut().find(|known| known.name == name) {
        Some(known) => *known = stored,
        None => file.contexts.push(stored),
    }
    file.current.get_or_insert_with(|| name.to_owned());
    Ok(())
}

/// A file is found from every folder.
fn absolute(certificates: String) -> anyhow::Result<String> {
    if certificates.contains("-----BEGIN") {
        return Ok(certificates);
    }
    let path = std::path::absolute(&certificates)?;
    let path = path.to_str().context("the path of --ca-cert is not text")?;
    Ok(path.to_owned())
}

fn prompted(url: &str) -> anyhow::Result<SecretString> {
    if !std::io::stdin().is_terminal() {
        bail!("Give the password with --password-file FILE (`-` reads standard input)");
    }
    let typed = rpassword::prompt_password(format!("Password for {url}: "))?;
    if typed.is_empty() {
        bail!("The password is empty");
    }
    Ok(typed.into())
}
