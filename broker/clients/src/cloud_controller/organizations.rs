//! Organizations, one by one.

use super::{ApiVersion, CloudController, OrganizationGuid, v2, v3};
use crate::{http::Call, service_error::ServiceError};

impl CloudController {
    /// The name of an organization, if it is there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_name", skip_all)]
    pub async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<Option<String>, ServiceError> {
        let connection = self.connection();
        let name = match self.spoken(call).await? {
            ApiVersion::V3 => v3::organization_name(connection, call, guid).await,
            ApiVersion::V2 => v2::organization_name(connection, call, guid).await,
        };
        match name {
            Ok(name) => Ok(Some(name)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
