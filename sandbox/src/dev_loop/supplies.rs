//! The sandbox's own values in every `broker.yml`: the broker's address, and its upstreams.
//!
//! The configuration of the operator's errands for this broker: an author who has changed the adapter upgrades with it
//! (`spec/contracts/errands.md`).

use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::composition::{Precedence, Supply};
use crate::foundation::{ClientAccess, Description};

/// Where the broker is reached, on the address that the foundation leaves free for it.
pub(super) const PORT: u16 = 8080;

/// Where it listens, behind the gate.
pub(super) const PORT_BEHIND: u16 = 8081;

pub(super) const USERNAME: &str = "broker";

/// How long requests in progress may take when the broker is to end, in seconds.
pub(super) const SHUTDOWN_TIMEOUT: u64 = 10;

/// Sections of a `broker.yml` for another platform than this one.
pub(super) const LEFT_OUT: [&str; 1] = ["service_instances_api"];

pub(super) struct Dependencies<'a> {
    pub(super) description: &'a Description,
    /// The certificate of the authority, in PEM.
    pub(super) authority: &'a str,
    /// The state folder, in which the broker's certificate is.
    pub(super) state: &'a Path,
    pub(super) password: &'a SecretString,
    pub(super) adapter: &'a Path,
}

impl Dependencies<'_> {
    /// All values (`spec/contracts/config-and-release.md` §1.2). The CredHub of applications is among them only where
    /// the author has the section `credhub`, even an empty one: with it bindings hold no credentials any more.
    pub(super) fn supplies(&self, author_has_credhub: bool) -> Vec<Supply> {
        let mut supplies = self.of_the_broker();
        supplies.extend(self.upstreams());
        if author_has_credhub {
            supplies.extend(self.runtime_credhub());
        }
        supplies.push(own(
            &["service_adapter", "path"],
            self.adapter.display().to_string().into(),
        ));
        supplies
    }

    fn of_the_broker(&self) -> Vec<Supply> {
        let file = |name| self.state.join(name).display().to_string();
        let tls = json!({"cert_file": file("broker.crt"), "key_file": file("broker.key")});
        let address = self.description.broker_address.as_str();
        let password = self.password.expose_secret();
        vec![
            own(&["broker", "bind_address"], address.into()),
            own(&["broker", "port"], PORT_BEHIND.into()),
            own(&["broker", "username"], USERNAME.into()),
            own(&["broker", "password"], password.into()),
            own(&["broker", "tls"], tls),
            unless_given(
                &["broker", "shutdown_timeout_in_seconds"],
                SHUTDOWN_TIMEOUT.into(),
            ),
        ]
    }

    fn upstreams(&self) -> Vec<Supply> {
        let (director, controller) = (
            &self.description.director,
            &self.description.cloud_controller,
        );
        let mut supplies = vec![
            own(&["bosh", "url"], director.url.as_str().into()),
            own(&["bosh", "root_ca_cert"], self.authority.into()),
            own(
                &["bosh", "authentication"],
                uaa_authentication(&director.team_client),
            ),
            own(&["cf", "url"], controller.url.as_str().into()),
            own(&["cf", "root_ca_cert"], self.authority.into()),
            own(&["cf", "uaa", "url"], controller.uaa_url.as_str().into()),
            own(
                &["cf", "uaa", "authentication"],
                credentials(&controller.broker_client),
            ),
        ];
        if let Some(credhub) = &director.credhub {
            supplies.extend([
                own(&["bosh_credhub", "url"], credhub.url.as_str().into()),
                own(&["bosh_credhub", "root_ca_cert"], self.authority.into()),
                own(
                    &["bosh_credhub", "authentication"],
                    uaa_authentication(&credhub.client),
                ),
            ]);
        }
        supplies
    }

    fn runtime_credhub(&self) -> Vec<Supply> {
        let credhub = &self.description.cloud_controller.credhub;
        let secret = credhub.client.secret.expose_secret();
        vec![
            own(&["credhub", "api_url"], credhub.url.as_str().into()),
            own(&["credhub", "client_id"], credhub.client.id.as_str().into()),
            own(&["credhub", "client_secret"], secret.into()),
            own(&["credhub", "ca_cert"], self.authority.into()),
            own(&["credhub", "internal_uaa_ca_cert"], self.authority.into()),
        ]
    }
}

fn own(path: &'static [&'static str], value: Value) -> Supply {
    Supply {
        path,
        value,
        precedence: Precedence::Sandbox,
    }
}

fn unless_given(path: &'static [&'static str], value: Value) -> Supply {
    Supply {
        path,
        value,
        precedence: Precedence::Author,
    }
}

fn uaa_authentication(client: &ClientAccess) -> Value {
    json!({"uaa": credentials(client)})
}

fn credentials(client: &ClientAccess) -> Value {
    json!({"client_credentials": {
        "client_id": client.id,
        "client_secret": client.secret.expose_secret(),
    }})
}

/// One file for every errand, out of what the broker reads. The address is the one that others reach the broker at.
pub(super) fn configuration(broker: &Value, name: &str, url: &str) -> Value {
    let credentials = &broker["broker"];
    let (username, password) = (&credentials["username"], &credentials["password"]);
    let offering = &broker["service_catalog"]["id"];
    // Nothing is asked of the Cloud Controller here that would need the other keys.
    let platform: Map<String, Value> = ["url", "root_ca_cert", "uaa"]
        .into_iter()
        .map(|key| (key.to_owned(), broker["cf"][key].clone()))
        .collect();
    json!({
        "broker_api": {
            "url": url,
            "authentication": { "basic": { "username": username, "password": password } },
            "tls": { "ca_cert": broker["cf"]["root_ca_cert"] },
        },
        "cf": platform,
        "broker_name": name,
        "broker_url": url,
        "broker_username": username,
        "broker_password": password,
        "service_offering_id": offering,
        "plans": plans(&broker["service_catalog"]["plans"]),
        "service_catalog": { "id": offering },
        "polling_interval": 1,
        "max_in_flight": 2,
        "attempt_interval": 10,
        "attempt_limit": 5,
        "request_timeout": 60,
        "canaries": 1,
        "maintenance_info_present": false,
    })
}

fn plans(plans: &Value) -> Vec<Value> {
    let each = plans.as_array().into_iter().flatten();
    each.map(|plan| {
        let access = plan["cf_service_access"].as_str().unwrap_or("enable");
        json!({ "name": plan["name"], "cf_service_access": access })
    })
    .collect()
}
