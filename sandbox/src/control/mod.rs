//! The control API: the sandbox's own, over plain HTTP, on its loopback net only (`docs/authors/sandbox.md`).
//!
//! | route | what it does |
//! | --- | --- |
//! | `GET /` | tells that everything is up |
//! | `GET /foundation` | the description of the foundation, without secrets |
//! | `GET /memory` | what the process takes |
//! | `POST /reset` | puts a fresh foundation in the place of this one |
//! | `POST /fleet` | seeds thousands of service instances |
//! | `/faults` | sets, lists and clears faults of servers |
//! | `GET /calls` | the latest calls of all servers |
//! | `/task-faults` | sets, lists and clears what happens to tasks of the Director |
//! | `/vms` | lists VMs with their processes, kills and revives them |
//! | `GET /deployments/NAME/processes` | what runs on the VMs of a deployment |
//! | `/behaviour/…` | how servers behave while they do not fail |
//! | `/tokens/SERVER` | lives, withdrawal and keys of a UAA's tokens |
//! | `GET /names/NAME` | the addresses that a name of BOSH DNS stands for |

mod behaviour;
mod calls;
mod deployments;
mod faults;
mod fleet;
mod memory;
mod rejection;
mod reset;
mod task_faults;
mod tokens;
mod vms;

use std::sync::Arc;

use actix_web::{
    HttpResponse, Responder,
    web::{self, Data, JsonConfig, QueryConfig, ServiceConfig},
};
pub use memory::Memory;
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    calls::Calls, cloud_controller::CloudController, cpi::Cpi, credhub::CredHub,
    director::Director, faults::Faults, fleet::FleetPattern, uaa::Uaa,
};
use rejection::Rejection;

/// What the control API tells, and what it works on.
#[derive(Clone)]
pub struct Control {
    foundation: Value,
    controls: Controls,
    /// Tells this run from others on the same net.
    run: Uuid,
    reset: Arc<Notify>,
}

/// The parts of a foundation that can be worked on from outside.
#[derive(Clone)]
pub struct Controls {
    /// How its servers are made to fail.
    pub faults: Faults,
    /// What they were asked.
    pub calls: Calls,
    /// The Director, whose tasks can be made to fail.
    pub director: Director,
    /// The CPI, whose VMs can be lost.
    pub cpi: Cpi,
    /// The Cloud Controller, in which fleets are seeded.
    pub cloud_controller: CloudController,
    /// What deployments of fleets are made of.
    pub fleet: FleetPattern,
    /// The Director's UAA, whose tokens can be withdrawn.
    pub bosh_uaa: Uaa,
    /// The Cloud Controller's UAA, whose tokens can be withdrawn.
    pub cf_uaa: Uaa,
    /// The Director's CredHub, unless it has none.
    pub credhub: Option<CredHub>,
    /// The CredHub of applications.
    pub runtime_credhub: CredHub,
}

impl Control {
    /// Controls a foundation that is up. The description must hold no secrets.
    pub fn new(foundation: Value, controls: Controls) -> Self {
        Self {
            foundation,
            controls,
            run: Uuid::new_v4(),
            reset: Arc::default(),
        }
    }

    /// Waits until somebody asks for a fresh foundation.
    pub async fn reset_wanted(&self) {
        self.reset.notified().await;
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(Data::new(self.clone()))
            .app_data(JsonConfig::default().error_handler(|error, _| Rejection::bad(&error).into()))
            .app_data(
                QueryConfig::default().error_handler(|error, _| Rejection::bad(&error).into()),
            )
            .service(web::resource("/").route(web::get().to(health)))
            .service(web::resource("/foundation").route(web::get().to(foundation)))
            .service(web::resource("/memory").route(web::get().to(memory::show)))
            .service(web::resource("/reset").route(web::post().to(reset::begin)))
            .service(web::resource("/fleet").route(web::post().to(fleet::seed)))
            .configure(calls::routes)
            .configure(faults::routes)
            .configure(task_faults::routes)
            .configure(vms::routes)
            .configure(tokens::routes)
            .configure(behaviour::routes)
            .configure(deployments::routes)
            .default_service(web::to(async || Rejection::NoRoute.answer()));
    }
}

/// The control API is served last: whoever reaches it finds everything else up.
async fn health(control: Data<Control>) -> impl Responder {
    HttpResponse::Ok().json(json!({
        "net": control.foundation["net"],
        "ready": true,
        "run": control.run,
    }))
}

async fn foundation(control: Data<Control>) -> impl Responder {
    HttpResponse::Ok().json(&control.foundation)
}
