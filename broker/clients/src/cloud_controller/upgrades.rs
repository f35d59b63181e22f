//! Upgrades of service instances: the Cloud Controller has the broker asked to bring an instance to the version of its plan
//! (`spec/contracts/platform-apis.md`, sections 3.8, 3.11 and 4.2).

use serde::Deserialize;

use super::{
    ApiVersion, CfOperation, CloudController, InstanceGuid, PlanGuid, instances::WireOperation, v2,
    v3,
};
use crate::{
    http::{Call, cut},
    service_error::ServiceError,
};

/// The first version of the Open Service Broker API with `maintenance_info`.
const OLDEST_OSBAPI: [u64; 2] = [2, 15];

/// What an instance is, and what it could be upgraded to depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfVersionedInstance {
    /// Its plan.
    pub plan: PlanGuid,
    /// The version that the Cloud Controller takes it to be of, if it has one.
    pub version: Option<String>,
    /// What was last done with it, if that is known.
    pub last_operation: Option<CfOperation>,
    /// What was said of that; empty if nothing was. 2 KiB at most.
    pub description: String,
    /// When it has changed last, in the Cloud Controller's own notation, if it tells: tells one operation from the next.
    pub changed: Option<String>,
}

/// What came of asking for an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upgrading {
    /// The broker is at it: the last operation of the instance tells how it ends.
    Begun,
    /// There is nothing to upgrade.
    UpToDate,
    /// The broker has refused or failed at once.
    Failed {
        /// What was said of that; empty if nothing was. 2 KiB at most.
        description: String,
    },
    /// The answer tells of a state that this client does not know.
    Unknown {
        /// The state; empty if there is none.
        state: String,
    },
}

impl CloudController {
    /// Whether upgrades can be asked for here: the Cloud Controller knows `maintenance_info`. Needs no token. Safe to repeat.
    ///
    /// Every version 3 that is spoken here does (it came with 3.86); of version 2 the version of the Open Service Broker API
    /// tells, which need not have more than two parts.
    #[tracing::instrument(name = "cloud_controller.knows_maintenance_info", skip_all)]
    pub async fn knows_maintenance_info(&self, call: &Call) -> Result<bool, ServiceError> {
        match self.spoken(call).await? {
            ApiVersion::V3 => Ok(true),
            ApiVersion::V2 => {
                let version = v2::osbapi_version(self.connection(), call).await?;
                Ok(is_enough(&version))
            }
        }
    }

    /// An instance with its plan and version; `None` when it is not there (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.versioned_instance", skip_all, fields(%instance))]
    pub async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfVersionedInstance>, ServiceError> {
        let connection = self.connection();
        let found = match self.spoken(call).await? {
            ApiVersion::V3 => v3::versioned_instance(connection, call, instance).await,
            ApiVersion::V2 => v2::versioned_instance(connection, call, instance).await,
        };
        match found {
            Ok(instance) => Ok(Some(instance)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The version of a plan, if it has one. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.version_of_plan", skip_all, fields(%plan))]
    pub async fn version_of_plan(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Option<String>, ServiceError> {
        let connection = self.connection();
        let info = match self.spoken(call).await? {
            ApiVersion::V3 => v3::maintenance_info_of_plan(connection, call, plan).await?,
            ApiVersion::V2 => v2::maintenance_info_of_plan(connection, call, plan).await?,
        };
        Ok(info.and_then(|info| info.version))
    }

    /// Asks for the upgrade of an instance to the version of its plan. Sent once: after an error it may have begun all the
    /// same ([`ServiceError::may_have_taken_effect`]). Refused while the instance
    /// [is busy](ServiceError::is_busy).
    #[tracing::instrument(name = "cloud_controller.upgrade_instance", skip_all, fields(%instance))]
    pub async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::upgrade_instance(connection, call, instance, version).await,
            ApiVersion::V2 => v2::upgrade_instance(connection, call, instance, version).await,
        }
    }
}

fn is_enough(osbapi_version: &str) -> bool {
    let mut parts = osbapi_version.split('.').map(str::parse::<u64>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => [major, minor] >= OLDEST_OSBAPI,
        _ => false,
    }
}

/// `{}` where there is none.
#[derive(Deserialize)]
pub(super) struct MaintenanceInfo {
    version: Option<String>,
}

/// `last_operation` with what is said of it.
#[derive(Default, Deserialize)]
pub(super) struct ToldOperation {
    #[serde(rename = "type")]
    kind: Option<String>,
    pub(super) state: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
}

impl CfVersionedInstance {
    pub(super) fn of(
        plan: PlanGuid,
        info: Option<MaintenanceInfo>,
        told: Option<ToldOperation>,
    ) -> Self {
        let ToldOperation {
            kind,
            state,
            description,
            updated_at,
        } = told.unwrap_or_default();
        Self {
            plan,
            version: info.and_then(|info| info.version),
            last_operation: WireOperation { kind, state }.known(),
            description: cut(&description.unwrap_or_default()),
            changed: updated_at,
        }
    }
}

/// What is sent to ask for an upgrade, in both versions.
pub(super) fn wish(version: &str) -> serde_json::Value {
    serde_json::json!({ "maintenance_info": { "version": version } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_of_the_version_of_the_broker_api_are_enough() {
        for (version, enough) in [
            ("2.15", true),
            ("2.15.0", true),
            ("2.16", true),
            ("3.0", true),
            ("2.14", false),
            ("2", false),
            ("", false),
            ("two.fifteen", false),
        ] {
            assert_eq!(is_enough(version), enough, "{version}");
        }
    }
}
