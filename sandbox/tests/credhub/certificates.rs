//! Certificates: chains, and what they say.

use serde_json::{Value, json};
use x509_parser::{extensions::GeneralName, pem::parse_x509_pem};

use crate::{
    client::{Api, members},
    foundation::Platform,
};

async fn root(api: &Api, name: &str) -> Value {
    api.generate(
        name,
        "certificate",
        json!({"is_ca": true, "common_name": name}),
    )
    .await
}

async fn leaf(api: &Api, name: &str, ca: &str) -> Value {
    api.generate(name, "certificate", json!({"ca": ca, "common_name": name}))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_what_was_asked_for_and_signed_by_its_authority() {
    let (_platform, api) = Platform::with_admin().await;
    let root = root(&api, "/root").await;
    let middle = api
        .generate(
            "/middle",
            "certificate",
            json!({"is_ca": true, "ca": "/root", "common_name": "middle"}),
        )
        .await;
    let leaf = api.generate("/leaf", "certificate", json!({
        "ca": "/middle", "common_name": "redis", "organization": "acme", "duration": 30,
        "alternative_names": ["127.0.0.5", "*.redis.internal"],
        "extended_key_usage": ["server_auth", "client_auth"], "key_usage": ["digital_signature"],
    })).await;

    assert_eq!(root["value"]["ca"], root["value"]["certificate"]);
    assert_eq!(middle["value"]["ca"], root["value"]["certificate"]);
    assert_eq!(leaf["value"]["ca"], middle["value"]["certificate"]);
    assert_eq!(
        members(&leaf),
        [
            "type",
            "expiry_date",
            "certificate_authority",
            "self_signed",
            "generated",
            "duration_overridden",
            "duration_used",
            "transitional",
            "version_created_at",
            "id",
            "name",
            "metadata",
            "value",
        ]
    );
    assert_eq!(
        members(&leaf["value"]),
        ["ca", "certificate", "private_key"]
    );
    let flags = |made: &Value| {
        (
            made["certificate_authority"].clone(),
            made["self_signed"].clone(),
        )
    };
    assert_eq!(flags(&root), (json!(true), json!(true)));
    assert_eq!(flags(&middle), (json!(true), json!(false)));
    assert_eq!(flags(&leaf), (json!(false), json!(false)));
    assert_eq!(
        (&leaf["duration_used"], &leaf["transitional"]),
        (&json!(30), &json!(false))
    );

    let pem = leaf["value"]["certificate"].as_str().unwrap();
    let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
    let read = pem.parse_x509().unwrap();
    assert_eq!(read.issuer().to_string(), "CN=middle");
    let names = &read
        .subject_alternative_name()
        .unwrap()
        .unwrap()
        .value
        .general_names;
    assert_eq!(
        names.as_slice(),
        [
            GeneralName::IPAddress(&[127, 0, 0, 5]),
            GeneralName::DNSName("*.redis.internal"),
        ]
    );
    let usage = read.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && usage.client_auth && !usage.code_signing);
    assert!(read.validity().is_valid());

    let shown = api.get("/api/v1/data?name=/leaf").await.ok();
    assert!(
        shown["data"][0].get("duration_used").is_none(),
        "that is for who made it"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_converges_with_its_authority() {
    let (_platform, api) = Platform::with_admin().await;
    root(&api, "/root").await;
    let first = leaf(&api, "/leaf", "/root").await;
    assert_eq!(leaf(&api, "/leaf", "/root").await["id"], first["id"]);
    let longer = json!({"ca": "/root", "common_name": "/leaf", "duration": 400});
    let same = api.generate("/leaf", "certificate", longer).await;
    assert_eq!(
        same["id"], first["id"],
        "another duration alone is no reason"
    );

    let root = api
        .post(
            "/api/v1/data",
            &json!({"name": "/root", "regenerate": true}),
        )
        .await
        .ok();
    let second = leaf(&api, "/leaf", "/root").await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["value"]["ca"], root["value"]["certificate"]);
    let named = json!({"ca": "/root", "common_name": "/leaf", "alternative_names": ["a"]});
    let third = api.generate("/leaf", "certificate", named).await;
    assert_ne!(third["id"], second["id"]);
}
