//! Service quotas of organizations and spaces. All managed instances count, also those whose creation failed.

use crate::cloud_controller::model::{
    InstanceKey, Plan, ServiceQuota, SpaceGuid, SpaceKey, Tables,
};

/// A quota that leaves no room. The text is what the user reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuotaExceeded {
    #[error("You have exceeded your space's services limit.")]
    SpaceInstances,
    #[error("You have exceeded your organization's services limit.")]
    OrganizationInstances,
    #[error(
        "The service instance cannot be created because paid service plans are not allowed for your space."
    )]
    SpacePaidPlans,
    #[error("The service instance cannot be created because paid service plans are not allowed.")]
    OrganizationPaidPlans,
}

/// Makes sure that there is room for one more instance of a plan.
pub(crate) fn must_have_room(
    tables: &Tables,
    space: &SpaceGuid,
    plan: &Plan,
) -> Result<(), QuotaExceeded> {
    let Quotas {
        of_space,
        of_organization,
    } = Quotas::of(tables, space);
    let in_space = |space: &SpaceGuid| {
        tables
            .instances
            .with(InstanceKey::Space(space.clone()))
            .count()
    };
    let in_organization = || {
        let organization = tables.spaces.get(space)?.organization.clone();
        let spaces = tables.spaces.with(SpaceKey::Organization(organization));
        Some(spaces.map(|space| in_space(&space.guid)).sum())
    };
    if of_space.is_full(|| in_space(space)) {
        return Err(QuotaExceeded::SpaceInstances);
    }
    if of_organization.is_full(|| in_organization().unwrap_or_default()) {
        return Err(QuotaExceeded::OrganizationInstances);
    }
    if plan.free {
        Ok(())
    } else if !of_space.paid_plans {
        Err(QuotaExceeded::SpacePaidPlans)
    } else if !of_organization.paid_plans {
        Err(QuotaExceeded::OrganizationPaidPlans)
    } else {
        Ok(())
    }
}

#[derive(Default)]
struct Quotas {
    of_space: ServiceQuota,
    of_organization: ServiceQuota,
}

impl Quotas {
    fn of(tables: &Tables, space: &SpaceGuid) -> Self {
        let space = tables.spaces.get(space);
        let organization = space.and_then(|space| tables.organizations.get(&space.organization));
        Self {
            of_space: space.map(|space| space.quota).unwrap_or_default(),
            of_organization: organization
                .map(|organization| organization.quota)
                .unwrap_or_default(),
        }
    }
}
