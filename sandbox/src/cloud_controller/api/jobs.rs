//! Jobs. Every logged-in user may read them.

use actix_web::web::{Data, Path, ServiceConfig, get, resource};
use serde_json::{Value, json};

use super::{Answer, caller::Caller, ok, present::stamp};
use crate::cloud_controller::{
    CloudController,
    model::{BindingKind, Job, JobGuid, JobOperation, JobResource, Tables},
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/jobs/{guid}").route(get().to(one)));
}

async fn one(controller: Data<CloudController>, _caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let job = tables
            .jobs
            .get(&JobGuid::given(&guid))
            .ok_or_else(|| Rejection::no_such("Job"))?;
        Ok(ok(&controller.job(tables, job)))
    })
}

impl CloudController {
    fn job(&self, tables: &Tables, job: &Job) -> Value {
        let warnings: Vec<_> = job
            .warnings
            .iter()
            .map(|warning| json!({"detail": warning}))
            .collect();
        let mut links = json!({"self": self.link(format_args!("/v3/jobs/{}", job.guid))});
        if let Some((name, path)) = resource_link(tables, job) {
            links[name] = self.link(path);
        }
        json!({
            "guid": job.guid,
            "created_at": stamp(job.created_at),
            "updated_at": stamp(job.updated_at),
            "operation": job.operation,
            "state": job.state,
            "errors": job.errors,
            "warnings": warnings,
            "links": links,
        })
    }
}

/// The second link, which is there as long as the resource is.
fn resource_link(tables: &Tables, job: &Job) -> Option<(&'static str, String)> {
    match &job.resource {
        JobResource::Broker(guid) => tables.brokers.contains_key(guid).then(|| {
            let name = if job.operation == JobOperation::DeleteBroker {
                "service_broker"
            } else {
                "service_brokers"
            };
            (name, format!("/v3/service_brokers/{guid}"))
        }),
        JobResource::Instance(guid) => tables.instances.contains_key(guid).then(|| {
            let deletes = job.operation == JobOperation::DeleteInstance;
            (
                if deletes {
                    "service_instance"
                } else {
                    "service_instances"
                },
                format!("/v3/service_instances/{guid}"),
            )
        }),
        JobResource::Binding(guid) => tables.bindings.get(guid).map(|binding| {
            if let BindingKind::Route(_) = binding.kind {
                let path = format!("/v3/service_route_bindings/{guid}");
                return ("service_route_binding", path);
            }
            (
                "service_credential_binding",
                format!("/v3/service_credential_bindings/{guid}"),
            )
        }),
        JobResource::Gone => None,
    }
}
