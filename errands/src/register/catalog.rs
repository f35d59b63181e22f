//! Waits for the broker to serve its catalog, because the platform reads it once, without a retry; and checks that it
//! has the plans of the file.

use std::time::Duration;

use odb_clients::http::{
    Call, Deadline, HttpClient, Limits, Method, Repeat, Request, StatusCode, TransportError, Url,
    address, basic_authorization,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use odb_config::errands;
use serde::Deserialize;
use tokio::time::sleep;

use super::RegisterError;
use crate::{Console, trust};

const API_VERSION: HeaderName = HeaderName::from_static("x-broker-api-version");
/// How long one look may take.
const LOOK: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);

/// The result of reading the catalog.
enum Look {
    /// The broker answers. Its catalog may be unreadable.
    Served(Option<Catalog>),
    /// It is up, and does not take the credentials.
    Refused,
    /// It is up, and there is something about it that waiting does not fix.
    Unexpected(String),
    /// It may be up later.
    Missing(String),
}

/// The parts of a broker's catalog that the errand needs.
#[derive(Debug, Deserialize)]
struct Catalog {
    services: Vec<Service>,
}

#[derive(Debug, Deserialize)]
struct Service {
    id: String,
    plans: Vec<Plan>,
}

#[derive(Debug, Deserialize)]
struct Plan {
    name: String,
}

/// Waits for the broker, at most `timeout`, and compares the wanted access with its catalog. The platform may reach a
/// broker that this machine does not reach, so an absent broker is only a warning.
pub(super) async fn wait(
    config: &errands::RegisterBroker,
    console: &Console,
    timeout: Duration,
) -> Result<(), RegisterError> {
    let url = config.broker_url.as_written();
    let broker = match Broker::of(config, console) {
        Ok(broker) => broker,
        Err(error) => {
            console.say(format_args!("the catalog is not checked: {error:#}"));
            return Ok(());
        }
    };
    let end = Deadline::after(timeout);
    let mut is_waiting = false;
    loop {
        match broker.look(end).await {
            Look::Served(catalog) => {
                console.say(format_args!("the broker serves its catalog at `{url}`"));
                return match catalog.and_then(|catalog| catalog.error(config)) {
                    Some(error) => Err(error),
                    None => Ok(()),
                };
            }
            Look::Refused => {
                return Err(RegisterError::Credentials {
                    url: url.to_owned(),
                });
            }
            Look::Unexpected(what) => {
                console.say(format_args!(
                    "warning: at `{url}` {what}; continuing, because the platform may get another answer"
                ));
                return Ok(());
            }
            Look::Missing(why) if end.remaining() <= PAUSE => {
                console.say(format_args!(
                    "warning: no catalog at `{url}` within {} s ({why}); continuing, because the platform may reach it",
                    timeout.as_secs()
                ));
                return Ok(());
            }
            Look::Missing(why) => {
                if !is_waiting {
                    console.say(format_args!(
                        "waiting for the broker to serve its catalog at `{url}` ({why})"
                    ));
                    is_waiting = true;
                }
            }
        }
        sleep(PAUSE).await;
    }
}

impl Catalog {
    /// The error if the catalog lacks what the configuration names.
    fn error(&self, config: &errands::RegisterBroker) -> Option<RegisterError> {
        let url = config.broker_url.as_written();
        let wanted = config.offering.as_str();
        let Some(service) = self.services.iter().find(|service| service.id == wanted) else {
            return Some(RegisterError::NoOffering {
                url: url.to_owned(),
                offering: config.offering.clone(),
                there: quoted(self.services.iter().map(|service| service.id.as_str())),
            });
        };
        for plan in &config.plans {
            if !service.plans.iter().any(|there| there.name == plan.name) {
                return Some(RegisterError::NotInCatalog {
                    name: plan.name.clone(),
                    url: url.to_owned(),
                    there: quoted(service.plans.iter().map(|plan| plan.name.as_str())),
                });
            }
        }
        None
    }
}

fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The broker as the platform calls it.
struct Broker {
    http: HttpClient,
    url: Url,
    authorization: HeaderValue,
}

impl Broker {
    fn of(config: &errands::RegisterBroker, console: &Console) -> anyhow::Result<Self> {
        let access = &config.cloud_foundry;
        let trust = trust::of_a_server(
            access.root_ca_cert.as_deref(),
            access.verification,
            "cf.root_ca_cert",
            "the broker",
            console,
        )?;
        let limits = Limits {
            attempt: LOOK,
            attempts: 1,
            ..Limits::default()
        };
        let server = address::server(config.broker_url.as_written())?;
        Ok(Self {
            http: HttpClient::new(&trust, limits)?,
            url: address::on(&server, &["v2", "catalog"], &[]),
            authorization: basic_authorization(&config.broker_username, &config.broker_password)?,
        })
    }

    async fn look(&self, end: Deadline) -> Look {
        let request = Request::new(Method::GET, self.url.clone(), Repeat::WhileUnsent)
            .header(API_VERSION, HeaderValue::from_static("2.13"))
            .header(AUTHORIZATION, self.authorization.clone());
        // There is one look at least.
        let call = Call::until(end.max(Deadline::after(LOOK)));
        match self.http.send(&call, &request).await {
            Ok(answer) => match answer.status() {
                StatusCode::OK => Look::Served(answer.json().ok()),
                StatusCode::UNAUTHORIZED => Look::Refused,
                status => Look::Missing(format!("status {}", status.as_u16())),
            },
            Err(error @ TransportError::Handshake { .. }) => {
                Look::Unexpected(format!("{:#}", anyhow::Error::from(error)))
            }
            Err(error) => Look::Missing(format!("{:#}", anyhow::Error::from(error))),
        }
    }
}
