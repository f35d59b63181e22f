//! Each CredHub, put together: who may get in, and what they may do there from the beginning
//! (`spec/contracts/platform-apis.md`, "Rights the broker's identities need").

use std::collections::BTreeSet;

use super::{
    description::CredHubAccess,
    identity::Secrets,
    seed::Side,
    settings::{AclsSection, ClientSection, CredHubSection, PermissionSection},
    up::StartError,
};
use crate::{
    cloud_controller::SERVICE_KEY_CLIENT,
    credhub::{
        self, ALL_OPERATIONS, Acls, Actor, CredHub, CredHubSettings, Operation, Permission,
        director_actor,
    },
    store::Store,
    uaa::{Client, Uaa},
};

const OWN_DIRECTOR_CLIENT: &str = "director_to_credhub";
const SCOPES: [&str; 2] = ["credhub.read", "credhub.write"];

/// A CredHub that is still without a UAA.
pub(super) struct CredHubPlan {
    pub(super) clients: Vec<Client>,
    settings: CredHubSettings,
    access: CredHubAccess,
}

impl CredHubPlan {
    pub(super) fn bosh(
        section: &CredHubSection,
        director: &str,
        (url, uaa_url): (String, String),
        secrets: &mut Secrets,
    ) -> Self {
        let broker = Actor::uaa_client(&section.client.id);
        let first = vec![
            everything(&director_actor()),
            permission("/odb/*", &broker, &ALL_OPERATIONS),
            permission(
                &format!("/{director}/*"),
                &broker,
                &[Operation::Read, Operation::ReadAcl],
            ),
        ];
        let service = service_client(OWN_DIRECTOR_CLIENT);
        let side = (Side::Bosh, credhub::Side::Bosh);
        Self::new(section, side, (url, uaa_url), (first, service), secrets)
    }

    pub(super) fn runtime(
        section: &CredHubSection,
        (url, uaa_url): (String, String),
        secrets: &mut Secrets,
    ) -> Self {
        let broker = Actor::uaa_client(&section.client.id);
        // cf-deployment lets the client of service keys read everything. Here it reads what brokers let it read, so
        // that a broker that forgets the permission is noticed.
        let first = vec![permission("/c/*", &broker, &ALL_OPERATIONS)];
        let service = service_client(SERVICE_KEY_CLIENT);
        let side = (Side::Cf, credhub::Side::Runtime);
        Self::new(section, side, (url, uaa_url), (first, service), secrets)
    }

    fn new(
        section: &CredHubSection,
        (uaa_side, side): (Side, credhub::Side),
        (url, uaa_url): (String, String),
        (first, service): (Vec<Permission>, ClientSection),
        secrets: &mut Secrets,
    ) -> Self {
        let (client, client_access) = section.client.seeded(uaa_side, secrets);
        let (admin, admin_access) = section.admin_client.seeded(uaa_side, secrets);
        let (service, _) = service.seeded(uaa_side, secrets);
        let mut permissions = match &section.permissions {
            None => first,
            Some(configured) => {
                // Those of the platform's own clients stay; what others may do is as it is written.
                let own = first
                    .into_iter()
                    .filter(|permission| permission.actor != Actor::uaa_client(&section.client.id));
                own.chain(configured.iter().map(PermissionSection::permission))
                    .collect()
            }
        };
        permissions.push(everything(&Actor::uaa_client(&section.admin_client.id)));
        Self {
            clients: vec![client, admin, service],
            settings: CredHubSettings {
                side,
                uaa_url: uaa_url.clone(),
                version: section.version.clone(),
                acls: match section.acls {
                    AclsSection::Enforced => Acls::Enforced,
                    AclsSection::Disabled => Acls::Off,
                },
                permissions,
            },
            access: CredHubAccess {
                url,
                uaa_url,
                client: client_access,
                admin_client: admin_access,
            },
        }
    }

    pub(super) fn build(
        self,
        uaa: &Uaa,
        store: &Store,
    ) -> Result<(CredHub, CredHubAccess), StartError> {
        let credhub =
            CredHub::new(self.settings, uaa.verifier(), store).map_err(StartError::Store)?;
        let access = CredHubAccess {
            client: self.access.client.at(uaa),
            admin_client: self.access.admin_client.at(uaa),
            ..self.access
        };
        Ok((credhub, access))
    }
}

impl PermissionSection {
    fn permission(&self) -> Permission {
        Permission {
            path: self.path.clone().into(),
            actor: self.actor.clone().into(),
            operations: self.operations.clone(),
        }
    }
}

fn everything(actor: &Actor) -> Permission {
    permission("/*", actor, &ALL_OPERATIONS)
}

fn permission(path: &str, actor: &Actor, operations: &[Operation]) -> Permission {
    Permission {
        path: path.to_owned().into(),
        actor: actor.clone(),
        operations: operations.iter().copied().collect(),
    }
}

fn service_client(id: &str) -> ClientSection {
    ClientSection {
        id: id.to_owned(),
        secret: None,
        authorities: scopes(),
    }
}

/// The scopes for access; permissions decide the rest.
pub(super) fn scopes() -> BTreeSet<String> {
    SCOPES.iter().map(|scope| (*scope).to_owned()).collect()
}
