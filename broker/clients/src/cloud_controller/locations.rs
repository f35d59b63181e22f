//! The names of spaces and organizations.

use std::collections::HashMap;

use super::{CfInstance, OrganizationGuid, SpaceGuid};

/// The known spaces and organizations; `None` for those that no longer exist.
#[derive(Default)]
pub(super) struct Locations {
    pub(super) spaces: HashMap<SpaceGuid, Option<Space>>,
    /// Their names.
    pub(super) organizations: HashMap<OrganizationGuid, Option<String>>,
}

pub(super) struct Space {
    pub(super) name: String,
    pub(super) organization: OrganizationGuid,
}

impl Locations {
    /// Writes into an instance where it is, as far as that is known.
    pub(super) fn write_into(&self, instance: &mut CfInstance) {
        let Some(Some(space)) = self.spaces.get(&instance.space) else {
            return;
        };
        instance.space_name = Some(space.name.clone());
        instance.organization = Some(space.organization.clone());
        let name = self.organizations.get(&space.organization);
        instance.organization_name = name.cloned().flatten();
    }
}
