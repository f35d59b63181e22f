//! `collect-service-metrics`: prints the broker's metrics for a forwarder (`spec/contracts/errands.md` §8).

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

/// The time for the complete run: collectors run about every minute.
const DEADLINE: Duration = Duration::from_secs(30);

/// Print the number of service instances and what is left of the quotas
///
/// Prints the broker's JSON array of metrics to standard output. Without an answer nothing is printed there, and
/// standard error has the reason.
///
/// Exit status: 0 the metrics are printed; 10 they are not available now (the broker is unreachable or failing, or
/// the platform does not know the offering); 1 any other error, such as wrong credentials; 2 usage error.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb-errand collect-service-metrics --config errands.yml")]
pub(crate) struct CollectServiceMetrics {
    /// Path of a configuration with a section `broker_api`, such as that of `orphan-deployments`. Keeps the
    /// password out of the process list.
    #[arg(long, value_name = "FILE", conflicts_with = "broker_url")]
    config: Option<PathBuf>,
    /// URL of the broker.
    #[arg(long = "brokerUrl", value_name = "URL")]
    broker_url: Option<String>,
    /// User name: `broker.username` of the broker's configuration.
    #[arg(long = "brokerUsername", value_name = "NAME")]
    broker_username: Option<String>,
    /// Password: `broker.password` of the broker's configuration. Every user of the machine can read it on the
    /// command line.
    #[arg(
        long = "brokerPassword",
        value_name = "PASSWORD",
        env = "ODB_BROKER_PASSWORD",
        hide_env_values = true
    )]
    broker_password: Option<SecretString>,
    /// Additional trusted certificates as PEM text, not a file.
    #[arg(long = "brokerCACert", value_name = "PEM")]
    broker_ca_cert: Option<String>,
    /// Do not verify the broker's certificate. Never in production.
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
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let config = self.broker(dependencies)?;
        let broker = BrokerApi::connect(
            &config,
            Some(BrokerApi::USUAL_TIMEOUT),
            &dependencies.console,
        )
        .context("error collecting metrics")?;
        let metrics = tokio::time::timeout(DEADLINE, broker.metrics());
        let Ok(metrics) = dependencies.unless_stopped(metrics).await? else {
            dependencies.console.log(format_args!(
                "error collecting metrics: the broker has not answered for {} s; try again later",
                DEADLINE.as_secs()
            ));
            return Ok(ExitStatus::Special);
        };
        match metrics {
            Ok(metrics) => {
                dependencies.print(&metrics)?;
                Ok(ExitStatus::Success)
            }
            Err(error) if is_transient(&error) => {
                dependencies.console.log(format_args!(
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
            url: Address::of(&url).context("error collecting metrics: -brokerUrl is not valid")?,
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
        FailureKind::NoResponse { source } => !matches!(
            source,
            TransportError::Handshake { .. } | TransportError::TooLong { .. }
        ),
        FailureKind::Refused { status, .. } => status.is_server_error(),
        _ => false,
    }
}
