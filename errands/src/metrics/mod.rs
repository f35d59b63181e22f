//! `collect-service-metrics`: what the broker counts, for whoever forwards it (`spec/contracts/errands.md` §8).

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, ensure};
use clap::{ArgAction, Args};
use odb_clients::{FailureKind, ServiceError, http::TransportError};
use odb_config::{Address, Verification, errands, errands::BrokerOnly};
use odb_redaction::Chain;
use secrecy::SecretString;

use crate::{
    Dependencies, ExitStatus,
    broker_api::BrokerApi,
    command_line::{ConfigTexts, go_boolean, load},
};

/// Either will do, in both forms of the command line.
const NOT_GIVEN: &str =
    "give --config FILE, or -brokerUrl with -brokerUsername and -brokerPassword";

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some(NOT_GIVEN),
    unreadable: Some("error reading config file"),
    invalid: Some("invalid config file"),
};

/// How long it may take in all: whoever collects metrics comes again every minute or so.
const DEADLINE: Duration = Duration::from_secs(30);

/// Prints how many service instances there are, and what is left of the quotas
///
/// Standard output has the JSON array of metrics that the broker answers. Without such an answer nothing is printed there,
/// and standard error says why.
///
/// Exit status: 0 the metrics are printed; 10 the broker cannot tell now, try again later: it is not reachable, it has failed,
/// or the platform does not know the offering; 1 anything else, such as wrong credentials; 2 the command line means nothing.
#[derive(Debug, Args)]
pub struct CollectServiceMetrics {
    /// A file with a section `broker_api`, such as that of `orphan-deployments`. It keeps the password out of the list of
    /// processes.
    #[arg(long, value_name = "FILE", conflicts_with = "broker_url")]
    config: Option<PathBuf>,
    /// The broker's address.
    #[arg(long = "brokerUrl", value_name = "URL")]
    broker_url: Option<String>,
    /// `broker.username` of the broker's configuration.
    #[arg(long = "brokerUsername", value_name = "NAME")]
    broker_username: Option<String>,
    /// `broker.password` of the broker's configuration. On the command line everybody on the machine can read it.
    #[arg(
        long = "brokerPassword",
        value_name = "PASSWORD",
        env = "ODB_BROKER_PASSWORD",
        hide_env_values = true
    )]
    broker_password: Option<SecretString>,
    /// Trust roots beside the operating system's: PEM itself, not a file.
    #[arg(long = "brokerCACert", value_name = "PEM")]
    broker_ca_cert: Option<String>,
    /// Whether the broker's certificate is left unverified. Never in production.
    #[arg(
        long = "disableTLSCertificateVerification",
        value_name = "BOOLEAN",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = go_boolean
    )]
    unverified: Option<bool>,
}

impl CollectServiceMetrics {
    /// Runs the errand.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let config = self.broker(dependencies)?;
        let broker = BrokerApi::connect(
            &config,
            Some(BrokerApi::USUAL_TIMEOUT),
            &dependencies.console,
        )
        .context("error collecting metrics")?;
        let metrics = tokio::time::timeout(DEADLINE, broker.metrics());
        let Ok(metrics) = dependencies.unless_stopped(metrics).await? else {
            dependencies.console.say(format_args!(
                "error collecting metrics: the broker has not answered for {} s; try again later",
                DEADLINE.as_secs()
            ));
            return Ok(ExitStatus::Special);
        };
        match metrics {
            Ok(metrics) => {
                dependencies.print(metrics.as_str())?;
                Ok(ExitStatus::Success)
            }
            Err(error) if is_transient(&error) => {
                dependencies.console.say(format_args!(
                    "error collecting metrics: {}; try again later",
                    Chain(&error)
                ));
                Ok(ExitStatus::Special)
            }
            Err(error) => Err(anyhow::Error::new(error).context("error collecting metrics")),
        }
    }

    fn broker(self, dependencies: &Dependencies) -> anyhow::Result<errands::BrokerApi> {
        let Some(url) = self.broker_url.filter(|_| self.config.is_none()) else {
            let file = self.config.as_deref();
            ensure!(file.is_some(), NOT_GIVEN);
            let loaded = load(file, &FILE_TEXTS, BrokerOnly::load, dependencies)?;
            return Ok(loaded.broker_api);
        };
        Ok(errands::BrokerApi {
            url: Address::of(&url).context("error collecting metrics: -brokerUrl is of no use")?,
            username: self.broker_username.unwrap_or_default(),
            password: self.broker_password.unwrap_or_default(),
            ca_cert: self.broker_ca_cert.filter(|pem| !pem.is_empty()),
            verification: match self.unverified {
                Some(true) => Verification::Off,
                Some(false) | None => Verification::On,
            },
        })
    }
}

/// A certificate that is not trusted will not be so later.
fn is_transient(error: &ServiceError) -> bool {
    match &error.kind {
        FailureKind::NoAnswer { source } => !matches!(
            source,
            TransportError::Handshake { .. } | TransportError::TooLong { .. }
        ),
        FailureKind::Refused { status, .. } => status.is_server_error(),
        _ => false,
    }
}
