//! `/behaviour/…`: how servers behave while they do not fail.

use std::time::Duration;

use actix_web::{
    Responder,
    web::{self, Data, Json, Path, ServiceConfig},
};
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Control, rejection::Rejection};
use crate::{
    cloud_controller::{BrokerBehaviour, BrokerCertificates, InstanceRow},
    cpi::AgentTimeouts,
    credhub::{Acls, CredHub, Writing},
    durations,
    faults::ServerName,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/behaviour/cloud-controller")
            .route(web::get().to(towards_brokers))
            .route(web::put().to(set_towards_brokers)),
    )
    .service(
        web::resource("/behaviour/agents")
            .route(web::get().to(of_agents))
            .route(web::put().to(set_of_agents)),
    )
    .service(web::resource("/behaviour/credhubs/{server}").route(web::patch().to(change_credhub)));
}

/// How the Cloud Controller deals with brokers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TowardsBrokers {
    #[serde(with = "durations")]
    timeout: Duration,
    certificates: BrokerCertificates,
    #[serde(with = "durations")]
    polling_interval: Duration,
    polling_factor: f64,
    #[serde(with = "durations")]
    maximum_polling_duration: Duration,
    #[serde(with = "durations")]
    mitigation_delay: Duration,
    instance_row: InstanceRow,
}

async fn towards_brokers(control: Data<Control>) -> impl Responder {
    Json(TowardsBrokers::from(
        control.controls.cloud_controller.behaviour(),
    ))
}

async fn set_towards_brokers(
    control: Data<Control>,
    behaviour: Json<TowardsBrokers>,
) -> impl Responder {
    let cloud_controller = &control.controls.cloud_controller;
    cloud_controller.set_behaviour(behaviour.into_inner().into());
    Json(TowardsBrokers::from(cloud_controller.behaviour()))
}

impl From<BrokerBehaviour> for TowardsBrokers {
    fn from(behaviour: BrokerBehaviour) -> Self {
        Self {
            timeout: behaviour.timeout,
            certificates: behaviour.certificates,
            polling_interval: behaviour.polling_interval,
            polling_factor: behaviour.polling_factor,
            maximum_polling_duration: behaviour.maximum_polling_duration,
            mitigation_delay: behaviour.mitigation_delay,
            instance_row: behaviour.instance_row,
        }
    }
}

impl From<TowardsBrokers> for BrokerBehaviour {
    fn from(behaviour: TowardsBrokers) -> Self {
        Self {
            timeout: behaviour.timeout,
            certificates: behaviour.certificates,
            polling_interval: behaviour.polling_interval,
            polling_factor: behaviour.polling_factor,
            maximum_polling_duration: behaviour.maximum_polling_duration,
            mitigation_delay: behaviour.mitigation_delay,
            instance_row: behaviour.instance_row,
        }
    }
}

/// How long the Director waits for agents that do not answer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agents {
    #[serde(with = "durations")]
    call: Duration,
    #[serde(with = "durations")]
    state: Duration,
}

async fn of_agents(control: Data<Control>) -> impl Responder {
    let AgentTimeouts { call, state } = control.controls.cpi.agent_timeouts();
    Json(Agents { call, state })
}

async fn set_of_agents(control: Data<Control>, agents: Json<Agents>) -> impl Responder {
    let Agents { call, state } = agents.into_inner();
    control
        .controls
        .cpi
        .set_agent_timeouts(AgentTimeouts { call, state });
    Json(Agents { call, state })
}

/// A change of a CredHub's behaviour. Absent members stay unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredHubChange {
    version: Option<Version>,
    permissions: Option<Permissions>,
    writing: Option<Switch>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Permissions {
    Enforced,
    Off,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Switch {
    Allowed,
    Refused,
}

async fn change_credhub(
    control: Data<Control>,
    server: Path<ServerName>,
    change: Json<CredHubChange>,
) -> Result<impl Responder, Rejection> {
    let credhub = credhub(&control, *server)?;
    let change = change.into_inner();
    if let Some(version) = change.version {
        credhub.set_version(version);
    }
    if let Some(permissions) = change.permissions {
        credhub.set_acls(match permissions {
            Permissions::Enforced => Acls::Enforced,
            Permissions::Off => Acls::Off,
        });
    }
    if let Some(writing) = change.writing {
        credhub.set_writing(match writing {
            Switch::Allowed => Writing::Allowed,
            Switch::Refused => Writing::Refused,
        });
    }
    Ok(Json(json!({})))
}

fn credhub(control: &Control, server: ServerName) -> Result<&CredHub, Rejection> {
    match server {
        ServerName::Credhub => {
            let credhub = control.controls.credhub.as_ref();
            credhub.ok_or_else(|| Rejection::not_found("CredHub", &"credhub"))
        }
        ServerName::RuntimeCredhub => Ok(&control.controls.runtime_credhub),
        _ => Err(Rejection::Bad(
            "only `credhub` and `runtime-credhub` are CredHubs".to_owned(),
        )),
    }
}
