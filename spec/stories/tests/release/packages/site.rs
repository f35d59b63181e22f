//! The configuration of a broker whose secrets are files, as operators of these packages write it.

use std::{fs, path::Path};

use odb_stories::{Foundation, Platform, new_id};
use serde_json::{Value, json};

/// The files that a broker on a foundation needs.
pub(super) struct Site {
    /// `broker.yml`, without a secret.
    pub(super) configuration: String,
    /// By the name of the file.
    pub(super) secrets: Vec<(&'static str, String)>,
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) platform: Platform,
}

/// With the secrets in files of one folder, and `tls.crt` and `tls.key` in another. The adapter is that of the packages.
pub(super) fn site(foundation: &Foundation, secrets_folder: &str, tls_folder: &str) -> Site {
    let written = foundation
        .broker()
        .with(
            "/service_adapter/path",
            "/usr/lib/on-demand-broker/redis-service-adapter".into(),
        )
        .with(
            "/broker/tls",
            json!({
                "cert_file": format!("{tls_folder}/tls.crt"),
                "key_file": format!("{tls_folder}/tls.key"),
            }),
        )
        .write("plain.yml");
    let text = fs::read_to_string(written).expect("it was written");
    let mut document: Value = serde_json::from_str(&text).expect("JSON was written");
    document["broker"]["password"] = new_id().into();
    let mut secrets = Vec::new();
    for (pointer, key, file) in [
        ("/broker", "password", "broker-password"),
        (
            "/bosh/authentication/uaa/client_credentials",
            "client_secret",
            "director-client-secret",
        ),
        (
            "/cf/uaa/authentication/client_credentials",
            "client_secret",
            "cf-client-secret",
        ),
    ] {
        let section = document.pointer_mut(pointer).expect("the manifest has it");
        let section = section.as_object_mut().expect("it is a section");
        let secret = section.remove(key).expect("the manifest has it");
        section.insert(
            format!("{key}_file"),
            format!("{secrets_folder}/{file}").into(),
        );
        secrets.push((file, secret.as_str().expect("it is a text").to_owned()));
    }
    let (address, port) = foundation.broker_address();
    let (_, password) = &secrets[0];
    let platform = foundation.platform(&format!("https://{address}:{port}"), "broker", password);
    Site {
        configuration: format!("{document:#}"),
        secrets,
        certificate: certificate(foundation, "broker.crt"),
        key: certificate(foundation, "broker.key"),
        platform,
    }
}

fn certificate(foundation: &Foundation, name: &str) -> String {
    let path = Path::new("foundation").join(name);
    fs::read_to_string(foundation.folder().join(path)).expect("the sandbox has written it")
}
