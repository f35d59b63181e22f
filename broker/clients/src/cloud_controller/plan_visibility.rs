//! Who can see a plan and therefore order it (`spec/contracts/platform-apis.md`, section 3.7).
//!
//! In version 2 a plan is public (`/v2/service_plans/:guid`), or each organization has one of its
//! `/v2/service_plan_visibilities`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ApiVersion, CloudController, OrganizationGuid, PlanGuid,
    api::{Api, Resource},
};
use crate::{
    http::{Call, Method, Repeat},
    service_error::Result,
};

const VISIBILITIES: &[&str] = &["service_plan_visibilities"];
/// The Cloud Controller's code for a visibility that is there already.
const THERE_ALREADY: u64 = 260_002;

/// The visibility of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanVisibility {
    /// All organizations.
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

/// The desired visibility of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedVisibility {
    /// All organizations.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations and no others. The Cloud Controller refuses an empty set.
    Organizations(BTreeSet<OrganizationGuid>),
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

    fn body(&self) -> Value {
        match self {
            Self::Public => json!({ "type": "public" }),
            Self::Admin => json!({ "type": "admin" }),
            Self::Organizations(guids) => {
                let guids = guids.iter().map(|guid| json!({ "guid": guid }));
                let guids: Vec<_> = guids.collect();
                json!({ "type": "organization", "organizations": guids })
            }
        }
    }
}

impl CloudController {
    /// The visibility of a plan. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plan_visibility", skip_all, fields(%plan))]
    pub async fn plan_visibility(&self, call: &Call, plan: &PlanGuid) -> Result<PlanVisibility> {
        let api = self.api(call).await?;
        if api.version == ApiVersion::V3 {
            let found: VisibilityV3 = api.read(call, &visibility_of(plan), &[]).await?;
            return Ok(found.into());
        }
        if api.is_public(call, plan).await? {
            return Ok(PlanVisibility::Public);
        }
        let organizations = api.visibilities(call, plan).await?.into_iter();
        let organizations: BTreeMap<_, _> = organizations
            .map(|visibility| (visibility.entity.organization_guid, None))
            .collect();
        Ok(if organizations.is_empty() {
            PlanVisibility::Admin
        } else {
            PlanVisibility::Organizations(organizations)
        })
    }

    /// Sets the visibility of a plan: all organizations, administrators only, or exactly these organizations. Safe to
    /// repeat.
    ///
    /// In version 3 one request replaces all. In version 2, an organization that sees the plan before and after sees it
    /// all the time, unless the plan was public: its organizations can be added only when it is not.
    ///
    /// A plan of a space-scoped broker is rejected.
    #[tracing::instrument(name = "cloud_controller.set_plan_visibility", skip_all, fields(%plan))]
    pub async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()> {
        let api = self.api(call).await?;
        match api.version {
            ApiVersion::V3 => {
                let segments = visibility_of(plan);
                let request = api.request(Method::PATCH, &segments, &[], Repeat::WhenTransient);
                let request = request.json(&wanted.body());
                api.send(call, request).await.map(drop)
            }
            ApiVersion::V2 => api.set_visibility_v2(call, plan, wanted).await,
        }
    }
}

fn visibility_of(plan: &PlanGuid) -> [&str; 3] {
    ["service_plans", plan.as_str(), "visibility"]
}

#[derive(Deserialize)]
struct VisibilityV3 {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    organizations: Vec<Organization>,
}

#[derive(Deserialize)]
struct Organization {
    guid: OrganizationGuid,
    name: Option<String>,
}

impl From<VisibilityV3> for PlanVisibility {
    fn from(found: VisibilityV3) -> Self {
        match found.kind.as_str() {
            "public" => Self::Public,
            "admin" => Self::Admin,
            "organization" => {
                let organizations = found.organizations.into_iter();
                let named =
                    organizations.map(|organization| (organization.guid, organization.name));
                Self::Organizations(named.collect())
            }
            "space" => Self::Space,
            _ => Self::Unknown(found.kind),
        }
    }
}

#[derive(Deserialize)]
struct Publicity {
    public: bool,
}

#[derive(Deserialize)]
struct VisibilityV2 {
    organization_guid: OrganizationGuid,
}

/// Version 2.
impl Api<'_> {
    /// Missing organizations are added before others are removed, so that no organization temporarily loses access.
    async fn set_visibility_v2(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()> {
        let is_wanted_public = *wanted == WantedVisibility::Public;
        if self.is_public(call, plan).await? != is_wanted_public {
            let segments = ["service_plans", plan.as_str()];
            let request = self.request(Method::PUT, &segments, &[], Repeat::WhenTransient);
            let request = request.json(&json!({ "public": is_wanted_public }));
            self.send(call, request).await?;
        }
        let no_organization = BTreeSet::new();
        let wanted = match wanted {
            WantedVisibility::Organizations(wanted) => wanted,
            WantedVisibility::Public | WantedVisibility::Admin => &no_organization,
        };
        let there = self.visibilities(call, plan).await?;
        let seen_by: BTreeSet<_> = there
            .iter()
            .map(|visibility| &visibility.entity.organization_guid)
            .collect();
        for organization in wanted {
            if !seen_by.contains(organization) {
                self.add_visibility(call, plan, organization).await?;
            }
        }
        for visibility in &there {
            if !wanted.contains(&visibility.entity.organization_guid) {
                let segments = [VISIBILITIES[0], &visibility.metadata.guid];
                let request = self.request(Method::DELETE, &segments, &[], Repeat::WhenTransient);
                super::there(self.send(call, request).await)?;
            }
        }
        Ok(())
    }

    async fn is_public(&self, call: &Call, plan: &PlanGuid) -> Result<bool> {
        let segments = ["service_plans", plan.as_str()];
        let plan: Publicity = self.read(call, &segments, &[]).await?;
        Ok(plan.public)
    }

    async fn visibilities(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Vec<Resource<String, VisibilityV2>>> {
        let condition = format!("service_plan_guid:{plan}");
        self.list(call, VISIBILITIES, &[("q", &condition)]).await
    }

    /// Each organization has one at most, so that a second one is refused and adding is safe to repeat.
    async fn add_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        organization: &OrganizationGuid,
    ) -> Result<()> {
        let body = json!({ "service_plan_guid": plan, "organization_guid": organization });
        let request = self.request(Method::POST, VISIBILITIES, &[], Repeat::WhenTransient);
        match self.send(call, request.json(&body)).await {
            Err(error) if error.code() == Some(THERE_ALREADY) => Ok(()),
            other => other.map(drop),
        }
    }
}
