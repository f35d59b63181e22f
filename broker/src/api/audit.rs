//! One log line for each changing request: who sent it, what it requests, and its result. A platform names the user behind
//! it, for the log only.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use actix_web::{
    http::{Method, StatusCode, header::HeaderMap},
    web::Data,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use odb_api_types::ids::RequestId;
use odb_config::UiAction;
use serde::Deserialize;

use super::{AppState, authentication::basic_username, edge::ORPHANS, unauthenticated::Summarized};

/// The target of the lines in the log, at every level; see `docs/contributing/security.md` for the fields.
const TARGET: &str = "audit";

const ID: usize = 160;

/// How many changes the page shows.
const RECENT: usize = 200;

/// The latest changes of this process, for the page.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges(Mutex<VecDeque<ChangeLine>>);

/// The contents of the audit line of one change.
#[derive(Clone, Debug)]
pub(crate) struct ChangeLine {
    pub(crate) at: Timestamp,
    pub(crate) operation: &'static str,
    pub(crate) result: &'static str,
    pub(crate) status: Option<u16>,
    pub(crate) instance: String,
    pub(crate) binding: String,
    pub(crate) platform: String,
    pub(crate) user: String,
    pub(crate) client: String,
    pub(crate) request: RequestId,
}

impl RecentChanges {
    fn add(&self, line: ChangeLine) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.truncate(RECENT - 1);
        lines.push_front(line);
    }

    /// The latest first.
    pub(crate) fn lines(&self) -> Vec<ChangeLine> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

/// The audit line of a changing request. Dropped without an answer, it records that the client received none.
#[derive(Debug)]
pub(super) struct AuditEntry {
    operation: &'static str,
    instance: String,
    binding: String,
    client: String,
    originator: Originator,
    request: RequestId,
    /// If it is set, there is no line: the request is summed up with others.
    summarized: Summarized,
    is_written: bool,
    app: Option<Data<AppState>>,
}

impl AuditEntry {
    pub(super) fn of(
        method: &Method,
        path: &str,
        query: &str,
        client: String,
        originator: Originator,
        request: RequestId,
        summarized: Summarized,
    ) -> Option<Self> {
        let (operation, instance, binding) = operation(method, path, query)?;
        Some(Self {
            operation,
            instance: bounded(instance, ID),
            binding: bounded(binding, ID),
            client,
            originator,
            request,
            summarized,
            is_written: false,
            app: None,
        })
    }

    /// The line is also one of the recent changes of this process.
    pub(super) fn kept_by(mut self, app: Option<Data<AppState>>) -> Self {
        self.app = app;
        self
    }

    pub(super) fn close(mut self, status: StatusCode, nothing_to_do: bool) {
        // Without the password, the claimed user is not trustworthy.
        if status == StatusCode::UNAUTHORIZED {
            self.originator = Originator::default();
        }
        let result = match status.as_u16() {
            202 | 303 if !nothing_to_do => "accepted",
            200..=399 => "done",
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
        let page = self.app.as_ref().and_then(|app| app.page.as_ref());
        // Requests of unauthenticated clients would displace the others.
        let is_authenticated = status != Some(StatusCode::UNAUTHORIZED.as_u16());
        if let Some(page) = page.filter(|_| is_authenticated) {
            page.recent_changes().add(ChangeLine {
                at: Timestamp::now(),
                operation: self.operation,
                result,
                status,
                instance: self.instance.clone(),
                binding: self.binding.clone(),
                platform: self.originator.platform.clone(),
                user: self.originator.user.clone(),
                client: self.client.clone(),
                request: self.request.clone(),
            });
        }
    }
}

impl Drop for AuditEntry {
    fn drop(&mut self) {
        if !self.is_written {
            self.write("unheard", None);
        }
    }
}

/// The operation, the service instance and the binding of a change.
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
    let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    Some(match (method.as_str(), segments.as_slice()) {
        ("PUT", &["v2", "service_instances", instance]) => ("provision", instance, ""),
        ("PATCH", &["v2", "service_instances", instance]) => ("update", instance, ""),
        ("DELETE", &["v2", "service_instances", instance]) => ("deprovision", instance, ""),
        (
            "PUT",
            [
                "v2",
                "service_instances",
                instance,
                "service_bindings",
                binding,
            ],
        ) => ("bind", instance, binding),
        (
            "DELETE",
            [
                "v2",
                "service_instances",
                instance,
                "service_bindings",
                binding,
            ],
        ) => ("unbind", instance, binding),
        ("PATCH", &["mgmt", "service_instances", instance]) => {
            let has = |parameter| query.split('&').any(|part| part == parameter);
            let operation = if has("operation_type=upgrade") {
                "upgrade"
            } else if has("operation_type=recreate") {
                "recreate"
            } else {
                "operate"
            };
            (operation, instance, "")
        }
        ("DELETE", &["mgmt", "v1", "service_instances", instance, "operation"]) => {
            ("cancel", instance, "")
        }
        ("POST", &["ui", "instances", instance, action]) => {
            (UiAction::named(action)?.name(), instance, "")
        }
        ("POST", &["mgmt", "v1", "runs"]) => ("begin-run", "", ""),
        ("PATCH", &["mgmt", "v1", "runs", ..]) => ("end-run", "", ""),
        ("POST", &["mgmt", "v1", "runs", _, "stop"]) => ("stop-run", "", ""),
        _ => return None,
    })
}

