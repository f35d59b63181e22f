//! The available versions of a Cloud Controller's API, and the choice between them.

use std::fmt;

use serde::Deserialize;

use crate::{
    connection::Connection,
    http::{Call, Method, Service, StatusCode},
    service_error::{FailureKind, Result, ServiceError},
};

/// The oldest version 3 that supports all requests of this client (`spec/contracts/platform-apis.md` §3.1).
const OLDEST_V3: [u64; 3] = [3, 95, 0];
/// The oldest version 2 that brokers like this one have ever worked with
/// (`spec/contracts/broker-behaviour.md` §1.3).
const OLDEST_V2: [u64; 3] = [2, 57, 0];

/// The versions that a Cloud Controller reports, as text such as `3.228.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiVersions {
    /// Version 3. This client needs 3.95.
    pub v3: Option<String>,
    /// Version 2, queried only if version 3 is too old. This client needs 2.57.
    pub v2: Option<String>,
}

/// An available and supported version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    /// Version 3, used if it is new enough.
    V3,
    /// Version 2, on foundations that are old.
    V2,
}

impl ApiVersions {
    /// The version that this client uses; without one, the error names the reported versions.
    pub fn supported(&self) -> Result<ApiVersion> {
        let has = |version: &Option<String>, oldest| {
            version
                .as_deref()
                .and_then(numbers)
                .is_some_and(|version| version >= oldest)
        };
        if has(&self.v3, OLDEST_V3) {
            Ok(ApiVersion::V3)
        } else if has(&self.v2, OLDEST_V2) {
            Ok(ApiVersion::V2)
        } else {
            let kind = FailureKind::NoUsableVersion {
                v3: self.v3.clone(),
                v2: self.v2.clone(),
            };
            Err(ServiceError::new(
                Service::CloudController,
                Method::GET,
                "/",
                kind,
            ))
        }
    }
}

impl ApiVersion {
    fn as_str(self) -> &'static str {
        match self {
            Self::V3 => "v3",
            Self::V2 => "v2",
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the versions. Needs no token.
///
/// `/` reports both, but also version 2 if that is turned off, and is missing on the oldest foundations; so `/v2/info`
/// is read unless version 3 is sufficient.
pub(super) async fn ask(connection: &Connection, call: &Call) -> Result<ApiVersions> {
    let root: Result<Root, _> = connection
        .read_anonymously(call, connection.address(&[], &[]))
        .await;
    let (v3, without_root) = match root {
        Ok(root) => (root.v3(), None),
        Err(
            error @ ServiceError {
                kind: FailureKind::Refused { .. } | FailureKind::NotUnderstood { .. },
                ..
            },
        ) => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let reported = ApiVersions { v3, v2: None };
    if reported.supported().is_ok() {
        return Ok(reported);
    }
    let info: Result<Info, _> = connection
        .read_anonymously(call, connection.address(&["v2", "info"], &[]))
        .await;
    let v2 = match info {
        // Empty where version 2 is switched off.
        Ok(info) => info.api_version.filter(|version| !version.is_empty()),
        Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => None,
        Err(error) => return Err(error),
    };
    match (v2, without_root) {
        (None, Some(error)) => Err(error),
        (v2, _) => Ok(ApiVersions { v2, ..reported }),
    }
}

/// The numbers of a version of two or three parts; a build or pre-release does not matter.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let mut numbers = [0; 3];
    let mut count = 0;
    for part in core.split('.') {
        *numbers.get_mut(count)? = number(part)?;
        count += 1;
    }
    (count >= 2).then_some(numbers)
}

fn number(part: &str) -> Option<u64> {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| part.parse().ok())?
}

#[derive(Deserialize)]
struct Root {
    links: Links,
}

#[derive(Deserialize)]
struct Links {
    cloud_controller_v3: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    version: Option<String>,
}

#[derive(Deserialize)]
struct Info {
    api_version: Option<String>,
}

impl Root {
    fn v3(self) -> Option<String> {
        self.links.cloud_controller_v3?.meta?.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supported(v3: Option<&str>, v2: Option<&str>) -> Option<ApiVersion> {
        let versions = ApiVersions {
            v3: v3.map(str::to_owned),
            v2: v2.map(str::to_owned),
        };
        versions.supported().ok()
    }

    #[test]
    fn v3_is_used_where_it_is_new_enough_and_v2_where_it_is_not() {
        use ApiVersion::{V2, V3};

        for (v3, v2, expected) in [
            (Some("3.95.0"), None, Some(V3)),
            (Some("3.228.0"), Some("2.293.0"), Some(V3)),
            (Some("4.0.0"), None, Some(V3)),
            (Some("3.94.9"), Some("2.158.0"), Some(V2)),
            (None, Some("2.57.0"), Some(V2)),
            (None, Some("2.56.9"), None),
            (Some("3.94.9"), None, None),
            (None, None, None),
        ] {
            assert_eq!(supported(v3, v2), expected, "{v3:?} {v2:?}");
        }
    }

    #[test]
    fn versions_are_compared_by_number_and_two_parts_are_enough() {
        for (version, good) in [
            ("3.95", true),
            ("3.100", true),
            ("3.95.0-rc.1", true),
            ("3.228.0+build.7", true),
            ("3.9", false),
            ("3", false),
            ("", false),
            ("3.", false),
            ("3.95.0.1", false),
            ("3.+95", false),
            ("three.95", false),
        ] {
            assert_eq!(supported(Some(version), None).is_some(), good, "{version}");
        }
    }

    #[test]
    fn what_was_found_is_reported_where_nothing_will_do() {
        let versions = ApiVersions {
            v3: Some("3.94.0".to_owned()),
            v2: None,
        };

        let error = versions.supported().unwrap_err();

        let reported = error.to_string();
        assert!(
            reported.contains("`3.94.0`") && reported.contains("none"),
            "{reported}"
        );
        assert!(!error.is_transient());
    }
}
