//! The Cloud Controller, as errands reach it, and the certificates that they trust.

use std::time::Duration;

use anyhow::Context;
use odb_clients::{
    cloud_controller::CloudController,
    http::{Departure, Limits, Observer, Service, TokenEvent, Trust, observe_calls},
    uaa::TokenSource,
};
use odb_config::{CloudFoundry, Verification};

use crate::Console;

/// How long an answer may take: in version 2 of its API the Cloud Controller waits for the broker before it answers, a
/// minute by default.
const ANSWER: Duration = Duration::from_secs(75);

/// The Cloud Controller of a configuration. No request is sent yet. `console` prints every request and every token
/// request in the text of the Go errands.
pub(crate) fn connect(config: &CloudFoundry, console: &Console) -> anyhow::Result<CloudController> {
    observe_calls(Box::leak(Box::new(RequestLog(console.clone()))));
    let trust = trust_of(
        config.root_ca_cert.as_deref(),
        config.verification,
        "cf.root_ca_cert",
        "the Cloud Controller or its UAA",
        console,
    )?;
    let grant = config.credentials.clone();
    let tokens = TokenSource::connect(
        config.uaa_url.as_written(),
        &trust,
        grant,
        Limits::default(),
    )
    .context("cannot create the client for `cf.uaa.url`")?;
    let limits = Limits {
        attempt: ANSWER,
        ..Limits::default()
    };
    CloudController::connect(config.url.as_written(), &trust, tokens, limits)
        .context("cannot create the client for `cf.url`")
}

/// The operating system's authorities, and those that are configured beside them, under `key`.
pub(crate) fn trust_of(
    authorities: Option<&str>,
    verification: Verification,
    key: &'static str,
    server: &str,
    console: &Console,
) -> anyhow::Result<Trust> {
    match (authorities, verification) {
        (_, Verification::Off) => {
            console.log(format_args!(
                "certificates are not verified: anyone between this program and {server} can read its credentials; configure `{key}` instead"
            ));
            Trust::unverified()
        }
        (Some(pem), Verification::On) => Trust::system_and(pem),
        (None, Verification::On) => Trust::system(),
    }
    .with_context(|| format!("`{key}` cannot be used"))
}

/// Logs requests and tokens. A process runs one errand, so it has one log.
struct RequestLog(Console);

impl Observer for RequestLog {
    fn depart(&self, departure: &Departure<'_>) {
        if departure.service == Service::CloudController {
            let Departure { method, url, .. } = departure;
            self.0.log(format_args!("{method} {url}"));
        }
    }

    fn token(&self, event: TokenEvent) {
        match event {
            TokenEvent::Wanted => self
                .0
                .log("no valid UAA token found in cache, obtaining a new one"),
            TokenEvent::Obtained { life } => self.0.log(format_args!(
                "obtained UAA token, expires in {} seconds",
                life.as_secs()
            )),
        }
    }
}
