//! Which versions of its API a Cloud Controller speaks.

use serde::Deserialize;

use super::{CloudController, CloudControllerError};
use crate::http::Call;

/// The versions of its API that a Cloud Controller tells of, as text such as `3.228.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiVersions {
    /// Version 3. This client needs 3.95.
    pub v3: Option<String>,
    /// Version 2. Older Cloud Controllers tell of it even where it is switched off.
    pub v2: Option<String>,
}

impl CloudController {
    /// Which versions of its API the Cloud Controller speaks. Needs no token. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions, CloudControllerError> {
        let root: Root = self.read_anonymously(call, self.address(&[], &[])).await?;
        let version = |link: Option<Link>| link?.meta?.version;
        Ok(ApiVersions {
            v3: version(root.links.cloud_controller_v3),
            v2: version(root.links.cloud_controller_v2),
        })
    }
}

#[derive(Deserialize)]
struct Root {
    links: Links,
}

#[derive(Deserialize)]
struct Links {
    cloud_controller_v3: Option<Link>,
    cloud_controller_v2: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    version: Option<String>,
}
