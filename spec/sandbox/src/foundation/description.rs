//! `foundation.json`: everything that a client of a foundation needs to know.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Everything that a client needs. Serialised it holds secrets.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The loopback net.
    pub net: String,
    /// Where the control API is.
    pub control: String,
    /// The file with the certificate of the authority that all servers have theirs from.
    pub ca_certificate: PathBuf,
    /// The Director and how to get in.
    pub director: DirectorAccess,
    /// The Cloud Controller and how to get in.
    pub cloud_controller: CloudControllerAccess,
    /// The address left free for the broker under test.
    pub broker_address: String,
}

/// The Director and how to get in.
#[derive(Clone, Debug, Serialize)]
pub struct DirectorAccess {
    /// Where it is.
    pub url: String,
    /// Where its tokens are to be had.
    pub uaa_url: String,
    /// The client that a broker works with.
    pub team_client: ClientAccess,
    /// A client that may do everything.
    pub admin_client: ClientAccess,
}

/// The Cloud Controller and how to get in.
#[derive(Clone, Debug, Serialize)]
pub struct CloudControllerAccess {
    /// Where it is.
    pub url: String,
    /// Where its tokens are to be had.
    pub uaa_url: String,
    /// The client that a broker works with.
    pub broker_client: ClientAccess,
    /// A user who may do everything.
    pub admin_user: UserAccess,
    /// A user who orders services.
    pub user: UserAccess,
    /// The organization that the user works in.
    pub organization: Place,
    /// The space that the user works in.
    pub space: Place,
}

/// A client and its secret.
#[derive(Clone, Debug, Serialize)]
pub struct ClientAccess {
    /// The id.
    pub id: String,
    /// The secret.
    #[serde(serialize_with = "exposed")]
    pub secret: SecretString,
}

/// A user and the password.
#[derive(Clone, Debug, Serialize)]
pub struct UserAccess {
    /// The name.
    pub name: String,
    /// The password.
    #[serde(serialize_with = "exposed")]
    pub password: SecretString,
}

/// An organization or a space.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// The name.
    pub name: String,
    /// The guid.
    pub guid: String,
}

impl Description {
    /// The same without secrets.
    pub fn without_secrets(&self) -> Value {
        let mut public = json!(self);
        for pointer in [
            "/director/team_client",
            "/director/admin_client",
            "/cloud_controller/broker_client",
        ] {
            hide(&mut public, pointer, "secret");
        }
        for pointer in ["/cloud_controller/admin_user", "/cloud_controller/user"] {
            hide(&mut public, pointer, "password");
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
    fn what_the_control_api_tells_holds_no_secret() {
        let client = |id: &str| ClientAccess {
            id: id.into(),
            secret: "s3cr3t".into(),
        };
        let user = |name: &str| UserAccess {
            name: name.into(),
            password: "s3cr3t".into(),
        };
        let place = || Place {
            name: "place".into(),
            guid: "guid".into(),
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
            },
            cloud_controller: CloudControllerAccess {
                url: String::new(),
                uaa_url: String::new(),
                broker_client: client("odb"),
                admin_user: user("admin"),
                user: user("developer"),
                organization: place(),
                space: place(),
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