/// The header of the user behind a request (Open Service Broker API 2.17, "Originating Identity").
const HEADER: &str = "x-broker-api-originating-identity";

const LONGEST: usize = 128;

/// The user behind a request. Empty if the platform does not name one, as when it refreshes its catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Originator {
    pub(super) platform: String,
    /// The user's id: `user_id` of Cloud Foundry, `uid` of Kubernetes.
    pub(super) user: String,
}

/// The header is there and cannot be understood, which is no reason to refuse anything.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

#[derive(Deserialize)]
struct Identity {
    #[serde(default, alias = "uid")]
    user_id: String,
}

impl Originator {
    /// The user of the page, by the name that logs in.
    pub(super) fn of_page(headers: &HeaderMap) -> Self {
        Self {
            platform: "page".to_owned(),
            user: bounded(&basic_username(headers).unwrap_or_default(), LONGEST),
        }
    }

    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Unreadable> {
        let Some(value) = headers.get(HEADER) else {
            return Ok(Self::default());
        };
        let (platform, identity) = value
            .to_str()
            .ok()
            .and_then(|text| text.trim().split_once(' '))
            .ok_or(Unreadable)?;
        let identity = BASE64_STANDARD
            .decode(identity.trim())
            .map_err(|_| Unreadable)?;
        let identity: Identity = serde_json::from_slice(&identity).map_err(|_| Unreadable)?;
        Ok(Self {
            platform: bounded(platform, LONGEST),
            user: bounded(&identity.user_id, LONGEST),
        })
    }
}

/// Text of a client, short enough for the log and without line breaks.
pub(super) fn bounded(text: &str, longest: usize) -> String {
    let kept = &text[..text.floor_char_boundary(longest)];
    kept.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

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
            (
                "POST",
                "/ui/instances/i/delete",
                "",
                Some(("delete", "i", "")),
            ),
            ("GET", "/ui/instances/i/delete", "", None),
            ("POST", "/ui/instances/i/other", "", None),
            ("PATCH", "/mgmt/v1/runs/r", "", Some(("end-run", "", ""))),
            (
                "POST",
                "/mgmt/v1/runs/r/stop",
                "",
                Some(("stop-run", "", "")),
            ),
            // A process renews its lease every few seconds.
            ("POST", "/mgmt/v1/runs/r/lease", "", None),
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

    fn of(value: &str) -> Result<Originator, Unreadable> {
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static(HEADER),
            HeaderValue::from_str(value).unwrap(),
        );
        Originator::of(&headers)
    }

    #[test]
    fn users_of_both_platforms_are_known() {
        for (platform, identity, user) in [
            ("cloudfoundry", r#"{"user_id":"u-1"}"#, "u-1"),
            (
                "kubernetes",
                r#"{"username":"duke","uid":"u-2","groups":[]}"#,
                "u-2",
            ),
            ("other", "{}", ""),
        ] {
            let value = format!("{platform} {}", BASE64_STANDARD.encode(identity));
            let originator = of(&value).unwrap();
            assert_eq!((&*originator.platform, &*originator.user), (platform, user));
        }
        assert_eq!(Originator::of(&HeaderMap::new()), Ok(Originator::default()));
    }

    #[test]
    fn a_name_is_kept_to_one_line_of_reasonable_length() {
        let identity = format!(r#"{{"user_id":"a\nb{}"}}"#, "ä".repeat(1000));
        let value = format!("{} {}", "p".repeat(1000), BASE64_STANDARD.encode(identity));
        let originator = of(&value).unwrap();
        assert_eq!(originator.platform, "p".repeat(128));
        assert!(originator.user.starts_with("a\u{fffd}bä"));
        assert!(originator.user.len() <= 130, "{}", originator.user.len());
    }

    #[test]
    fn what_cannot_be_understood_is_reported() {
        let no_object = format!("cloudfoundry {}", BASE64_STANDARD.encode("5"));
        for value in ["cloudfoundry", "cloudfoundry !", "", &no_object] {
            assert_eq!(of(value), Err(Unreadable), "{value}");
        }
    }
}
