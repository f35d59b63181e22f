//! `foundation.json`: everything that a client of a foundation needs to know.

use std::{
    io,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::director::LocalUser;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    pub net: String,
    pub control: String,
    /// The file with the certificate of the authority that all servers have theirs from.
    pub ca_certificate: PathBuf,
    pub director: DirectorAccess,
    pub cloud_controller: CloudControllerAccess,
    pub broker_address: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DirectorAccess {
    pub url: String,
    pub uaa_url: String,
    pub team_client: ClientAccess,
    pub admin_client: ClientAccess,
    /// The users of a Director that knows them itself. Such a Director refuses the tokens of the two clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_users: Vec<UserAccess>,
    /// Its CredHub, unless it has none.
    pub credhub: Option<CredHubAccess>,
}

/// A CredHub and how to get in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CredHubAccess {
    pub url: String,
    pub uaa_url: String,
    pub client: ClientAccess,
    pub admin_client: ClientAccess,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CloudControllerAccess {
    pub url: String,
    pub uaa_url: String,
    pub broker_client: ClientAccess,
    pub admin_user: UserAccess,
    /// A user who orders services.
    pub user: UserAccess,
    pub organization: Location,
    pub space: Location,
    pub credhub: CredHubAccess,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientAccess {
    pub id: String,
    #[serde(serialize_with = "exposed")]
    pub secret: SecretString,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserAccess {
    pub name: String,
    #[serde(serialize_with = "exposed")]
    pub password: SecretString,
}

impl UserAccess {
    /// How a user whom the Director knows itself gets in.
    pub(super) fn of(user: &LocalUser) -> Self {
        Self {
            name: user.name.clone(),
            password: user.password.clone(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Location {
    pub name: String,
    pub guid: String,
}

/// Why a `foundation.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    #[error("could not read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not the description of a foundation", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

impl Description {
    /// Reads a `foundation.json`.
    pub fn read(path: &Path) -> Result<Self, DescriptionError> {
        let path = path.to_owned();
        match std::fs::read(&path) {
            Err(source) => Err(DescriptionError::Read { path, source }),
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|source| DescriptionError::Parse { path, source }),
        }
    }

    /// The same without secrets.
    pub fn without_secrets(&self) -> Value {
        let mut public = json!(self);
        for pointer in [
            "/director/team_client",
            "/director/admin_client",
            "/director/credhub/client",
            "/director/credhub/admin_client",
            "/cloud_controller/broker_client",
            "/cloud_controller/credhub/client",
            "/cloud_controller/credhub/admin_client",
        ] {
            hide(&mut public, pointer, "secret");
        }
        for pointer in ["/cloud_controller/admin_user", "/cloud_controller/user"] {
            hide(&mut public, pointer, "password");
        }
        for number in 0..self.director.local_users.len() {
            let pointer = format!("/director/local_users/{number}");
            hide(&mut public, &pointer, "password");
        }
        public
    }
}

fn hide(value: &mut Value, pointer: &str, member: &str) {
    if let Some(object) = value.pointer_mut(pointer).and_then(Value::as_object_mut) {
        object.shift_remove(member);
    }
}

/// The file is for the owner alone, and its purpose is to hand these secrets over.
fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_control_api_reports_holds_no_secret() {
        let client = |id: &str| ClientAccess {
            id: id.into(),
            secret: "s3cr3t".into(),
        };
        let user = |name: &str| UserAccess {
            name: name.into(),
            password: "s3cr3t".into(),
        };
        let location = || Location {
            name: "place".into(),
            guid: "guid".into(),
        };
        let credhub = || CredHubAccess {
            url: String::new(),
            uaa_url: String::new(),
            client: client("odb-credhub"),
            admin_client: client("credhub-admin"),
        };
        let description = Description {
            net: "127.80.3.0".into(),
            control: String::new(),
            ca_certificate: PathBuf::new(),
            director: DirectorAccess {
                url: String::new(),
                uaa_url: String::new(),
                team_client: client("odb"),
                admin_client: client("admin"),
                local_users: vec![user("operator"), user("broker")],
                credhub: Some(credhub()),
            },
            cloud_controller: CloudControllerAccess {
                url: String::new(),
                uaa_url: String::new(),
                broker_client: client("odb"),
                admin_user: user("admin"),
                user: user("developer"),
                organization: location(),
                space: location(),
                credhub: credhub(),
            },
            broker_address: String::new(),
        };

        assert!(
            json!(description).to_string().contains("s3cr3t"),
            "clients need the secrets"
        );
        let public = description.without_secrets().to_string();
        assert!(!public.contains("s3cr3t"), "{public}");
        assert!(!format!("{description:?}").contains("s3cr3t"));
    }
}
