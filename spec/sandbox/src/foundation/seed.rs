//! Who may get into a new foundation.

use std::collections::BTreeSet;

use rand::{RngExt, distr::Alphanumeric};
use secrecy::SecretString;
use uuid::Uuid;

use super::{
    description::{ClientAccess, UserAccess},
    settings::{ClientSection, TokenLivesSection, UserSection},
};
use crate::uaa::{Client, Grant, TokenLives, User};

const SECRET_LENGTH: usize = 32;

/// What the public client of the cf command line may do for a user, as on a foundation of cf-deployment.
const CF_SCOPES: [&str; 17] = [
    "network.admin",
    "network.write",
    "cloud_controller.read",
    "cloud_controller.write",
    "cloud_controller.admin",
    "cloud_controller.admin_read_only",
    "cloud_controller.global_auditor",
    "openid",
    "password.write",
    "scim.read",
    "scim.write",
    "uaa.user",
    "doppler.firehose",
    "routing.router_groups.read",
    "routing.router_groups.write",
    "perm.admin",
    "clients.read",
];

/// What every user may do.
const DEFAULT_GROUPS: [&str; 13] = [
    "openid",
    "scim.me",
    "scim.userids",
    "cloud_controller.read",
    "cloud_controller.write",
    "cloud_controller_service_permissions.read",
    "password.write",
    "uaa.user",
    "approvals.me",
    "oauth.approvals",
    "profile",
    "roles",
    "user_attributes",
];

impl ClientSection {
    /// The client, and how it gets in.
    pub(super) fn seeded(&self) -> (Client, ClientAccess) {
        let secret = self.secret.clone().unwrap_or_else(random_secret);
        let client = Client {
            id: self.id.clone(),
            secret: secret.clone(),
            grants: BTreeSet::from([Grant::ClientCredentials]),
            scopes: texts(&["uaa.none"]),
            authorities: self.authorities.clone(),
        };
        (
            client,
            ClientAccess {
                id: self.id.clone(),
                secret,
            },
        )
    }
}

impl UserSection {
    /// The user, and how they get in.
    pub(super) fn seeded(&self) -> (User, UserAccess) {
        let password = self.password.clone().unwrap_or_else(random_secret);
        let user = User {
            id: Uuid::new_v4(),
            name: self.name.clone(),
            password: password.clone(),
            groups: &texts(&DEFAULT_GROUPS) | &self.groups,
        };
        (
            user,
            UserAccess {
                name: self.name.clone(),
                password,
            },
        )
    }
}

impl From<TokenLivesSection> for TokenLives {
    fn from(TokenLivesSection { access, refresh }: TokenLivesSection) -> Self {
        Self { access, refresh }
    }
}

/// The client of the cf command line, which everybody has and which therefore has no secret.
pub(super) fn cf_client() -> Client {
    Client {
        id: "cf".to_owned(),
        secret: SecretString::default(),
        grants: BTreeSet::from([Grant::Password, Grant::RefreshToken]),
        scopes: texts(&CF_SCOPES),
        authorities: texts(&["uaa.none"]),
    }
}

fn texts(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// Letters and digits only, so that a secret can be pasted anywhere.
fn random_secret() -> SecretString {
    let letters = rand::rng().sample_iter(Alphanumeric).take(SECRET_LENGTH);
    letters.map(char::from).collect::<String>().into()
}
