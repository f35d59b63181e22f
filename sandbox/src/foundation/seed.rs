//! The clients and users of a new foundation.

use std::collections::BTreeSet;

use secrecy::SecretString;
use uuid::Uuid;

use super::{
    description::{ClientAccess, UserAccess},
    identity::Secrets,
    settings::{ClientSection, DirectorSection, TokenLivesSection, UserSection},
};
use crate::{
    fleet::FleetPattern,
    uaa::{Client, DEFAULT_GROUPS, Grant, TokenLives, Uaa, User},
};

/// The scopes of the cf command line's public client, as on a foundation of cf-deployment.
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

/// Which of the foundation's two UAAs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Bosh,
    Cf,
}

impl DirectorSection {
    pub(super) fn fleet_pattern(&self) -> FleetPattern {
        let authorities = &self.team_client.authorities;
        let team = authorities.iter().find_map(|authority| {
            let team = authority.strip_prefix("bosh.teams.")?;
            team.strip_suffix(".admin")
        });
        FleetPattern {
            releases: self.releases.clone(),
            stemcells: self.stemcells.clone(),
            cloud_config: self.cloud_config.clone(),
            team: team.map(str::to_owned),
        }
    }
}

impl ClientSection {
    pub(super) fn seeded(&self, side: Side, secrets: &mut Secrets) -> (Client, ClientAccess) {
        let whose = format!("{} client {}", side.name(), self.id);
        let secret = secrets.of(whose, self.secret.as_ref());
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
    pub(super) fn seeded(&self, side: Side, secrets: &mut Secrets) -> (User, UserAccess) {
        let whose = format!("{} user {}", side.name(), self.name);
        let password = secrets.of(whose, self.password.as_ref());
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

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Bosh => "bosh",
            Self::Cf => "cf",
        }
    }
}

impl ClientAccess {
    /// The same with the secret that the client has by now: a UAA that was used before keeps its own.
    pub(super) fn at(self, uaa: &Uaa) -> Self {
        let secret = uaa.client_secret(&self.id).unwrap_or(self.secret);
        Self { secret, ..self }
    }
}

impl UserAccess {
    /// The same with the password that the user has by now.
    pub(super) fn at(self, uaa: &Uaa) -> Self {
        let password = uaa.user_password(&self.name).unwrap_or(self.password);
        Self { password, ..self }
    }
}

impl From<TokenLivesSection> for TokenLives {
    fn from(TokenLivesSection { access, refresh }: TokenLivesSection) -> Self {
        Self { access, refresh }
    }
}

/// The client of the cf command line, which is public and has no secret.
pub(super) fn cf_client() -> Client {
    Client {
        id: "cf".to_owned(),
        secret: SecretString::default(),
        grants: BTreeSet::from([Grant::Password, Grant::RefreshToken, Grant::JwtBearer]),
        scopes: texts(&CF_SCOPES),
        authorities: texts(&["uaa.none"]),
    }
}

fn texts(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}
