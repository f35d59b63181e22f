//! The addresses and credentials of a running sandbox, for the manifests of a real site.

use serde_json::{Value, json};
use url::Url;

use super::Link;
use crate::Foundation;

/// Properties of the job `broker` that make it work on a foundation, on the address and with the certificate that the
/// foundation has for a broker.
pub fn broker_properties(foundation: &Foundation) -> Value {
    let known = foundation.description();
    let (director, controller) = (&known.director, &known.cloud_controller);
    let authority = foundation.authority();
    let of_the_broker = |name| {
        let file = foundation.state().join(name);
        std::fs::read_to_string(file).expect("the sandbox has written it")
    };
    json!({
        "bind_address": known.broker_address,
        "port": crate::broker_configuration::PORT,
        "tls": {
            "certificate": of_the_broker("broker.crt"),
            "private_key": of_the_broker("broker.key"),
        },
        "bosh": {
            "url": director.url,
            "root_ca_cert": authority,
            "authentication": {
                "basic": null,
                "uaa": {
                    "client_id": director.team_client.id,
                    "client_secret": director.team_client.secret,
                },
            },
        },
        "cf": {
            "url": controller.url,
            "root_ca_cert": authority,
            "uaa": {
                "url": controller.uaa_url,
                "authentication": {
                    "user_credentials": null,
                    "client_credentials": {
                        "client_id": controller.broker_client.id,
                        "client_secret": controller.broker_client.secret,
                    },
                },
            },
        },
    })
}

/// Properties that have the broker keep secrets in the Director's CredHub.
pub fn secure_manifests(foundation: &Foundation) -> Value {
    let credhub = &foundation.description().director.credhub;
    let client = json!({
        "client_id": credhub.client.id,
        "client_secret": credhub.client.secret,
    });
    json!({
        "enable_secure_manifests": true,
        "bosh_credhub_api": {
            "url": credhub.url,
            "root_ca_cert": foundation.authority(),
            "authentication": { "uaa": { "client_credentials": client } },
        },
    })
}

/// Properties that make the broker store the credentials of bindings in the CredHub of applications; [`credhub_link`]
/// has its address.
pub fn secure_bindings(foundation: &Foundation) -> Value {
    let credhub = &foundation.description().cloud_controller.credhub;
    let client = json!({
        "client_id": credhub.client.id,
        "client_secret": credhub.client.secret,
        "ca_cert": foundation.authority(),
    });
    json!({ "secure_binding_credentials": { "enabled": true, "authentication": { "uaa": client } } })
}

/// The link `credhub` that the deployment of a Cloud Foundry shares.
pub fn credhub_link(foundation: &Foundation) -> Link {
    let url = &foundation.description().cloud_controller.credhub.url;
    let url = Url::parse(url).expect("the sandbox describes its CredHubs");
    Link::with_properties(&json!({
        "credhub": {
            "internal_url": url.host_str(),
            "port": url.port(),
            "ca_certificate": foundation.authority(),
        },
    }))
}

/// Lays a document over another one, member by member; null takes away.
pub fn overlay(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                if value.is_null() {
                    below.shift_remove(name);
                } else {
                    overlay(below.entry(name.as_str()).or_insert(Value::Null), value);
                }
            }
        }
        (below, above) => *below = above.clone(),
    }
}
