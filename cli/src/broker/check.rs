//! `odb broker check`: the connection to a broker, step by step, each with a remedy.

use std::{fmt::Write as _, time::Duration};

use odb_clients::{
    FailureKind, ServiceError,
    http::{StatusCode, TransportError, Url},
};
use odb_errand::{BrokerApi, BrokerApiRejection, Console, ExitStatus, harmless};
use odb_redaction::Chain;
use serde::Serialize;

use crate::{
    contexts::Target,
    output::{Output, Tone},
};

/// The time for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A step, and what came of it. After an error the following steps are not reached.
#[derive(Debug, Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: &'static str,
    ok: bool,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

pub(super) async fn run(
    target: &Target,
    output: &Output,
    console: &Console,
) -> anyhow::Result<ExitStatus> {
    let steps = steps(target, console).await?;
    let mut text = String::new();
    for step in &steps {
        let mark = if step.ok {
            output.toned(Tone::Good, "✓")
        } else {
            output.toned(Tone::Bad, "✗")
        };
        let _ = writeln!(text, "{mark} {:<15} {}", step.name, harmless(&step.text));
        if let Some(remedy) = &step.remedy {
            let _ = writeln!(text, "  remedy: {remedy}");
        }
    }
    output.print_text(&steps, &text)?;
    Ok(if steps.iter().all(|step| step.ok) {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    })
}

async fn steps(target: &Target, console: &Console) -> anyhow::Result<Vec<Step>> {
    let address = target.access.url.as_written();
    let url = Url::parse(address)
        .or_else(|_| Url::parse(&format!("https://{address}")))
        .map_err(|error| anyhow::anyhow!("`{address}` is not an address: {error}"))?;
    let mut steps = Vec::new();
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let bare = host.trim_matches(['[', ']']);
    match tokio::net::lookup_host((bare, port)).await {
        Ok(mut found) => {
            let found = found.next().map(|address| address.ip().to_string());
            let found = found.unwrap_or_default();
            steps.push(Step::good("name", format!("{host} is {found}")));
        }
        Err(error) => {
            let remedy = "correct --url, or the DNS of this machine";
            steps.push(Step::bad("name", format!("{host}: {error}"), remedy));
            return Ok(steps);
        }
    }
    let broker = BrokerApi::connect_once(&target.access, TIMEOUT, console)?;
    let offering = match broker.offering().await {
        Ok(offering) => offering,
        Err(error) => {
            match error.downcast_ref::<ServiceError>() {
                Some(error) => steps.extend(explained(error)),
                None => steps.extend([
                    Step::good("connection", "established".to_owned()),
                    Step::bad(
                        "catalog",
                        Chain(error.as_ref()).to_string(),
                        "check whether --url is the address of a broker",
                    ),
                ]),
            }
            return Ok(steps);
        }
    };
    steps.push(Step::good("connection", "established".to_owned()));
    if url.scheme() == "https" {
        steps.push(Step::good("certificate", "trusted".to_owned()));
    }
    let user = &target.access.username;
    steps.push(Step::good("credentials", format!("accepted for {user}")));
    let plans = offering.plans.len();
    let catalog = format!("offering {} with {plans} plans", offering.name);
    steps.push(Step::good("catalog", catalog));
    steps.push(match broker.version().await {
        Ok(version) => Step::good("management API", format!("version {}", version.version)),
        Err(error) if error.is_unknown_route() => Step::bad(
            "management API",
            "the broker has no /mgmt/v1/broker".to_owned(),
            "upgrade the broker: it is older than this command line, or a Go broker",
        ),
        Err(error) => Step::bad(
            "management API",
            Chain(&error).to_string(),
            "read the broker's log",
        ),
    });
    Ok(steps)
}

/// How far a request has come that failed.
fn explained(error: &ServiceError) -> Vec<Step> {
    let text = Chain(error).to_string();
    let connected = || Step::good("connection", "established".to_owned());
    match &error.kind {
        FailureKind::NoResponse { source } => match source {
            TransportError::NotConnected { .. } => {
                let remedy = "check port, firewall, and whether the broker runs";
                vec![Step::bad("connection", text, remedy)]
            }
            TransportError::Handshake { .. } => {
                let remedy = "give the authority of the broker's certificate with --ca-cert, and its host name in --url";
                vec![connected(), Step::bad("certificate", text, remedy)]
            }
            _ => {
                let remedy = "try again; then read the broker's log";
                vec![connected(), Step::bad("answer", text, remedy)]
            }
        },
        FailureKind::Refused { status, .. } if *status == StatusCode::UNAUTHORIZED => {
            let remedy = "give `broker.username` and `broker.password` of the broker's configuration: odb context set NAME --username NAME";
            vec![connected(), Step::bad("credentials", text, remedy)]
        }
        _ => {
            let remedy = "check whether --url is the address of a broker";
            vec![connected(), Step::bad("catalog", text, remedy)]
        }
    }
}

impl Step {
    fn good(name: &'static str, text: String) -> Self {
        Self {
            name,
            ok: true,
            text,
            remedy: None,
        }
    }

    fn bad(name: &'static str, text: String, remedy: &str) -> Self {
        Self {
            name,
            ok: false,
            text,
            remedy: Some(remedy.to_owned()),
        }
    }
}
