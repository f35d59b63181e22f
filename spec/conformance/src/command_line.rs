//! The command line of the conformance suite.

use std::{fs, path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Context, Result, bail};
use clap::{ArgAction, Parser};
use odb_conformance::{Choice, Format, Selection, Settings, Target};
use reqwest::{Certificate, Client, ClientBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;
use uuid::Uuid;

/// Holds the password where no file does.
pub(crate) const PASSWORD_VARIABLE: &str = "ODB_CONFORMANCE_PASSWORD";

/// Check a service broker against the Open Service Broker API 2.17.
///
/// Orders real service instances from the broker and deletes them at the end, also after Ctrl-C. A second Ctrl-C
/// ends the run at once and leaves them behind.
///
/// Exit status: 0 no mandatory rule is broken; 1 one is, an instance could not be deleted, the run was stopped, or
/// a report could not be written; 2 usage error, or an unusable file: nothing was ordered.
#[derive(Debug, Parser)]
#[command(name = "odb-conformance", version, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  odb-conformance --url https://broker.example:8080 --username admin --password-file password\n  odb-conformance --list"
)]
pub(crate) struct Arguments {
    /// List the rules with their level (M, S, O or - for advice), and exit.
    #[arg(long)]
    pub(crate) list: bool,
    /// URL of the broker; may have a path.
    #[arg(long, value_name = "URL", required_unless_present = "list")]
    url: Option<Url>,
    /// The user name of the broker.
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    username: Option<String>,
    /// File with the password; one newline at its end is ignored. Default: `ODB_CONFORMANCE_PASSWORD`.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Certificate authority of the broker, in PEM. Default: the authorities of this machine.
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Do not verify the certificate: anyone in between can read the password.
    #[arg(long, conflicts_with = "ca_cert")]
    insecure_skip_verify: bool,
    /// Value of X-Broker-API-Version.
    #[arg(long, value_name = "VERSION", default_value = "2.17")]
    api_version: String,
    /// Offering to order, by name. Default: the first of the catalog.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Plan to order, by name. Default: the first of the offering.
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Plan to change to, by name. Default: the next of the offering.
    #[arg(long, value_name = "NAME")]
    other_plan: Option<String>,
    /// File with the parameters of orders, a JSON object.
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// File with the parameters of updates, a JSON object. Needed if the offering has one plan only.
    #[arg(long, value_name = "FILE")]
    update_parameters: Option<PathBuf>,
    /// File with the parameters of bindings, a JSON object.
    #[arg(long, value_name = "FILE")]
    bind_parameters: Option<PathBuf>,
    /// Organization of the orders. Default: a random id.
    #[arg(long, value_name = "GUID")]
    organization: Option<String>,
    /// Space of the orders. Default: a random id.
    #[arg(long, value_name = "GUID")]
    space: Option<String>,
    /// Check these rules only: ids such as P-01, or a group such as P; repeatable.
    #[arg(long, value_name = "RULE", value_delimiter = ',', action = ArgAction::Append)]
    only: Vec<String>,
    /// Skip these rules.
    #[arg(long, value_name = "RULE", value_delimiter = ',', action = ArgAction::Append)]
    skip: Vec<String>,
    /// Report as text, json or junit, to stdout or a file; repeatable. Default: text to stdout.
    #[arg(long, value_name = "FORMAT[:FILE]", action = ArgAction::Append)]
    pub(crate) report: Vec<ReportTo>,
    /// Timeout of a request, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 65)]
    request_timeout: u64,
    /// Timeout of an operation, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    operation_timeout: u64,
    /// Pause between two polls without `Retry-After`, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    poll_interval: u64,
    /// Time limit of the complete run, in seconds. Instances are deleted after that, too
    #[arg(long, value_name = "SECONDS", default_value_t = 4 * 3600)]
    time_limit: u64,
}

/// A report, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct ReportTo {
    pub(crate) format: Format,
    /// Else to stdout.
    pub(crate) file: Option<PathBuf>,
}

