//! Every way to refuse a call (`spec/contracts/director-api.md`, "Errors").

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde_json::json;

use super::answer;
use crate::director::{
    configs::StaleConfig,
    ids::DeploymentName,
    links::{AddressError, DeleteError, LinkError},
    ruby::YamlError,
    tasks::{CannotCancel, QueueFull, TaskFailure},
};

/// A call turned down. The texts are a real Director's, which clients read and show.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rejection {
    #[error("Not authorized: '{path}'\n")]
    NotAuthenticated { path: String },
    #[error("Require one of the scopes: {}", .0.join(", "))]
    MissingScope(Vec<String>),
    #[error("One of the following scopes is required to access this task: {}", .0.join(", "))]
    TaskScopes(Vec<String>),
    #[error("Unknown type {0}")]
    UnknownOutputType(String),
    #[error("Not Found: {path}")]
    NoRoute { path: String },
    #[error("Endpoint '{path}' not found.")]
    NoEndpoint { path: String },
    #[error("Task {0} not found")]
    NoSuchTask(String),
    #[error("{0}")]
    CannotCancel(#[from] CannotCancel),
    #[error("{0} is not one of the cancellable states: queued, processing")]
    NotCancellable(String),
    #[error("Deployment '{0}' doesn't exist")]
    NoSuchDeployment(DeploymentName),
    #[error("X-Bosh-Context-Id cannot be more than 64 characters in length")]
    ContextIdTooLong,
    #[error("Manifest should not be empty")]
    EmptyManifest,
    #[error("Incorrect YAML structure of the uploaded manifest: {0}")]
    ManifestNotYaml(YamlError),
    #[error("Manifest should be a hash")]
    ManifestNotAHash,
    #[error("Deployment manifest must have a 'name' key")]
    ManifestWithoutName,
    #[error("Context includes invalid config ID")]
    UnknownConfigInContext,
    #[error("Invalid instance index or id '{0}'")]
    InvalidInstanceIndex(String),
    #[error("'{0}' doesn't exist")]
    NoSuchInstance(String),
    #[error("'{0}' is required")]
    ConfigParameterMissing(&'static str),
    #[error("'{0}' must be a string")]
    ConfigParameterNotText(&'static str),
    #[error("'latest' must be 'true' or 'false'")]
    BadLatest,
    #[error("'limit' must be a number")]
    BadLimit,
    #[error("'limit' must be larger than zero")]
    LimitTooSmall,
    #[error("limit is required")]
    LimitMissing,
    #[error("limit is invalid: '{0}' is not an integer")]
    LimitNotAnInteger(String),
    #[error("JSON object expected")]
    NotAJsonObject,
    #[error("Invalid JSON request body: unexpected token at '{0}'")]
    NotJson(String),
    #[error("Config must be valid YAML: {0}")]
    ConfigNotYaml(YamlError),
    /// Psych reads text alone.
    #[error("Config must be valid YAML: no implicit conversion of {0} into String")]
    ConfigNotText(&'static str),
    #[error("YAML hash expected")]
    ConfigNotAHash,
    #[error("Config {0} not found")]
    NoSuchConfig(String),
    #[error("Latest Id: '{latest}' does not match expected latest id", latest = .0.latest)]
    StaleConfig(StaleConfig),
    #[error("Endpoint '{path}' not found.")]
    NothingThere { path: String },
    #[error(
        "The following request formats are allowed:\n1. {{\"from\":<config>,\"to\":<config>}} where <config> is either {{\"id\":\"<id>\"}} or {{\"content\":\"<content>\"}}\n2. {{\"type\":\"<type>\",\"name\":\"<name>\",\"content\":\"<content>\"}}"
    )]
    BadConfigDiff,
    #[error("Unable to diff config content: #<Bosh::Director::BadConfig: {0}>")]
    NotDiffable(Box<Rejection>),
    #[error("Deployment name is required")]
    DeploymentMissing,
    #[error("Invalid request: {0}")]
    BadLink(&'static str),
    #[error("Invalid link_provider_id: {0}")]
    NoSuchLinkProvider(String),
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("{0}")]
    DeleteLink(#[from] DeleteError),
    #[error("{0}")]
    LinkAddress(#[from] AddressError),
    #[error("Link id is required")]
    LinkIdMissing,
    #[error("`azs` param must be array type: `azs[]=`")]
    AzsNotAList,
    #[error("az {0} is not valid")]
    NoSuchAz(String),
    #[error("status must be a one of: [\"healthy\", \"unhealthy\", \"all\", \"default\"]")]
    NoSuchHealth,
    #[error("Invalid {0} parameter: '{1}' ")]
    BadTime(&'static str, String),
    #[error("Event not found")]
    NoSuchEvent,
    #[error("Release '{0}' doesn't exist")]
    NoSuchRelease(String),
    #[error("{0}")]
    Planning(TaskFailure),
    #[error("{0}")]
    Busy(#[from] QueueFull),
    /// Input that a real Director's code fails on: an empty 500.
    #[error("the request cannot be read")]
    Unreadable,
}

enum Form {
    /// A status and `{"code", "description"}`.
    Error(StatusCode, u32),
    Text(StatusCode),
    /// A status and nothing.
    Empty(StatusCode),
}

impl Rejection {
    fn form(&self) -> Form {
        let bad_request = |code| Form::Error(StatusCode::BAD_REQUEST, code);
        let not_found = |code| Form::Error(StatusCode::NOT_FOUND, code);
        match self {
            Self::NotAuthenticated { .. } => Form::Text(StatusCode::UNAUTHORIZED),
            Self::MissingScope(_) | Self::TaskScopes(_) | Self::UnknownOutputType(_) => {
                Form::Error(StatusCode::UNAUTHORIZED, 600_000)
            }
            Self::NoRoute { .. }
            | Self::NoEndpoint { .. }
            | Self::NothingThere { .. }
            | Self::NoSuchEvent => Form::Text(StatusCode::NOT_FOUND),
            Self::CannotCancel(_)
            | Self::NotCancellable(_)
            | Self::BadTime(..)
            | Self::LimitMissing
            | Self::LimitNotAnInteger(_)
            | Self::NotDiffable(_) => Form::Text(StatusCode::BAD_REQUEST),
            Self::NoSuchTask(_) => not_found(10000),
            Self::NoSuchRelease(_) => not_found(30005),
            Self::NoSuchDeployment(_) | Self::Planning(TaskFailure::NeverDeployed) => {
                not_found(70000)
            }
            Self::ContextIdTooLong => bad_request(70010),
            Self::UnknownConfigInContext => bad_request(190_025),
            Self::InvalidInstanceIndex(_) => bad_request(70002),
            Self::NoSuchInstance(_) => not_found(70001),
            Self::EmptyManifest | Self::ManifestNotYaml(_) | Self::ManifestNotAHash => {
                bad_request(440_001)
            }
            Self::ManifestWithoutName => bad_request(40001),
            Self::DeploymentMissing => bad_request(190_024),
            Self::ConfigParameterMissing(_)
            | Self::ConfigParameterNotText(_)
            | Self::BadLatest
            | Self::BadLimit
            | Self::LimitTooSmall
            | Self::BadConfigDiff
            | Self::NotAJsonObject => bad_request(440_010),
            Self::NotJson(_) => bad_request(710_001),
            Self::ConfigNotYaml(_) | Self::ConfigNotText(_) | Self::ConfigNotAHash => {
                bad_request(440_011)
            }
            Self::NoSuchConfig(_) => not_found(440_012),
            Self::StaleConfig(_) => Form::Text(StatusCode::PRECONDITION_FAILED),
            Self::DeleteLink(DeleteError::NoSuchLink(_)) | Self::LinkAddress(_) => {
                not_found(810_000)
            }
            Self::BadLink(_) => bad_request(810_001),
            Self::NoSuchLinkProvider(_) | Self::Link(LinkError::NoSuchProvider(_)) => {
                bad_request(810_002)
            }
            Self::Link(LinkError::NoSuchNetwork { .. }) => bad_request(810_003),
            Self::DeleteLink(DeleteError::NotExternal) => bad_request(810_005),
            Self::LinkIdMissing => bad_request(810_006),
            Self::NoSuchHealth => bad_request(810_007),
            Self::AzsNotAList | Self::NoSuchAz(_) => bad_request(810_008),
            Self::Link(LinkError::NotShared) => Form::Error(StatusCode::FORBIDDEN, 810_009),
            Self::Planning(failure) => bad_request(failure.code()),
            Self::Busy(_) => Form::Error(StatusCode::INTERNAL_SERVER_ERROR, 500_000),
            Self::Unreadable => Form::Empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

impl ResponseError for Rejection {
    fn error_response(&self) -> HttpResponse {
        match (self, self.form()) {
            (Self::NoRoute { .. }, _) => answer::no_route(self.to_string()),
            (Self::NoEndpoint { .. }, Form::Text(status)) => {
                let text = self.to_string().into_bytes();
                answer::html_bytes(status, text)
                    .header(("X-Cascade", "pass"))
                    .finish()
            }
            (Self::StaleConfig(stale), Form::Text(status)) => {
                let body = json!({
                    "latest_id": stale.latest,
                    "expected_latest_id": stale.expected,
                    "description": self.to_string(),
                });
                answer::json_as_html(status, &body)
            }
            (Self::NotDiffable(_), Form::Text(status)) => {
                let body = json!({"diff": [], "error": self.to_string()});
                answer::json_as_html(status, &body)
            }
            (_, Form::Error(status, code)) => answer::json_as_html(
                status,
                &json!({"code": code, "description": self.to_string()}),
            ),
            (_, Form::Text(status)) => answer::html(status, self.to_string()),
            (_, Form::Empty(status)) => answer::html(status, ""),
        }
    }
}
