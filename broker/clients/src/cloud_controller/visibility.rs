//! Who sees a plan, and so may order it.

use std::collections::{BTreeMap, BTreeSet};

use super::{ApiVersion, CloudController, OrganizationGuid, PlanGuid, v2, v3};
use crate::{http::Call, service_error::ServiceError};

/// Who sees a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanVisibility {
    /// Everybody.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations, by their ids, with their names where they are known. Never empty.
    Organizations(BTreeMap<OrganizationGuid, Option<String>>),
    /// The space that the broker belongs to. This cannot be changed.
    Space,
    /// Something that this client does not know.
    Unknown(String),
}

/// Who is to see a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedVisibility {
    /// Everybody.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations and no others. The Cloud Controller refuses an empty set.
    Organizations(BTreeSet<OrganizationGuid>),
}

impl CloudController {
    /// Who sees a plan. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plan_visibility", skip_all, fields(%plan))]
    pub async fn plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<PlanVisibility, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::plan_visibility(connection, call, plan).await,
            ApiVersion::V2 => v2::plan_visibility(connection, call, plan).await,
        }
    }

    /// Settles who sees a plan: everybody, administrators alone, or these organizations and no others. Safe to repeat.
    ///
    /// In version 3 one request replaces all. In version 2, whoever sees the plan before and after sees it all the time,
    /// but for a plan that was public: its organizations can be let in only when it is not.
    ///
    /// A plan of a broker that belongs to a space is refused.
    #[tracing::instrument(name = "cloud_controller.set_plan_visibility", skip_all, fields(%plan))]
    pub async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        visibility: &WantedVisibility,
    ) -> Result<(), ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::set_plan_visibility(connection, call, plan, visibility).await,
            ApiVersion::V2 => v2::set_plan_visibility(connection, call, plan, visibility).await,
        }
    }
}

impl WantedVisibility {
    /// It is already so.
    pub fn is(&self, visibility: &PlanVisibility) -> bool {
        match (self, visibility) {
            (Self::Public, PlanVisibility::Public) | (Self::Admin, PlanVisibility::Admin) => true,
            (Self::Organizations(wanted), PlanVisibility::Organizations(there)) => {
                wanted.iter().eq(there.keys())
            }
            _ => false,
        }
    }
}
