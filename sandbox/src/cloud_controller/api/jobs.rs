//! Jobs. Every logged-in user may read them.

use serde_json::{Value, json};

use super::{call::View, resource::Resource};
use crate::cloud_controller::model::{BindingKind, Job, JobOperation, JobResource, Tables};

impl Resource for Job {
    type Row<'a> = &'a Self;
    const KIND: &'static str = "Job";
    const PATH: &'static str = "/v3/jobs";

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.jobs.values().collect()
    }

    fn get<'a>(view: &View<'a>, guid: &str) -> Option<&'a Self> {
        view.tables.jobs.get(guid)
    }

    fn sees(_view: &View<'_>, _row: &&Self) -> bool {
        true
    }

    fn body(view: &View<'_>, row: &&Self) -> Value {
        let warnings = row.warnings.iter();
        let warnings: Vec<_> = warnings.map(|warning| json!({"detail": warning})).collect();
        let mut links = json!({});
        if let Some((name, path)) = resource_link(view.tables, row) {
            links[name] = view.link(path);
        }
        json!({
            "operation": row.operation,
            "state": row.state,
            "errors": row.errors,
            "warnings": warnings,
            "links": links,
        })
    }
}

/// The second link, which is there as long as the resource is. Its name depends on what the job does.
fn resource_link(tables: &Tables, job: &Job) -> Option<(&'static str, String)> {
    let (is_there, name, kind, guid) = match &job.resource {
        JobResource::Broker(guid) => {
            let name = match job.operation {
                JobOperation::DeleteBroker => "service_broker",
                _ => "service_brokers",
            };
            (
                tables.brokers.contains_key(guid),
                name,
                "service_brokers",
                guid.as_str(),
            )
        }
        JobResource::Instance(guid) => {
            let name = match job.operation {
                JobOperation::DeleteInstance => "service_instance",
                _ => "service_instances",
            };
            let is_there = tables.instances.contains_key(guid);
            (is_there, name, "service_instances", guid.as_str())
        }
        JobResource::Binding(guid) => {
            let (name, kind) = match tables.bindings.get(guid)?.kind {
                BindingKind::Route(_) => ("service_route_binding", "service_route_bindings"),
                BindingKind::App(_) | BindingKind::Key => {
                    ("service_credential_binding", "service_credential_bindings")
                }
            };
            (true, name, kind, guid.as_str())
        }
        JobResource::Gone => return None,
    };
    is_there.then(|| (name, format!("/v3/{kind}/{guid}")))
}
