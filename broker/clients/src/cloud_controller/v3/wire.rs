//! The JSON of version 3.

use serde::{Deserialize, de::IgnoredAny};

use crate::cloud_controller::{
    AppGuid, BindingGuid, CfBinding, CfBindingKind, InstanceGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
    listing::{Locations, Space},
    resources::{Found, MaintenanceInfo, WireOperation},
};

/// A page with its included objects.
#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>, Included: Deserialize<'de> + Default")]
pub(super) struct Page<T, Included = IgnoredAny> {
    pub(super) pagination: Pagination,
    pub(super) resources: Vec<T>,
    #[serde(default)]
    pub(super) included: Included,
}

#[derive(Deserialize)]
pub(super) struct Pagination {
    pub(super) total_results: u64,
    /// 1 at least.
    pub(super) total_pages: usize,
    pub(super) next: Option<Link>,
}

#[derive(Deserialize)]
pub(super) struct Link {
    pub(super) href: String,
}

/// Something of which only the id is needed.
#[derive(Deserialize)]
pub(super) struct WithGuid<Guid> {
    pub(super) guid: Guid,
}

/// A relationship to one thing, or to several.
#[derive(Deserialize)]
pub(super) struct Related<Data> {
    pub(super) data: Data,
}

pub(super) type ToOne<Guid> = Related<WithGuid<Guid>>;

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Catalog {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Offering {
    pub(super) guid: OfferingGuid,
    pub(super) broker_catalog: Catalog,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) guid: PlanGuid,
    pub(super) name: String,
    pub(super) available: Option<bool>,
    pub(super) maintenance_info: Option<MaintenanceInfo>,
    pub(super) broker_catalog: Catalog,
    pub(super) relationships: OfPlan,
}

#[derive(Deserialize)]
pub(super) struct OfPlan {
    pub(super) service_offering: ToOne<OfferingGuid>,
}

#[derive(Deserialize)]
pub(super) struct Visibility {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) organizations: Vec<SeeingOrganization>,
}

#[derive(Deserialize)]
pub(super) struct SeeingOrganization {
    pub(super) guid: OrganizationGuid,
    pub(super) name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct One {
    #[serde(flatten)]
    pub(super) instance: Instance,
    #[serde(default)]
    pub(super) included: Included,
}

#[derive(Deserialize)]
pub(super) struct Instance {
    pub(super) guid: InstanceGuid,
    pub(super) name: Option<String>,
    pub(super) relationships: OfInstance,
    pub(super) maintenance_info: Option<MaintenanceInfo>,
    pub(super) last_operation: Option<WireOperation>,
}

#[derive(Deserialize)]
pub(super) struct OfInstance {
    pub(super) space: ToOne<SpaceGuid>,
    /// Not of those that users provide.
    pub(super) service_plan: Option<ToOne<PlanGuid>>,
}

impl Instance {
    /// Nothing of one that a user provides.
    pub(super) fn managed(self, locations: &Locations) -> Option<Found> {
        let plan = self.relationships.service_plan?.data.guid;
        let space = self.relationships.space.data.guid;
        let (info, reported) = (self.maintenance_info, self.last_operation);
        let mut found = Found::of((self.guid, self.name), plan, space, info, reported);
        locations.write_into(&mut found.instance);
        Some(found)
    }
}

/// The spaces and organizations of a page of instances, each once.
#[derive(Default, Deserialize)]
pub(super) struct Included {
    #[serde(default)]
    pub(super) spaces: Vec<IncludedSpace>,
    #[serde(default)]
    pub(super) organizations: Vec<IncludedOrganization>,
}

#[derive(Deserialize)]
pub(super) struct IncludedSpace {
    pub(super) guid: SpaceGuid,
    pub(super) name: String,
    pub(super) relationships: OfSpace,
}

#[derive(Deserialize)]
pub(super) struct OfSpace {
    pub(super) organization: ToOne<OrganizationGuid>,
}

#[derive(Deserialize)]
pub(super) struct IncludedOrganization {
    pub(super) guid: OrganizationGuid,
    pub(super) name: String,
}

impl From<Included> for Locations {
    fn from(included: Included) -> Self {
        let spaces = included.spaces.into_iter().map(|space| {
            let known = Space {
                name: space.name,
                organization_guid: space.relationships.organization.data.guid,
            };
            (space.guid, Some(known))
        });
        let organizations = included.organizations.into_iter();
        Self {
            spaces: spaces.collect(),
            organizations: organizations
                .map(|found| (found.guid, Some(found.name)))
                .collect(),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Binding {
    pub(super) guid: BindingGuid,
    pub(super) last_operation: Option<WireOperation>,
    pub(super) relationships: OfBinding,
}

#[derive(Deserialize)]
pub(super) struct OfBinding {
    pub(super) app: Option<ToOne<AppGuid>>,
}

impl Binding {
    pub(super) fn of(self, kind: CfBindingKind) -> CfBinding {
        CfBinding {
            guid: self.guid,
            kind,
            last_operation: self.last_operation.and_then(WireOperation::known),
        }
    }
}
