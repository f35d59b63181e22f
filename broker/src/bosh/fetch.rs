//! What is known of an instance, from its marker.

use odb_api_types::ids::{InstanceId, PlanId};
use odb_platform::{director::Deployment, http::Call};
use serde_json::{Map, Value};

use super::{Fault, Instances, OperationKind, deployment, unfinished};

/// What is known of an instance. One that a Go broker made, or that was made without markers, is only known to be there.
/// Its parameters are not kept: they may hold secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fetched {
    /// The plan it is on.
    pub plan: Option<PlanId>,
    /// Where users manage it.
    pub dashboard_url: Option<String>,
    /// What the adapter says of it.
    pub labels: Map<String, Value>,
}

impl Instances {
    /// Tells what is known of an instance at rest. One that is being made is not there yet; one that is being changed or
    /// deleted is busy.
    pub async fn fetch(&self, call: &Call, instance: &InstanceId) -> Result<Fetched, Fault> {
        let director = &self.neighbours.director;
        let name = deployment(instance);
        let (deployed, stored, unfinished) = tokio::join!(
            director.deployment(call, &name),
            self.neighbours.markers.read(call, instance),
            unfinished::of(director, call, &name)
        );
        match deployed.map_err(Fault::director("look the deployment up"))? {
            Deployment::Deployed(_) => {}
            Deployment::Absent | Deployment::NeverDeployed | Deployment::ForeignTeam => {
                return Err(Fault::NotFound);
            }
        }
        let marker = stored?.map(|stored| stored.marker);
        let unfinished = unfinished.map_err(Fault::director("look for tasks in progress"))?;

        // A driver knows sooner than its marker that the operation has ended.
        let in_progress = match (self.drivers.known(instance), &marker) {
            (Some(known), _) => known
                .snapshot
                .is_in_progress()
                .then_some(known.snapshot.kind),
            (None, Some(marker)) if marker.outcome.is_none() => Some(marker.operation),
            (None, _) => None,
        };
        match in_progress {
            Some(OperationKind::Create) => return Err(Fault::NotFound),
            Some(_) => return Err(Fault::Busy),
            None if !unfinished.is_empty() => return Err(Fault::Busy),
            None => {}
        }
        Ok(marker.map_or_else(Fetched::default, |marker| Fetched {
            plan: marker.settled_plan().cloned(),
            dashboard_url: marker.dashboard_url,
            labels: marker.labels,
        }))
    }
}
