//! `/behaviour/agents`: how long the Director waits for agents.

use std::time::Duration;

use actix_web::{
    Responder,
    web::{self, Data, Json, ServiceConfig},
};
use serde::{Deserialize, Serialize};

use super::Control;
use crate::{cpi::AgentTimeouts, durations};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/behaviour/agents")
            .route(web::get().to(of_agents))
            .route(web::put().to(set_of_agents)),
    );
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
