//! The Cloud Controller, as errands reach it.

use std::time::Duration;

use odb_clients::{
    cloud_controller::CloudController,
    http::{ClientError, Departure, Limits, Observer, Service, TokenEvent, observe_calls},
    uaa::TokenSource,
};
use odb_config::CloudFoundry;

use crate::{
    Console,
    trust::{self, UnusableTrust},
};

/// How long an answer may take: in version 2 of its API the Cloud Controller waits for the broker before it answers, a
/// minute by default.
const ANSWER: Duration = Duration::from_secs(75);

/// The Cloud Controller's client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum CloudControllerSetUpError {
    /// An address or the HTTP client's settings are wrong.
    #[error("cannot create the client for `{key}`")]
    Client {
        /// The address that it is for.
        key: &'static str,
        /// The underlying error.
        #[source]
        source: ClientError,
    },
    /// The trust root cannot be used.
    #[error(transparent)]
    Trust(#[from] UnusableTrust),
}

/// The Cloud Controller of a configuration. No request is sent yet. `console` prints every request and every token
/// request in the text of the Go errands.
pub fn connect(
    config: &CloudFoundry,
    console: &Console,
) -> Result<CloudController, CloudControllerSetUpError> {
    observe_calls(Box::leak(Box::new(RequestLog(console.clone()))));
    let trust = trust::of_a_server(
        config.root_ca_cert.as_deref(),
        config.verification,
        "cf.root_ca_cert",
        "the Cloud Controller or its UAA",
        console,
    )?;
    let grant = config.credentials.clone();
    let unusable = |key| move |source| CloudControllerSetUpError::Client { key, source };
    let uaa = config.uaa_url.as_written();
    let tokens = TokenSource::connect(uaa, &trust, grant, Limits::default())
        .map_err(unusable("cf.uaa.url"))?;
    let url = config.url.as_written();
    let limits = Limits {
        attempt: ANSWER,
        ..Limits::default()
    };
    CloudController::connect(url, &trust, tokens, limits).map_err(unusable("cf.url"))
}

/// Logs requests and tokens. A process runs one errand, so it has one log.
struct RequestLog(Console);

impl Observer for RequestLog {
    fn depart(&self, departure: &Departure<'_>) {
        if departure.service == Service::CloudController {
            let Departure { method, url, .. } = departure;
            self.0.say(format_args!("{method} {url}"));
        }
    }

    fn token(&self, event: TokenEvent) {
        match event {
            TokenEvent::Wanted => self
                .0
                .say("no valid UAA token found in cache, obtaining a new one"),
            TokenEvent::Obtained { life } => self.0.say(format_args!(
                "obtained UAA token, expires in {} seconds",
                life.as_secs()
            )),
        }
    }
}
