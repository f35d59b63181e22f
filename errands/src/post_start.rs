//! `broker-post-start`: waits until a broker on this machine serves its catalog (`spec/contracts/errands.md` §9).

use std::{net::IpAddr, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use odb_clients::http::{Call, Deadline, StatusCode, Trust, Url};
use odb_config::{Broker, Config, LoadError};
use odb_redaction::Chain;
use secrecy::SecretString;
use tokio::time::sleep;

use crate::{Dependencies, ExitStatus, broker_api::catalog::CatalogRequest};

const PAUSE: Duration = Duration::from_secs(1);

/// Wait until the broker on this machine serves its catalog
///
/// Reads the broker's own configuration, `broker.yml`, and checks it as the broker does. Over HTTPS the broker must
/// present the certificate of `broker.tls.cert_file`.
///
/// Exit status: 0 the catalog is served; 1 it is not, or the configuration has errors; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand broker-post-start --config broker.yml --timeout 60"
)]
pub(crate) struct BrokerPostStart {
    /// Path of the broker's configuration, `broker.yml`.
    #[arg(long, alias = "configFilePath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Time to wait, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// User name, instead of the configuration's.
    #[arg(long = "brokerUsername", value_name = "NAME")]
    broker_username: Option<String>,
    /// Password, instead of the configuration's. Every user of the machine can read it on the command line.
    #[arg(long = "brokerPassword", value_name = "PASSWORD")]
    broker_password: Option<SecretString>,
    /// Port, instead of the configuration's.
    #[arg(long = "brokerPort", value_name = "PORT")]
    broker_port: Option<String>,
}

impl BrokerPostStart {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        console.log(format_args!(
            "Waiting up to {} seconds for the broker to serve its catalog",
            self.timeout
        ));
        let Some(file) = self
            .config
            .as_deref()
            .filter(|file| !file.as_os_str().is_empty())
        else {
            bail!("must supply -configFilePath");
        };
        let broker = match Config::load(file) {
            Ok(loaded) => loaded.config.broker,
            Err(LoadError::Invalid(invalid)) => bail!("error parsing config: {invalid}"),
            Err(error) => return Err(anyhow::Error::new(error).context("error parsing config")),
        };
        let catalog = self.catalog(&broker)?;
        let deadline = Deadline::after(Duration::from_secs(self.timeout));
        dependencies
            .unless_stopped(catalog.wait(deadline, dependencies))
            .await??;
        console.log("Broker post-start check successful");
        Ok(ExitStatus::Success)
    }

    fn catalog(&self, broker: &Broker) -> anyhow::Result<Catalog> {
        let port = match &self.broker_port {
            Some(port) => port.clone(),
            None => broker.listen.port().to_string(),
        };
        let scheme = if broker.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let host = match broker.listen.ip() {
            address if address.is_unspecified() => "localhost".to_owned(),
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let url = format!("{scheme}://{host}:{port}/v2/catalog");
        let url = Url::parse(&url).context("error creating request")?;
        let trust = match &broker.tls {
            Some(tls) => {
                let pem = std::fs::read_to_string(&tls.certificate).with_context(|| {
                    format!(
                        "error reading the broker's certificate `{}`",
                        tls.certificate.display()
                    )
                })?;
                Trust::of_this_certificate(&pem)
            }
            // Without TLS there is nothing to verify.
            None => Trust::unverified(),
        };
        let credentials = &broker.credentials;
        let username = self.broker_username.as_deref();
        let password = self.broker_password.as_ref();
        Ok(Catalog {
            request: CatalogRequest::new(
                url.clone(),
                &trust?,
                username.unwrap_or(credentials.username()),
                password.unwrap_or(credentials.password()),
                None,
            )?,
            url,
        })
    }
}

struct Catalog {
    request: CatalogRequest,
    url: Url,
}

impl Catalog {
    async fn wait(&self, deadline: Deadline, dependencies: &Dependencies) -> anyhow::Result<()> {
        let mut last = "no request was sent".to_owned();
        while !deadline.has_passed() {
            last = match self.request.send(&Call::until(deadline)).await {
                Ok(answer) if answer.status() == StatusCode::OK => return Ok(()),
                Ok(answer) => format!(
                    "expected status 200, was {}, from {}",
                    answer.status().as_u16(),
                    self.url
                ),
                Err(error) => format!("error performing request: {}", Chain(&error)),
            };
            dependencies.console.log(&last);
            sleep(PAUSE.min(deadline.remaining())).await;
        }
        bail!("Broker post-start check failed: {last}")
    }
}
