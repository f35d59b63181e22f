//! Which brokers a command reaches, and with which credentials: flags first, then the environment, then the file.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the settings of a command |
//! | `file` | the file of contexts |
//! | `commands` | `odb context` |

mod commands;
mod file;

use std::{fs, io::Read, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use odb_config::{Address, Verification, errands};
use secrecy::{ExposeSecret, SecretString};

pub(crate) use commands::ContextCommand;
use file::{ContextFile, Stored};

use crate::{environment::Environment, names::unknown, typed::Typed};

/// Which broker, on every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Broker")]
pub(crate) struct Selection {
    /// Context of the configuration file; repeatable where a command reads several brokers.
    #[arg(long = "context", value_name = "NAME", global = true)]
    contexts: Vec<String>,
    /// All contexts of the configuration file.
    #[arg(long, global = true, conflicts_with = "contexts")]
    all_contexts: bool,
    /// Address of the broker, such as `https://broker.example.com`.
    #[arg(long, value_name = "URL", global = true)]
    url: Option<String>,
    /// User name: `broker.username` of its configuration.
    #[arg(long, value_name = "NAME", global = true)]
    username: Option<String>,
    /// File with the password; `-` reads standard input.
    #[arg(long, value_name = "FILE", global = true)]
    password_file: Option<PathBuf>,
    /// Additional trusted certificates: a file, or PEM text.
    #[arg(long, value_name = "FILE|PEM", global = true)]
    ca_cert: Option<String>,
    /// Do not verify the broker's certificate. Never in production.
    #[arg(long, global = true)]
    skip_ssl_validation: bool,
    #[arg(skip)]
    environment: Environment,
}

/// Settings from one source. Unset ones come from the next.
#[derive(Clone, Debug, Default)]
struct Settings {
    url: Option<String>,
    username: Option<String>,
    password: Option<SecretString>,
    ca_cert: Option<String>,
    skip_ssl_validation: bool,
}

/// A broker that a command reaches.
#[derive(Debug)]
pub(crate) struct Target {
    /// The context's name; the address where there is none.
    pub(crate) name: String,
    pub(crate) access: errands::BrokerApi,
}

impl Selection {
    /// The same with the variables of the environment, which flags override.
    pub(crate) fn within(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// The brokers of a command that reads one or several.
    pub(crate) fn targets(&self) -> anyhow::Result<Vec<Target>> {
        let flags = Settings {
            url: self.url.clone(),
            username: self.username.clone(),
            password: self.password_file.as_ref().map(read_password).transpose()?,
            ca_cert: self.ca_cert.clone(),
            skip_ssl_validation: self.skip_ssl_validation,
        };
        let environment = &self.environment;
        let file = ContextFile::load(&file::path(environment)?)?;
        let named = match (self.contexts.as_slice(), self.all_contexts) {
            ([], true) => file.names().map(str::to_owned).collect(),
            ([], false) => environment.get("ODB_CONTEXT").into_iter().collect(),
            (named, _) => named.to_vec(),
        };
        if self.all_contexts && named.is_empty() {
            bail!("There are no contexts. Add one with `odb context set NAME --url URL`");
        }
        resolve(&named, &flags, &self.of_environment(), &file)
    }

    /// The settings of the environment, which may be of another broker than contexts that flags select.
    fn of_environment(&self) -> Settings {
        if self.all_contexts || !self.contexts.is_empty() {
            return Settings::default();
        }
        Settings::of_environment(&self.environment)
    }

    /// Adds the flags that were given to a command.
    pub(crate) fn repeat(&self, command: &mut Typed) {
        command.values("--context", &self.contexts);
        command.flag("--all-contexts", self.all_contexts);
        command.values("--url", &self.url);
        command.values("--username", &self.username);
        let password = self.password_file.as_ref();
        command.values("--password-file", password.map(|file| file.display()));
        command.values("--ca-cert", &self.ca_cert);
        command.flag("--skip-ssl-validation", self.skip_ssl_validation);
    }

    /// The broker of a command that changes one, or shows something of one.
    pub(crate) fn target(&self) -> anyhow::Result<Target> {
        let mut targets = self.targets()?;
        match (targets.pop(), targets.is_empty()) {
            (Some(target), true) => Ok(target),
            _ => bail!("This command takes one broker: give one --context NAME"),
        }
    }
}

impl Settings {
    fn of_environment(environment: &Environment) -> Self {
        Self {
            url: environment.get("ODB_URL"),
            username: environment.get("ODB_USERNAME"),
            password: environment.get("ODB_PASSWORD").map(SecretString::from),
            ca_cert: environment.get("ODB_CA_CERT"),
            skip_ssl_validation: false,
        }
    }

    /// These, completed by `others`, whose certificate stays unverified only at the same address and with the same
    /// authorities.
    fn or(&self, others: &Self) -> Self {
        let is_moved = self.url.is_some() && self.url != others.url;
        let is_changed = is_moved || self.ca_cert.is_some();
        Self {
            url: self.url.clone().or_else(|| others.url.clone()),
            username: self.username.clone().or_else(|| others.username.clone()),
            password: self.password.clone().or_else(|| others.password.clone()),
            ca_cert: self.ca_cert.clone().or_else(|| others.ca_cert.clone()),
            skip_ssl_validation: self.skip_ssl_validation
                || (others.skip_ssl_validation && !is_changed),
        }
    }

    fn of(stored: &Stored) -> Self {
        Self {
            url: Some(stored.url.clone()),
            username: Some(stored.username.clone()),
            password: Some(stored.password.clone()),
            ca_cert: stored.ca_cert.clone(),
            skip_ssl_validation: stored.skip_ssl_validation,
        }
    }
}

/// The brokers that `named` selects; without names that of flags and environment, or the current context.
fn resolve(
    named: &[String],
    flags: &Settings,
    environment: &Settings,
    file: &ContextFile,
) -> anyhow::Result<Vec<Target>> {
    let given = flags.or(environment);
    if named.len() > 1 && (given.url.is_some() || given.password.is_some()) {
        bail!(
            "Several contexts and an address or password at once: leave out --url and --password-file"
        );
    }
    let stored = |name: &str| {
        file.find(name)
            .ok_or_else(|| unknown("context", name, file.names(), "odb context list"))
    };
    let contexts: Vec<&Stored> = if named.is_empty() {
        match &file.current {
            Some(current) if given.url.is_none() => vec![stored(current)?],
            _ => Vec::new(),
        }
    } else {
        let contexts = named.iter().map(|name| stored(name));
        contexts.collect::<Result<_, _>>()?
    };
    if contexts.is_empty() {
        let Some(url) = given.url.clone() else {
            bail!(
                "No broker selected. Add one with `odb context set NAME --url URL --username NAME`, or give --url"
            );
        };
        return Ok(vec![target(&url, given)?]);
    }
    let targets = contexts.into_iter().map(|context| {
        let is_another = given.url.as_ref().is_some_and(|url| *url != context.url);
        // The credentials of one broker are not for another address.
        let settings = if is_another {
            given.clone()
        } else {
            given.or(&Settings::of(context))
        };
        target(&context.name, settings)
    });
    targets.collect()
}

fn target(name: &str, settings: Settings) -> anyhow::Result<Target> {
    let url = settings.url.unwrap_or_default();
    let missing = |flag: &str| {
        format!(
            "No {flag} for the broker at `{url}`. Credentials of a context are used only for its own address"
        )
    };
    let username = settings.username;
    let username = username.with_context(|| missing("--username (or ODB_USERNAME)"))?;
    let password = settings.password;
    let password = password.with_context(|| missing("--password-file (or ODB_PASSWORD)"))?;
    let address = Address::of(&url).with_context(|| format!("`{url}` is not an address"))?;
    Ok(Target {
        name: name.to_owned(),
        access: errands::BrokerApi {
            url: address,
            username,
            password,
            ca_cert: settings.ca_cert.as_deref().map(pem).transpose()?,
            verification: if settings.skip_ssl_validation {
                Verification::Off
            } else {
                Verification::On
            },
        },
    })
}

/// The certificates themselves, or those of a file.
fn pem(text: &str) -> anyhow::Result<String> {
    if text.contains("-----BEGIN") {
        return Ok(text.to_owned());
    }
    fs::read_to_string(text).with_context(|| format!("cannot read the certificates of `{text}`"))
}

/// The first line of a file, or of standard input.
fn read_password(file: &PathBuf) -> anyhow::Result<SecretString> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_string(&mut text).map(drop)
    } else {
        fs::read_to_string(file).map(|found| text = found)
    };
    read.with_context(|| format!("cannot read the password of `{}`", file.display()))?;
    let whole = SecretString::from(text);
    let line = whole.expose_secret().lines().next().unwrap_or_default();
    if line.is_empty() {
        bail!("`{}` has no password in its first line", file.display());
    }
    Ok(SecretString::from(line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: Option<&str>, username: Option<&str>, password: Option<&str>) -> Settings {
        Settings {
            url: url.map(str::to_owned),
            username: username.map(str::to_owned),
            password: password.map(SecretString::from),
            ..Settings::default()
        }
    }

    fn file() -> ContextFile {
        let stored = |name: &str, url: &str| Stored {
            name: name.to_owned(),
            url: url.to_owned(),
            username: "of-file".to_owned(),
            password: "of-file".into(),
            ca_cert: None,
            skip_ssl_validation: false,
        };
        ContextFile {
            current: Some("test".to_owned()),
            contexts: vec![
                stored("test", "https://test.example.com"),
                stored("live", "https://live.example.com"),
            ],
        }
    }

    /// Address, user and password of the selected brokers.
    fn selected(
        named: &[&str],
        flags: &Settings,
        environment: &Settings,
    ) -> anyhow::Result<Vec<[String; 3]>> {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let targets = resolve(&named, flags, environment, &file())?;
        let targets = targets.into_iter().map(|target| {
            let access = target.access;
            let password = access.password.expose_secret().to_owned();
            [
                access.url.as_written().to_owned(),
                access.username,
                password,
            ]
        });
        Ok(targets.collect())
    }

    fn row(url: &str, username: &str, password: &str) -> [String; 3] {
        [url.to_owned(), username.to_owned(), password.to_owned()]
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let (none, live) = (Settings::default(), "https://live.example.com");
        let flags = settings(None, Some("of-flag"), None);
        let environment = settings(None, Some("of-variable"), Some("of-variable"));
        assert_eq!(
            selected(&["live"], &flags, &environment).unwrap(),
            [row(live, "of-flag", "of-variable")]
        );
        assert_eq!(
            selected(&["live"], &none, &none).unwrap(),
            [row(live, "of-file", "of-file")]
        );
        assert_eq!(
            selected(&[], &none, &none).unwrap(),
            [row("https://test.example.com", "of-file", "of-file")]
        );
        assert_eq!(selected(&["live", "test"], &none, &none).unwrap().len(), 2);
    }

    #[test]
    fn the_password_of_a_context_is_not_sent_to_another_address() {
        let other = settings(Some("https://other.example.com"), Some("me"), None);
        for named in [&[][..], &["live"]] {
            let error = selected(named, &Settings::default(), &other).unwrap_err();
            assert!(error.to_string().contains("--password-file"), "{error}");
        }
        let complete = settings(Some("https://other.example.com"), Some("me"), Some("mine"));
        assert_eq!(
            selected(&[], &Settings::default(), &complete).unwrap(),
            [row("https://other.example.com", "me", "mine")]
        );
        assert!(selected(&["live", "test"], &complete, &Settings::default()).is_err());
    }

    #[test]
    fn a_context_of_a_flag_wins_over_the_environment() {
        let names = ["ODB_URL", "ODB_USERNAME", "ODB_PASSWORD", "ODB_CA_CERT"];
        let variables = names.map(|name| (name.into(), "of-variable".into()));
        let environment = Environment::of(variables.into_iter());
        let of = |contexts: &[&str], all_contexts| {
            let selection = Selection {
                contexts: contexts.iter().map(|name| (*name).to_owned()).collect(),
                all_contexts,
                ..Selection::default()
            };
            let found = selection.within(environment.clone()).of_environment();
            let password = found.password.is_some();
            [
                found.url.is_some(),
                found.username.is_some(),
                password,
                found.ca_cert.is_some(),
            ]
        };
        assert_eq!(of(&[], false), [true; 4]);
        assert_eq!(of(&["live"], false), [false; 4]);
        assert_eq!(of(&[], true), [false; 4]);
    }

    #[test]
    fn verification_stays_off_only_for_the_same_address_and_authorities() {
        let (here, there) = ("https://here.example.com", "https://there.example.com");
        let before = Settings {
            skip_ssl_validation: true,
            ..settings(Some(here), None, None)
        };
        let with_authority = Settings {
            ca_cert: Some("ca.pem".to_owned()),
            ..Settings::default()
        };
        let with_both = Settings {
            skip_ssl_validation: true,
            ..with_authority.clone()
        };
        for (given, is_off) in [
            (Settings::default(), true),
            (settings(Some(here), Some("me"), None), true),
            (settings(Some(there), None, None), false),
            (with_authority, false),
            (with_both, true),
        ] {
            assert_eq!(given.or(&before).skip_ssl_validation, is_off, "{given:?}");
        }
    }

    #[test]
    fn an_unknown_context_is_answered_with_the_nearest_one() {
        let error = selected(&["liev"], &Settings::default(), &Settings::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Unknown context `liev`. Did you mean `live`?"
        );
    }
}
