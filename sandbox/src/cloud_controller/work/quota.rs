//! Service quotas of organizations and spaces. All managed instances count, also those whose creation failed.

use crate::cloud_controller::model::{InstanceKey, Plan, SpaceGuid, SpaceKey, Tables};

/// Makes sure that there is room for one more instance of a plan. The error is for the user.
pub(crate) fn must_have_room(
    tables: &Tables,
    space: &SpaceGuid,
    plan: &Plan,
) -> Result<(), &'static str> {
    let row = tables.spaces.get(space);
    let of_space = row.map(|row| row.quota).unwrap_or_default();
    let organization = tables.organization_of(space);
    let of_organization = organization.map(|row| row.quota).unwrap_or_default();
    let in_space = |space: &SpaceGuid| {
        let key = InstanceKey::Space(space.clone());
        tables.instances.with(key).count()
    };
    let in_organization = || {
        let key = SpaceKey::Organization(organization?.guid.clone());
        Some(tables.spaces.with(key).map(|row| in_space(&row.guid)).sum())
    };
    if of_space.is_full(|| in_space(space)) {
        Err("You have exceeded your space's services limit.")
    } else if of_organization.is_full(|| in_organization().unwrap_or_default()) {
        Err("You have exceeded your organization's services limit.")
    } else if !plan.free && !of_space.paid_plans {
        Err(
            "The service instance cannot be created because paid service plans are not allowed for your space.",
        )
    } else if !plan.free && !of_organization.paid_plans {
        Err("The service instance cannot be created because paid service plans are not allowed.")
    } else {
        Ok(())
    }
}
