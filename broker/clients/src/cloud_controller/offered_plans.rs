//! What one broker offers, as an operator looks at it.

use super::{ApiVersion, BrokerGuid, CloudController, PlanGuid, v2, v3};
use crate::{http::Call, service_error::ServiceError};

/// A plan of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPlan {
    /// The Cloud Controller's id.
    pub guid: PlanGuid,
    /// The id of its service offering in the broker's catalog. Several brokers may offer the same.
    pub offering: String,
    /// The plan's name.
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
    /// Whether the catalog still has it. One that has gone stays as long as it has service instances.
    pub is_active: bool,
    /// The version of its `maintenance_info`, where it has one.
    pub maintenance_version: Option<String>,
}

impl CloudController {
    /// The plans of this very broker, those included that its catalog has no more. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plans_of_broker", skip_all, fields(%broker))]
    pub async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::plans_of_broker(connection, call, broker).await,
            ApiVersion::V2 => v2::plans_of_broker(connection, call, broker).await,
        }
    }
}
