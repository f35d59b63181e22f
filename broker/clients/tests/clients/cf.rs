//! A Cloud Controller in either version of its API, its UAA, and a client of it.

use std::ops::Deref;

use futures_util::TryStreamExt;
use odb_clients::{
    ServiceError,
    cloud_controller::{CfInstance, CloudController, InstanceQuery, PlanGuid},
    http::Trust,
    uaa::{Grant, TokenSource},
};

use crate::foundation::{Reply, Request, Server, call, limits, uaa};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V3,
    V2,
}

pub(crate) const BOTH: [Version; 2] = [Version::V3, Version::V2];

/// `/` of a Cloud Controller with version 3 alone.
pub(crate) const V3_ROOT: &str = r#"{"links":{"self":{"href":"https://api"},"cloud_controller_v3":{"href":"https://api/v3","meta":{"version":"3.228.0"}},"cloud_controller_v2":null,"credhub":null}}"#;
/// `/` of one whose version 3 is too old.
const OLD_ROOT: &str = r#"{"links":{"cloud_controller_v3":{"href":"https://api/v3","meta":{"version":"3.76.0"}},"cloud_controller_v2":{"href":"https://api/v2","meta":{"version":"2.141.0"}}}}"#;
const OLD_INFO: &str = r#"{"name":"old","api_version":"2.141.0","osbapi_version":"2.15"}"#;

pub(crate) struct Cf {
    pub(crate) client: CloudController,
    pub(crate) server: Server,
    pub(crate) uaa: Server,
}

impl Deref for Cf {
    type Target = CloudController;

    fn deref(&self) -> &CloudController {
        &self.client
    }
}

/// With version 3 alone.
pub(crate) async fn v3(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Cf {
    Cf::of(Version::V3, answer).await
}

/// With a version 3 that is too old.
pub(crate) async fn v2(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Cf {
    Cf::of(Version::V2, answer).await
}

impl Cf {
    pub(crate) async fn of(
        version: Version,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |request| match (version, request.target.as_str()) {
            (Version::V3, "/") => Reply::ok(V3_ROOT),
            (Version::V2, "/") => Reply::ok(OLD_ROOT),
            (Version::V2, "/v2/info") => Reply::ok(OLD_INFO),
            _ => answer(request),
        })
        .await
    }

    /// One that gives every answer itself.
    pub(crate) async fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let (server, uaa) = (Server::start(answer).await, uaa(1199).await);
        let trust = Trust::only(&format!("{}{}", server.certificate, uaa.certificate)).unwrap();
        let grant = Grant::Password {
            username: "admin".to_owned(),
            password: "pAssw0rd".into(),
        };
        let tokens = TokenSource::connect(&uaa.url, &trust, grant, limits()).unwrap();
        let client = CloudController::connect(&server.url, &trust, tokens, limits()).unwrap();
        Self {
            client,
            server,
            uaa,
        }
    }

    /// The request lines so far, without those for the version, which is asked for once and first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = self.server.lines();
        assert_eq!(lines[0], "GET /");
        lines.retain(|line| line != "GET /v2/info");
        lines.remove(0);
        lines
    }

    /// The instances of `plan-1`.
    pub(crate) async fn instances(&self) -> Result<Vec<CfInstance>, ServiceError> {
        let query = InstanceQuery::of_plans(plans(&["plan-1"]));
        self.list_instances(&call(), query).try_collect().await
    }
}

impl Version {
    /// A page with these entries, in its form.
    pub(crate) fn page(self, next: Option<&str>, total: u64, entries: &str) -> Reply {
        Reply::ok(match self {
            Self::V3 => {
                let next = next.map_or("null".to_owned(), |url| format!(r#"{{"href":"{url}"}}"#));
                format!(
                    r#"{{"pagination":{{"total_results":{total},"total_pages":1,"next":{next},"previous":null}},"resources":[{entries}]}}"#
                )
            }
            Self::V2 => {
                let next = next.map_or("null".to_owned(), |url| format!(r#""{url}""#));
                format!(
                    r#"{{"total_results":{total},"total_pages":1,"prev_url":null,"next_url":{next},"resources":[{entries}]}}"#
                )
            }
        })
    }

    /// An error in its form.
    pub(crate) fn error(self, status: u16, code: u64, title: &str, detail: &str) -> Reply {
        let body = match self {
            Self::V3 => {
                format!(r#"{{"errors":[{{"code":{code},"title":"{title}","detail":"{detail}"}}]}}"#)
            }
            Self::V2 => {
                format!(r#"{{"description":"{detail}","error_code":"{title}","code":{code}}}"#)
            }
        };
        Reply::status(status, body)
    }

    /// No such instance.
    pub(crate) fn gone(self) -> Reply {
        match self {
            Self::V3 => self.error(
                404,
                10010,
                "CF-ResourceNotFound",
                "Service instance not found",
            ),
            Self::V2 => self.error(404, 60004, "CF-ServiceInstanceNotFound", "not found"),
        }
    }
}

pub(crate) use Version::{V2, V3};

/// A thing of version 2.
pub(crate) fn resource(guid: &str, entity: &str) -> String {
    format!(
        r#"{{"metadata":{{"guid":"{guid}","url":"/v2/x","created_at":"2020-01-01T00:00:00Z","updated_at":null}},"entity":{{{entity}}}}}"#
    )
}

pub(crate) fn plans(guids: &[&str]) -> Vec<PlanGuid> {
    guids.iter().map(|guid| guid.parse().unwrap()).collect()
}
