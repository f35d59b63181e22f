//! The Cloud Controller's errors, and their meaning (`spec/contracts/platform-apis.md`, sections 3.2 and 4.1).

use reqwest::header::HeaderName;
use serde::Deserialize;

use super::CfError;
use crate::{
    connection::{Protocol, Shown, is_success, is_unauthorized, refused},
    http::{Response, Service, StatusCode, cut},
    service_error::{FailureKind, ServiceError},
};

/// The code for a path that the Cloud Controller does not know.
const UNKNOWN_REQUEST: u64 = 10000;
/// The code for an operation that the current state does not allow, and for many other errors.
const UNPROCESSABLE: u64 = 10008;
/// The code for a broker that still has service instances.
const NOT_REMOVABLE: u64 = 270_010;
/// The code of version 2 for an instance that other spaces share.
const SHARED: u64 = 390_002;
/// The codes for a catalog that will be as wrong the next time.
const WRONG_CATALOG: [u64; 2] = [270_012, 270_019];

pub(super) static PROTOCOL: Protocol = Protocol {
    service: Service::CloudController,
    request_id: Some(HeaderName::from_static("x-vcap-request-id")),
    asks_for_json: true,
    accepts: is_success,
    refuses_token: is_unauthorized,
    rejection,
    shown: Shown::Path,
};

fn rejection(answer: &Response) -> FailureKind {
    let error = match answer.json::<Rejection>() {
        Ok(Rejection::V3 { errors }) => errors.into_iter().next(),
        Ok(Rejection::V2 {
            code,
            error_code,
            description,
        }) => Some(CfError {
            code,
            title: error_code,
            detail: description,
        }),
        Err(_) => None,
    };
    let Some(error) = error else {
        return refused(answer);
    };
    FailureKind::Refused {
        status: answer.status(),
        code: error.code,
        name: cut(&error.title),
        description: cut(&error.detail),
    }
}

/// The body of an error, as the two versions of the API have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Rejection {
    V3 {
        errors: Vec<CfError>,
    },
    V2 {
        code: Option<u64>,
        #[serde(default)]
        error_code: String,
        description: String,
    },
}

impl ServiceError {
    /// Whether another operation is in progress, as far as version 3 of the API shows it: the API returns 422 for
    /// everything that the state does not allow.
    pub fn is_busy(&self) -> bool {
        match &self.kind {
            FailureKind::Refused {
                status,
                code,
                description,
                ..
            } => {
                *status == StatusCode::CONFLICT
                    || (*code == Some(UNPROCESSABLE) && description.contains("in progress"))
            }
            _ => false,
        }
    }

    /// Whether the requested object does not exist. This excludes a 404 that does not come from the Cloud Controller,
    /// for example because the API is missing or the host is wrong.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(StatusCode::NOT_FOUND)
            && self.code().is_some_and(|code| code != UNKNOWN_REQUEST)
    }

    /// A broker is not deleted because it has service instances.
    pub fn is_broker_in_use(&self) -> bool {
        self.code() == Some(NOT_REMOVABLE)
    }

    /// An instance is not deleted because other spaces share it.
    pub fn is_shared(&self) -> bool {
        self.code() == Some(SHARED)
    }
}

/// Whether an error of a broker, which arrives as a gateway error, is permanent: its catalog is invalid, or it rejects
/// the platform's credentials.
pub(crate) fn is_lasting_error_of_broker(code: Option<u64>, title: &str, detail: &str) -> bool {
    code.is_some_and(|code| WRONG_CATALOG.contains(&code))
        || title == "CF-ServiceBrokerApiAuthenticationFailed"
        || detail.starts_with("Authentication with the service broker failed")
}