impl Arguments {
    /// The address of the broker, and the credentials.
    pub(crate) fn target(&self, password_variable: Option<String>) -> Result<Target> {
        let url = self.url.clone().context("--url is missing")?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            bail!("`{url}` is not an HTTP address; it begins with https:// or http://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            bail!("the address has credentials in it; give --username and --password-file");
        }
        let password = self.password(password_variable)?;
        Ok(Target {
            url,
            username: self.username.clone().context("--username is missing")?,
            password,
            api_version: self.api_version.clone(),
            http: self.client(Client::builder())?,
            title_case_http: self
                .client(Client::builder().http1_only().http1_title_case_headers())?,
        })
    }

    /// The order, and the timeouts.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let guid =
            |given: &Option<String>| given.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        Ok(Settings {
            choice: Choice {
                service: self.service.clone(),
                plan: self.plan.clone(),
                other_plan: self.other_plan.clone(),
            },
            parameters: object(self.parameters.as_ref())?,
            update_parameters: object(self.update_parameters.as_ref())?,
            bind_parameters: object(self.bind_parameters.as_ref())?,
            organization: guid(&self.organization),
            space: guid(&self.space),
            operation_limit: Duration::from_secs(self.operation_timeout),
            poll_interval: Duration::from_secs(self.poll_interval),
        })
    }

    /// Which rules are looked at.
    pub(crate) fn selection(&self) -> Result<Selection> {
        let selection = Selection {
            only: self.only.clone(),
            skip: self.skip.clone(),
        };
        selection.check()?;
        Ok(selection)
    }

    /// The time for the complete run.
    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.time_limit)
    }

    fn password(&self, variable: Option<String>) -> Result<SecretString> {
        let password: SecretString = match (&self.password_file, variable) {
            (Some(file), _) => fs::read_to_string(file)
                .with_context(|| format!("the password cannot be read from `{}`", file.display()))?
                .into(),
            (None, Some(variable)) => variable.into(),
            (None, None) => bail!("give the password by --password-file or in {PASSWORD_VARIABLE}"),
        };
        let trimmed = password.expose_secret().trim_end_matches(['\r', '\n']);
        if trimmed.is_empty() {
            bail!("the password is empty");
        }
        Ok(trimmed.to_owned().into())
    }

    fn client(&self, builder: ClientBuilder) -> Result<Client> {
        let mut builder = builder.timeout(Duration::from_secs(self.request_timeout));
        if self.insecure_skip_verify {
            builder = builder.tls_danger_accept_invalid_certs(true);
        } else if let Some(file) = &self.ca_cert {
            let pem =
                fs::read(file).with_context(|| format!("`{}` cannot be read", file.display()))?;
            let certificates = Certificate::from_pem_bundle(&pem)
                .with_context(|| format!("`{}` is not a certificate in PEM", file.display()))?;
            if certificates.is_empty() {
                bail!("`{}` has no certificate in PEM", file.display());
            }
            builder = builder.tls_certs_only(certificates);
        }
        builder.build().context("HTTP is not available")
    }
}

impl FromStr for ReportTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, file) = match text.split_once(':') {
            Some((format, file)) if !file.is_empty() => (format, Some(file.into())),
            Some((format, _)) => return Err(format!("`{format}:` lacks the file")),
            None => (text, None),
        };
        let format = match format {
            "text" => Format::Text,
            "json" => Format::Json,
            "junit" => Format::Junit,
            other => return Err(format!("`{other}` is not one of text, json and junit")),
        };
        Ok(Self { format, file })
    }
}

fn object(file: Option<&PathBuf>) -> Result<Option<Value>> {
    let Some(file) = file else { return Ok(None) };
    let text =
        fs::read_to_string(file).with_context(|| format!("`{}` cannot be read", file.display()))?;
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("`{}` is no JSON", file.display()))?;
    if !value.is_object() {
        bail!("`{}` is not a JSON object", file.display());
    }
    Ok(Some(value))
}
