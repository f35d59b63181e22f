//! `odb context`: the brokers that the command line knows.

use std::{io::IsTerminal, path::Path};

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

const NO_PASSWORD: &str = "Give the password with --password-file FILE (`-` reads standard input)";

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
        let path = &file::path(&selection.environment)?;
        match self {
            Self::List => list(&ContextFile::load(path)?, output)?,
            Self::Set { name } => {
                // The file may change while the operator types the password: it is read again for the change.
                let given = given(&ContextFile::load(path)?, name, selection)?;
                change(path, |file| set(file, name, &given))?;
            }
            Self::Use { name } => change(path, |file| {
                require(file, name)?;
                file.current = Some(name.clone());
                Ok(())
            })?,
            Self::Delete { name } => change(path, |file| {
                require(file, name)?;
                file.contexts.retain(|context| context.name != *name);
                file.current = file.current.take().filter(|current| current != name);
                Ok(())
            })?,
        }
        Ok(ExitStatus::Success)
    }
}

fn change(
    path: &Path,
    change: impl FnOnce(&mut ContextFile) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut file = ContextFile::load(path)?;
    change(&mut file)?;
    file.save(path)
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

/// The settings of the flags, with a password from a prompt where neither flags nor file have one.
fn given(file: &ContextFile, name: &str, selection: &Selection) -> anyhow::Result<Settings> {
    let password = selection.password_file.as_ref().map(read_password);
    let mut given = Settings {
        url: selection.url.clone(),
        username: selection.username.clone(),
        password: password.transpose()?,
        ca_cert: selection.ca_cert.clone(),
        skip_ssl_validation: selection.skip_ssl_validation,
    };
    let settings = completed(file, name, &given);
    let (url, _) = required(&settings)?;
    if settings.password.is_none() {
        given.password = Some(prompted(&url)?);
    }
    Ok(given)
}

/// What is given, completed by the context of this name.
fn completed(file: &ContextFile, name: &str, given: &Settings) -> Settings {
    let mut before = file.find(name).map(Settings::of).unwrap_or_default();
    // The password of one address is not for another.
    if given.url.is_some() && given.url != before.url {
        before.password = None;
    }
    given.or(&before)
}

/// The address and the user name of valid settings.
fn required(settings: &Settings) -> anyhow::Result<(String, String)> {
    let url = settings.url.clone();
    let url = url.context("Give the address with --url URL")?;
    Address::of(&url).with_context(|| format!("`{url}` is not an address"))?;
    let username = settings.username.clone();
    let username = username.context("Give the user name with --username NAME")?;
    if let Some(certificates) = &settings.ca_cert {
        pem(certificates)?;
    }
    Ok((url, username))
}

fn set(file: &mut ContextFile, name: &str, given: &Settings) -> anyhow::Result<()> {
    let settings = completed(file, name, given);
    let (url, username) = required(&settings)?;
    let stored = Stored {
        name: name.to_owned(),
        url,
        username,
        password: settings.password.context(NO_PASSWORD)?,
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
        bail!(NO_PASSWORD);
    }
    let typed = rpassword::prompt_password(format!("Password for {url}: "))?;
    if typed.is_empty() {
        bail!("The password is empty");
    }
    Ok(typed.into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const URL: &str = "https://broker.example.com";

    fn file() -> ContextFile {
        ContextFile {
            current: Some("live".to_owned()),
            contexts: vec![Stored {
                name: "live".to_owned(),
                url: URL.to_owned(),
                username: "broker".to_owned(),
                password: "tiger".into(),
                ca_cert: None,
                skip_ssl_validation: true,
            }],
        }
    }

    fn url(url: &str) -> Settings {
        Settings {
            url: Some(url.to_owned()),
            ..Settings::default()
        }
    }

    #[test]
    fn what_is_not_given_stays() {
        let mut file = file();
        let given = Settings {
            username: Some("me".to_owned()),
            ..url(URL)
        };
        set(&mut file, "live", &given).unwrap();
        let live = file.find("live").unwrap();
        assert_eq!((live.url.as_str(), live.username.as_str()), (URL, "me"));
        assert_eq!(live.password.expose_secret(), "tiger");
        assert!(live.skip_ssl_validation);
    }

    #[test]
    fn another_address_takes_a_password_and_is_verified() {
        let mut file = file();
        let moved = url("https://other.example.com");
        let error = set(&mut file, "live", &moved).unwrap_err();
        assert_eq!(error.to_string(), NO_PASSWORD);
        let complete = Settings {
            password: Some("lion".into()),
            ..moved
        };
        set(&mut file, "live", &complete).unwrap();
        let live = file.find("live").unwrap();
        assert_eq!(live.password.expose_secret(), "lion");
        assert!(!live.skip_ssl_validation);
    }

    #[test]
    fn a_change_is_of_the_file_as_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yml");
        file().save(&path).unwrap();
        let selection = Selection {
            username: Some("me".to_owned()),
            ..Selection::default()
        };
        let given = given(&ContextFile::load(&path).unwrap(), "live", &selection).unwrap();
        // Meanwhile another command rotates the password and adds a context.
        let mut other = file();
        other.contexts[0].password = "lion".into();
        let test = Stored {
            name: "test".to_owned(),
            ..other.contexts[0].clone()
        };
        other.contexts.push(test);
        other.save(&path).unwrap();

        change(&path, |file| set(file, "live", &given)).unwrap();

        let file = ContextFile::load(&path).unwrap();
        assert_eq!(file.names().collect::<Vec<_>>(), ["live", "test"]);
        let live = file.find("live").unwrap();
        assert_eq!(live.password.expose_secret(), "lion");
        assert_eq!(live.username, "me");
    }
}
