//! The UAA, the CredHub and the organizations of a test's Cloud Controller.

use std::time::Duration;

use odb_sandbox::{
    cloud_controller::{OrganizationSettings, SpaceSettings},
    credhub::{self, ALL_OPERATIONS, Acls, Actor, CredHub, CredHubSettings, Permission},
    store::Store,
    uaa::{Client, Grant, TokenLives, Uaa, UaaRole, UaaSettings, User},
};

fn client(
    id: &str,
    secret: &str,
    grants: &[Grant],
    scopes: &[&str],
    authorities: &[&str],
) -> Client {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Client {
        id: id.into(),
        secret: secret.into(),
        grants: grants.iter().copied().collect(),
        scopes: texts(scopes),
        authorities: texts(authorities),
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    User {
        id: uuid::Uuid::new_v4(),
        name: name.into(),
        password: "password".into(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    }
}

/// A user for tests of one role.
fn role_user(role: &str) -> User {
    let name = format!("{role}-user");
    user(&name, &["cloud_controller.read", "cloud_controller.write"])
}

pub(crate) fn uaa(url: &str) -> Uaa {
    odb_sandbox::rsa_keys::keep_in(concat!(env!("CARGO_TARGET_TMPDIR"), "/rsa-keys").into());
    let settings = UaaSettings {
        url: url.to_owned(),
        lives: TokenLives {
            access: Duration::from_mins(20),
            refresh: Duration::from_hours(1),
        },
        clients: vec![
            client(
                "odb",
                "s3cr%t+",
                &[Grant::ClientCredentials],
                &[],
                &["cloud_controller.admin"],
            ),
            client(
                "broker",
                "b",
                &[Grant::ClientCredentials],
                &[],
                &["credhub.read", "credhub.write"],
            ),
            client(
                "nobody",
                "n",
                &[Grant::ClientCredentials],
                &[],
                &["uaa.none"],
            ),
            client(
                "cf",
                "",
                &[Grant::Password, Grant::RefreshToken],
                &["cloud_controller.*", "openid", "scim.*"],
                &[],
            ),
        ],
        users: vec![
            user(
                "admin",
                &[
                    "cloud_controller.admin",
                    "cloud_controller.read",
                    "cloud_controller.write",
                    "scim.read",
                    "scim.write",
                ],
            ),
            user(
                "developer",
                &["cloud_controller.read", "cloud_controller.write", "openid"],
            ),
            user(
                "outsider",
                &["cloud_controller.read", "cloud_controller.write"],
            ),
            role_user("space_auditor"),
            role_user("space_manager"),
            role_user("space_supporter"),
            role_user("organization_manager"),
            role_user("organization_auditor"),
            role_user("organization_user"),
        ],
    };
    Uaa::new(settings, UaaRole::CloudFoundry, &Store::in_memory()).unwrap()
}

/// A CredHub in which only a broker has permissions.
pub(crate) fn credhub(uaa: &Uaa, uaa_url: &str) -> CredHub {
    let settings = CredHubSettings {
        side: credhub::Side::Runtime,
        uaa_url: uaa_url.to_owned(),
        version: credhub::VERSION,
        acls: Acls::Enforced,
        permissions: vec![Permission {
            path: "/*".to_owned().into(),
            actor: Actor::uaa_client("broker"),
            operations: ALL_OPERATIONS.into(),
        }],
    };
    CredHub::new(settings, uaa.verifier(), &Store::in_memory()).unwrap()
}

pub(crate) fn organization(name: &str, space: &str, developer: &str) -> OrganizationSettings {
    let space = SpaceSettings {
        name: space.into(),
        developers: [developer.to_owned()].into(),
        ..SpaceSettings::default()
    };
    OrganizationSettings {
        name: name.into(),
        spaces: vec![space],
        ..OrganizationSettings::default()
    }
}
