//! The rights of a caller: their roles, and the scopes beyond all roles.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Caller, Rights};
use crate::cloud_controller::{
    model::{
        Binding, Instance, OrganizationGuid, OrganizationStatus, Plan, RoleKey, RoleKind,
        RoleScope, SpaceGuid, Tables, Visibility,
    },
    rejection::{ErrorKind, Rejection},
};

/// The roles of one caller, as they are at one moment.
#[derive(Debug)]
pub(crate) struct Permissions {
    rights: Rights,
    organizations: BTreeMap<OrganizationGuid, BTreeSet<RoleKind>>,
    spaces: BTreeMap<SpaceGuid, BTreeSet<RoleKind>>,
}

impl Permissions {
    pub(super) fn of(tables: &Tables, caller: &Caller) -> Self {
        let mut permissions = Self {
            rights: caller.rights,
            organizations: BTreeMap::new(),
            spaces: BTreeMap::new(),
        };
        for role in tables.roles.with(RoleKey::User(caller.name.clone())) {
            let kinds = match &role.location {
                RoleScope::Organization(guid) => {
                    permissions.organizations.entry(guid.clone()).or_default()
                }
                RoleScope::Space(guid) => permissions.spaces.entry(guid.clone()).or_default(),
            };
            kinds.insert(role.kind);
        }
        permissions
    }

    pub(crate) fn sees_everything(&self) -> bool {
        matches!(
            self.rights,
            Rights::Admin | Rights::AdminReadOnly | Rights::GlobalAuditor
        )
    }

    pub(crate) fn sees_organization(&self, organization: &OrganizationGuid) -> bool {
        self.sees_everything() || self.organizations.contains_key(organization)
    }

    /// Any role in the space will do, and so does managing its organization.
    pub(crate) fn sees_space(&self, tables: &Tables, space: &SpaceGuid) -> bool {
        let manages = || {
            tables
                .spaces
                .get(space)
                .is_some_and(|space| self.manages_organization(&space.organization))
        };
        self.sees_everything() || self.spaces.contains_key(space) || manages()
    }

    pub(crate) fn sees_instance(&self, tables: &Tables, instance: &Instance) -> bool {
        self.sees_space(tables, &instance.space)
            || instance
                .shared_spaces
                .iter()
                .any(|space| self.sees_space(tables, space))
    }

    pub(crate) fn sees_binding(&self, tables: &Tables, binding: &Binding) -> bool {
        tables
            .space_of(binding)
            .is_some_and(|space| self.sees_space(tables, space))
    }

    /// Credentials are for developers and for those who may see everything, auditors excepted.
    pub(crate) fn sees_secrets(&self, space: &SpaceGuid) -> bool {
        matches!(self.rights, Rights::Admin | Rights::AdminReadOnly)
            || self.has(space, RoleKind::SpaceDeveloper)
    }

    /// Plans of an organization are for all who have a role in it.
    pub(crate) fn sees_plan(&self, plan: &Plan) -> bool {
        self.sees_everything()
            || match &plan.visibility {
                Visibility::Admin => false,
                Visibility::Public => true,
                Visibility::Organizations(organizations) => organizations
                    .iter()
                    .any(|guid| self.organizations.contains_key(guid)),
            }
    }

    /// Whether the caller may change what is in a space, were its organization active.
    pub(crate) fn writes(&self, space: &SpaceGuid) -> bool {
        self.rights == Rights::Admin || self.has(space, RoleKind::SpaceDeveloper)
    }

    /// Only developers change what is in a space.
    pub(crate) fn must_write(&self, tables: &Tables, space: &SpaceGuid) -> Result<(), Rejection> {
        self.must(self.writes(space), tables, space)
    }

    /// Apps are bound and unbound by supporters as well.
    pub(crate) fn must_operate(&self, tables: &Tables, space: &SpaceGuid) -> Result<(), Rejection> {
        let may = self.writes(space) || self.has(space, RoleKind::SpaceSupporter);
        self.must(may, tables, space)
    }

    /// Spaces are changed, and their roles given, by those who manage them or their organization.
    pub(crate) fn must_manage(&self, tables: &Tables, space: &SpaceGuid) -> Result<(), Rejection> {
        let organization = tables.spaces.get(space).map(|space| &space.organization);
        let may = self.rights == Rights::Admin
            || self.has(space, RoleKind::SpaceManager)
            || organization.is_some_and(|guid| self.manages_organization(guid));
        self.must(may, tables, space)
    }

    pub(crate) fn must_manage_organization(
        &self,
        tables: &Tables,
        organization: &OrganizationGuid,
    ) -> Result<(), Rejection> {
        if self.rights == Rights::Admin {
            return Ok(());
        }
        if !self.manages_organization(organization) {
            return Err(Rejection::not_authorized());
        }
        must_be_active(tables, organization)
    }

    fn manages_organization(&self, organization: &OrganizationGuid) -> bool {
        self.organizations
            .get(organization)
            .is_some_and(|kinds| kinds.contains(&RoleKind::OrganizationManager))
    }

    fn has(&self, space: &SpaceGuid, kind: RoleKind) -> bool {
        self.spaces
            .get(space)
            .is_some_and(|kinds| kinds.contains(&kind))
    }

    fn must(&self, may: bool, tables: &Tables, space: &SpaceGuid) -> Result<(), Rejection> {
        if !may {
            return Err(Rejection::not_authorized());
        }
        if self.rights == Rights::Admin {
            return Ok(());
        }
        match tables.spaces.get(space) {
            Some(space) => must_be_active(tables, &space.organization),
            None => Err(Rejection::not_authorized()),
        }
    }
}

fn must_be_active(tables: &Tables, organization: &OrganizationGuid) -> Result<(), Rejection> {
    match tables.organizations.get(organization) {
        Some(row) if row.status == OrganizationStatus::Suspended => {
            Err(ErrorKind::OrganizationSuspended.with("The organization is suspended"))
        }
        _ => Ok(()),
    }
}
