//! The lease of a run: one process at a time carries out a run of each kind, and an operator can stop it from elsewhere.
//!
//! The broker keeps the lease in the record of the run (`POST /mgmt/v1/runs/{id}/lease`).

use std::{convert::Infallible, time::Duration};

use odb_api_types::{
    code::Code,
    management::{Holder, LeaseRun, Run, RunId},
};
use odb_clients::{ServiceError, http::Method};
use tokio::time::{sleep, timeout};

use super::run::FleetRun;
use crate::broker_api::{BrokerApi, BrokerApiRejection};

/// Between two renewals. A request to stop is seen then.
const PAUSE: Duration = Duration::from_secs(5);

/// How long one renewal may take.
const RENEWAL: Duration = Duration::from_secs(20);

/// The name of this process.
pub(super) fn holder() -> Holder {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let process = std::process::id();
    Holder::try_from(format!("process {process} on {host}"))
        .or_else(|_| Holder::try_from(format!("process {process}")))
        .expect("a word and a number are a name")
}

/// Takes the lease of a run that is continued. `None` if the broker is older than leases.
pub(super) async fn take(
    broker: &BrokerApi,
    id: RunId,
    take_over: bool,
) -> Result<Option<Run>, ServiceError> {
    match request(broker, id, take_over).await {
        Ok(run) => Ok(Some(run)),
        Err(error) if error.is_unknown_route() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Renews the lease of a run until the run is to stop, and stops it then as a signal does.
pub(super) async fn keep(fleet: &FleetRun<'_>, id: RunId) -> Infallible {
    let stop = |why: &str| {
        fleet.console.log(why);
        fleet.dependencies.stopping.cancel();
    };
    loop {
        sleep(PAUSE).await;
        let Ok(renewed) = timeout(RENEWAL, request(&fleet.broker, id, false)).await else {
            continue;
        };
        match renewed {
            Ok(run) if run.is_stop_requested => {
                stop("An operator stops this run: finishing the current step");
                break;
            }
            Err(error) if is_lost(&error) => {
                stop(&format!("This run stops: {}", error.reason()));
                break;
            }
            // The broker may be away for some minutes, and may be older than leases after that.
            Ok(_) | Err(_) => {}
        }
    }
    std::future::pending().await
}

/// Whether the run belongs to another process now, or another run has replaced it.
fn is_lost(error: &ServiceError) -> bool {
    error.has_code(Code::RunLeased) || error.has_code(Code::RunOver)
}

async fn request(broker: &BrokerApi, id: RunId, take_over: bool) -> Result<Run, ServiceError> {
    let wanted = LeaseRun {
        holder: holder(),
        take_over,
    };
    let path = ["mgmt", "v1", "runs", &*id.to_string(), "lease"];
    broker.send_json(Method::POST, &path, &wanted).await
}
