//! `/calls`: the latest calls of all servers.
//!
//! `/fleet`: thousands of instances at once.
//!
//! `/memory`: what the process takes.
//!
//! `/reset`: a fresh foundation.

use std::io;

use actix_web::{
    HttpResponse, Responder,
    web::{self, Data, Json, Query, ServiceConfig},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Control, rejection::Rejection};
use crate::{
    calls::CallNumber,
    faults::ServerName,
    fleet::{self, FleetError, FleetOrder, FleetReport},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/calls").route(web::get().to(list)));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    #[serde(default)]
    after: CallNumber,
    server: Option<ServerName>,
}

async fn list(control: Data<Control>, choice: Query<Choice>) -> impl Responder {
    Json(control.controls.calls.list(choice.after, choice.server))
}

pub(super) async fn seed(
    control: Data<Control>,
    order: Json<FleetOrder>,
) -> Result<Json<FleetReport>, Rejection> {
    let controls = &control.controls;
    let seeded = fleet::seed(
        &order,
        &controls.fleet,
        &controls.cloud_controller,
        &controls.director,
    );
    Ok(Json(seeded.await?))
}

impl From<FleetError> for Rejection {
    fn from(error: FleetError) -> Self {
        let text = with_cause(&error);
        match error {
            FleetError::Bounds => Self::Bad(text),
            FleetError::NoPlans(_)
            | FleetError::NoRelease
            | FleetError::CloudController(_)
            | FleetError::Director { .. } => Self::Conflict(text),
        }
    }
}

fn with_cause(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The memory of a process in kibibytes, as the kernel counts it (proc(5), "status").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub resident_kib: u64,
    /// The most that it ever had.
    pub peak_kib: u64,
}

impl Memory {
    pub async fn of_this_process() -> io::Result<Self> {
        let status = tokio::fs::read_to_string("/proc/self/status").await?;
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        match (value("VmRSS:"), value("VmHWM:")) {
            (Some(resident_kib), Some(peak_kib)) => Ok(Self {
                resident_kib,
                peak_kib,
            }),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

pub(super) async fn show() -> HttpResponse {
    match Memory::of_this_process().await {
        Ok(memory) => HttpResponse::Ok().json(memory),
        Err(error) => {
            tracing::warn!(%error, "the kernel does not report the memory of this process");
            HttpResponse::ServiceUnavailable().finish()
        }
    }
}

/// Answers before the reset. Everything is up again when `GET /` reports another run.
pub(super) async fn begin(control: Data<Control>) -> impl Responder {
    control.reset.notify_one();
    HttpResponse::Accepted().json(json!({"run": control.run}))
}
