//! The control API: the sandbox's own, over plain HTTP, on its loopback net only (`docs/authors/sandbox.md`).
//!
//! | route | purpose |
//! | --- | --- |
//! | `GET /` | reports that everything is up |
//! | `GET /foundation` | the description of the foundation, without secrets |
//! | `GET /memory` | the memory of the process |
//! | `POST /reset` | replaces this foundation by a fresh one |
//! | `POST /fleet` | seeds thousands of service instances |
//! | `/faults` | sets, lists and clears faults of servers |
//! | `GET /calls` | the latest calls of all servers |
//! | `/task-faults` | sets, lists and clears faults of the Director's tasks |
//! | `/vms` | lists VMs with their processes, kills and revives them |
//! | `GET /deployments/NAME/processes` | the processes on the VMs of a deployment |
//! | `/behaviour/…` | the behaviour of servers without a fault |
//! | `/tokens/SERVER` | lifetimes, revocation and keys of a UAA's tokens |
//! | `GET /names/NAME` | the addresses of a name of BOSH DNS |

mod behaviour;
mod deployments;
mod faults;
mod foundation;
mod rejection;
mod task_faults;
mod tokens;
mod vms;

use std::sync::Arc;

use actix_web::{
    HttpResponse, Responder,
    web::{self, Data, JsonConfig, QueryConfig, ServiceConfig},
};
pub use foundation::Memory;
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    calls::Calls, cloud_controller::CloudController, cpi::Cpi, director::Director, faults::Faults,
    fleet::FleetPattern, uaa::Uaa,
};
use rejection::Rejection;

#[derive(Clone)]
pub struct Control {
    foundation: Value,
    controls: Controls,
    /// Distinguishes this run from others on the same net.
    run: Uuid,
    reset: Arc<Notify>,
}

/// The parts of a foundation that can be worked on from outside.
#[derive(Clone)]
pub struct Controls {
    /// How its servers are made to fail.
    pub faults: Faults,
    pub calls: Calls,
    /// The Director, whose tasks can be made to fail.
    pub director: Director,
    /// The CPI, whose VMs can be lost.
    pub cpi: Cpi,
    /// The Cloud Controller, in which fleets are seeded.
    pub cloud_controller: CloudController,
    pub fleet: FleetPattern,
    /// The Director's UAA, whose tokens can be withdrawn.
    pub bosh_uaa: Uaa,
    /// The Cloud Controller's UAA, whose tokens can be withdrawn.
    pub cf_uaa: Uaa,
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

    /// Waits for a request for a fresh foundation.
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
            .service(web::resource("/memory").route(web::get().to(foundation::show)))
            .service(web::resource("/reset").route(web::post().to(foundation::begin)))
            .service(web::resource("/fleet").route(web::post().to(foundation::seed)))
            .configure(foundation::routes)
            .configure(faults::routes)
            .configure(task_faults::routes)
            .configure(vms::routes)
            .configure(tokens::routes)
            .configure(behaviour::routes)
            .configure(deployments::routes)
            .default_service(web::to(async || Rejection::NoRoute.answer()));
    }
}

/// The control API starts last: when it answers, everything else is up.
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
