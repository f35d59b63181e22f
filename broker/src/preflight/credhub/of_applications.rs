//! The CredHub of applications: that it answers and knows us.

use odb_api_types::code::Code;
use std::time::Duration;

use odb_clients::{
    FailureKind, ServiceError,
    credhub::{ConnectCredHubError, CredHub, CredHubClient},
    http::{Call, Limits, TransportError, Trust},
};
use tokio::time::sleep;

use crate::{
    config::{Config, RuntimeCredHub},
    finding::Finding,
    operations::SecureBindings,
    preflight::{certificates::trust, credhub::of_director::code_of, start::Checked},
};

/// A name that BOSH DNS is to give may come a little later than the broker, which the Go broker waits for as long.
const FIRST_PAUSE: Duration = Duration::from_millis(16);
const PAUSES: u32 = 10;

/// Connects to the runtime CredHub, if there is one.
pub(crate) async fn check(config: &Config) -> Checked<Option<SecureBindings>> {
    let Some(section) = &config.runtime_credhub else {
        return Ok(None);
    };
    let trust = trust_of(section)?;
    let call = Call::within(config.broker.timings.start_up);
    let url = &section.url;
    let credhub = connect(section, &trust, &call).await.map_err(|error| {
        let finding = Finding::fault(
            Code::RuntimeCredHubUnreachable,
            "credhub.api_url",
            format!("could not get to know the runtime CredHub at `{url}`"),
            "check `credhub.api_url`, `credhub.ca_cert` and that it can be reached from here",
        );
        vec![finding.because(&error)]
    })?;
    let version = credhub.version(&call).await.map_err(|error| {
        let (refused, unreachable) = (
            Code::RuntimeCredHubCredentials,
            Code::RuntimeCredHubUnreachable,
        );
        let finding = Finding::fault(
            code_of(&error, refused, unreachable),
            "credhub",
            format!("could not authenticate to the runtime CredHub at `{url}`"),
            "check `credhub.client_id`, `credhub.client_secret` and `credhub.internal_uaa_ca_cert`, and that the client has \
             the authorities `credhub.read` and `credhub.write`",
        );
        vec![finding.because(&error)]
    })?;
    tracing::info!(%version, "the runtime CredHub knows us");
    let service = config.offering.id.clone();
    Ok(Some(SecureBindings::new(credhub, service)))
}

async fn connect(
    section: &RuntimeCredHub,
    trust: &Trust,
    call: &Call,
) -> Result<CredHub, ConnectCredHubError> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..PAUSES {
        match attempt(section, trust, call).await {
            Err(error) if is_out_of_reach(&error) && pause < call.deadline.remaining() => {
                sleep(pause).await;
                pause *= 2;
            }
            connected => return connected,
        }
    }
    attempt(section, trust, call).await
}

async fn attempt(
    section: &RuntimeCredHub,
    trust: &Trust,
    call: &Call,
) -> Result<CredHub, ConnectCredHubError> {
    let client = CredHubClient {
        client_id: section.client_id.clone(),
        client_secret: section.client_secret.clone(),
    };
    CredHub::connect(
        call,
        section.url.as_written(),
        trust,
        client,
        Limits::default(),
    )
    .await
}

/// No connection came about: its name is not known yet, or it does not listen yet.
fn is_out_of_reach(error: &ConnectCredHubError) -> bool {
    matches!(
        error,
        ConnectCredHubError::Info(ServiceError {
            kind: FailureKind::NoAnswer {
                source: TransportError::NotConnected { .. },
                ..
            },
            ..
        })
    )
}

/// Whose certificates are believed at the runtime CredHub and its UAA.
pub(crate) fn trust_of(section: &RuntimeCredHub) -> Checked<Trust> {
    let authorities = [
        ("credhub.ca_cert", &section.ca_cert),
        ("credhub.internal_uaa_ca_cert", &section.uaa_ca_cert),
    ];
    let given = || {
        authorities
            .iter()
            .filter_map(|(key, pem)| Some((*key, pem.as_deref()?)))
    };
    let unusable = |(key, pem)| trust::of_a_credhub(key, Some(pem)).err();
    let faults: Vec<Finding> = given().filter_map(unusable).flatten().collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let all: Vec<&str> = given().map(|(_, pem)| pem).collect();
    let all = (!all.is_empty()).then(|| all.join("\n"));
    trust::of_a_credhub("credhub.ca_cert", all.as_deref())
}
