//! One log line for each changing request: who sent it, what it requests, and its result.

use actix_web::http::{Method, StatusCode};
use odb_api_types::ids::RequestId;

use super::{
    edge::ORPHANS,
    originator::{Originator, bounded},
    unauthenticated::Summarized,
};

/// The target of the lines in the log, at every level; see `docs/contributing/security.md` for the fields.
const TARGET: &str = "audit";

/// Where runs of errands are written down.
const RUNS: &str = "/mgmt/v1/runs";

/// Longer than any id that is accepted.
const ID: usize = 160;

/// The audit line of a changing request. Dropped without an answer, it records that the client received none.
#[derive(Debug)]
pub(super) struct AuditEntry {
    operation: &'static str,
    instance: String,
    binding: String,
    client: String,
    originator: Originator,
    request: RequestId,
    summarized: Summarized,
    is_written: bool,
}

impl AuditEntry {
    /// The entry of a request; none if it changes nothing.
    pub(super) fn of(
        method: &Method,
        path: &str,
        query: &str,
        client: String,
        originator: Originator,
        request: RequestId,
    ) -> Option<Self> {
        let (operation, instance, binding) = operation(method, path, query)?;
        Some(Self {
            operation,
            instance: bounded(instance, ID),
            binding: bounded(binding, ID),
            client,
            originator,
            request,
            summarized: Summarized::default(),
            is_written: false,
        })
    }

    /// Leaves no line where the request is summed up with others.
    pub(super) fn unless(mut self, summarized: Summarized) -> Self {
        self.summarized = summarized;
        self
    }

    /// The request has its answer.
    pub(super) fn close(mut self, status: StatusCode) {
        // Without the password, the claimed user is not trustworthy.
        if status == StatusCode::UNAUTHORIZED {
            self.originator = Originator::default();
        }
        let result = match status.as_u16() {
            202 => "accepted",
            200..=299 => "done",
            400..=499 => "refused",
            _ => "failed",
        };
        self.write(result, Some(status.as_u16()));
    }

    fn write(&mut self, result: &'static str, status: Option<u16>) {
        self.is_written = true;
        if self.summarized.is_set() {
            return;
        }
        tracing::info!(
            target: TARGET,
            operation = self.operation,
            result,
            http.status = status,
            instance.id = self.instance,
            binding.id = self.binding,
            originator.platform = self.originator.platform,
            originator.user = self.originator.user,
            client.address = self.client,
            request.id = %self.request,
            "change requested"
        );
    }
}

impl Drop for AuditEntry {
    fn drop(&mut self) {
        if !self.is_written {
            self.write("unheard", None);
        }
    }
}

/// The subject of a change: the operation, the service instance, the binding.
fn operation<'p>(
    method: &Method,
    path: &'p str,
    query: &str,
) -> Option<(&'static str, &'p str, &'p str)> {
    if let Some(instance) = path.strip_prefix(ORPHANS)
        && method == Method::DELETE
    {
        return Some(("delete-orphan", instance, ""));
    }
    match (method.as_str(), path.strip_prefix(RUNS)) {
        ("POST", Some("")) => return Some(("begin-run", "", "")),
        ("PATCH", Some(_)) => return Some(("end-run", "", "")),
        _ => {}
    }
    let mut segments = path.strip_prefix('/')?.split('/');
    let api = segments.next()?;
    let mut collection = segments.next()?;
    let api = match (api, collection) {
        ("mgmt", "v1") => {
            collection = segments.next()?;
            "mgmt/v1"
        }
        (api, _) => api,
    };
    if collection != "service_instances" {
        return None;
    }
    let instance = segments.next()?;
    let rest: Vec<&str> = segments.collect();
    let (operation, binding) = match (api, method.as_str(), rest.as_slice()) {
        ("v2", "PUT", []) => ("provision", ""),
        ("v2", "PATCH", []) => ("update", ""),
        ("v2", "DELETE", []) => ("deprovision", ""),
        ("v2", "PUT", ["service_bindings", binding]) => ("bind", *binding),
        ("v2", "DELETE", ["service_bindings", binding]) => ("unbind", *binding),
        ("mgmt", "PATCH", []) => (management(query), ""),
        ("mgmt/v1", "DELETE", ["operation"]) => ("cancel", ""),
        _ => return None,
    };
    Some((operation, instance, binding))
}

fn management(query: &str) -> &'static str {
    let asks_for = |operation| {
        query
            .split('&')
            .any(|part| part.strip_prefix("operation_type=") == Some(operation))
    };
    if asks_for("upgrade") {
        "upgrade"
    } else if asks_for("recreate") {
        "recreate"
    } else {
        "operate"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_that_changes_something_has_a_name() {
        for (method, path, query, named) in [
            (
                "PUT",
                "/v2/service_instances/i",
                "",
                Some(("provision", "i", "")),
            ),
            (
                "PATCH",
                "/v2/service_instances/i",
                "",
                Some(("update", "i", "")),
            ),
            (
                "DELETE",
                "/v2/service_instances/i",
                "",
                Some(("deprovision", "i", "")),
            ),
            (
                "PUT",
                "/v2/service_instances/i/service_bindings/b",
                "",
                Some(("bind", "i", "b")),
            ),
            (
                "DELETE",
                "/v2/service_instances/i/service_bindings/b",
                "",
                Some(("unbind", "i", "b")),
            ),
            (
                "PATCH",
                "/mgmt/service_instances/i",
                "operation_type=upgrade",
                Some(("upgrade", "i", "")),
            ),
            (
                "PATCH",
                "/mgmt/service_instances/i",
                "a=b&operation_type=recreate",
                Some(("recreate", "i", "")),
            ),
            (
                "PATCH",
                "/mgmt/service_instances/i",
                "",
                Some(("operate", "i", "")),
            ),
            (
                "DELETE",
                "/mgmt/v1/service_instances/i/operation",
                "",
                Some(("cancel", "i", "")),
            ),
            ("GET", "/mgmt/v1/service_instances/i/operation", "", None),
            (
                "DELETE",
                "/mgmt/v1/orphan_deployments/service-instance_i",
                "force=true",
                Some(("delete-orphan", "i", "")),
            ),
            ("GET", "/mgmt/v1/orphan_deployments", "", None),
            ("POST", "/mgmt/v1/runs", "", Some(("begin-run", "", ""))),
            ("PATCH", "/mgmt/v1/runs/r", "", Some(("end-run", "", ""))),
            ("GET", "/mgmt/v1/runs/latest", "kind=upgrade", None),
            ("GET", "/v2/service_instances/i", "", None),
            ("GET", "/v2/service_instances/i/last_operation", "", None),
            ("PUT", "/v2/catalog", "", None),
            ("PUT", "//v2/service_instances/i", "", None),
            ("DELETE", "/", "", None),
        ] {
            let method = method.parse().unwrap();
            assert_eq!(operation(&method, path, query), named, "{method} {path}");
        }
    }
}
