//! Certificates: chains, and what they say.

use serde_json::{Value, json};
use x509_parser::{extensions::GeneralName, pem::parse_x509_pem};

use crate::{
    client::{Api, members},
    foundation::Platform,
};

async fn admin() -> (Platform, Api) {
    let platform = Platform::start().await;
    let admin = platform.admin(&platform.bosh()).await;
    (platform, admin)
}

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
    let (_platform, api) = admin().await;
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
    let (_platform, api) = admin().await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_below_an_authority_is_regenerated_with_it() {
    let (_platform, api) = admin().await;
    root(&api, "/root").await;
    api.generate(
        "/middle",
        "certificate",
        json!({"is_ca": true, "ca": "/root", "common_name": "middle"}),
    )
    .await;
    leaf(&api, "/a", "/middle").await;
    leaf(&api, "/b", "/root").await;
    let body = json!({"signed_by": "/root"});
    let done = api.post("/api/v1/bulk-regenerate", &body).await.ok();
    assert_eq!(
        done,
        json!({"regenerated_credentials": ["/a", "/b", "/middle"]})
    );

    let current = async |name: &str| {
        let found = api
            .get(&format!("/api/v1/data?current=true&name={name}"))
            .await
            .ok();
        found["data"][0]["value"].clone()
    };
    assert_eq!(
        current("/a").await["ca"],
        current("/middle").await["certificate"]
    );
    assert_eq!(
        api.post("/api/v1/bulk-regenerate", &json!({})).await.status,
        400
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_was_made_elsewhere_must_fit_together() {
    let (_platform, api) = admin().await;
    let (root, other) = (root(&api, "/root").await, root(&api, "/other").await);
    let made = leaf(&api, "/leaf", "/root").await["value"].clone();
    let unauthenticated_client = leaf(&api, "/outsider", "/other").await["value"].clone();
    let set = async |value: Value| {
        let body = json!({"name": "/set", "type": "certificate", "value": value});
        api.put("/api/v1/data", &body).await
    };

    let whole = set(made.clone()).await.ok();
    assert_eq!(
        (&whole["value"], &whole["generated"]),
        (&made, &json!(false))
    );
    let (certificate, key) = (&made["certificate"], &made["private_key"]);
    let by_name = set(json!({"certificate": certificate, "private_key": key, "ca_name": "/root"}))
        .await
        .ok();
    assert_eq!(by_name["value"]["ca"], root["value"]["certificate"]);
    let cases = [
        (
            json!({"certificate": certificate, "private_key": unauthenticated_client["private_key"]}),
            "does not match the private key",
        ),
        (
            json!({"certificate": certificate, "private_key": "nonsense"}),
            "Private key is malformed",
        ),
        (
            json!({"certificate": certificate, "ca": other["value"]["certificate"]}),
            "not signed by the CA specified in the 'ca' property",
        ),
        (
            json!({"certificate": certificate, "ca": unauthenticated_client["certificate"]}),
            "not a valid X509 certificate authority",
        ),
        (
            json!({"certificate": certificate, "ca_name": "/other"}),
            "not signed by the CA specified in the 'ca_name' property",
        ),
        (
            json!({"certificate": certificate, "ca_name": "/root", "ca": root["value"]["certificate"]}),
            "Only one of the values",
        ),
        (
            json!({"private_key": key}),
            "You must provide a certificate",
        ),
    ];
    for (value, text) in cases {
        let (status, error) = set(value).await.rejection();
        assert_eq!(status, 400, "{error}");
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_that_end_soon_are_found() {
    let (_platform, api) = admin().await;
    api.generate(
        "/p/soon",
        "certificate",
        json!({"self_sign": true, "common_name": "a", "duration": 10}),
    )
    .await;
    api.generate(
        "/p/later",
        "certificate",
        json!({"self_sign": true, "common_name": "b", "duration": 100}),
    )
    .await;
    api.set("/p/value", "value", json!("v")).await;
    let found = api
        .get("/api/v1/data?path=/p&expires-within-days=30")
        .await
        .ok();
    assert_eq!(found["credentials"].as_array().unwrap().len(), 1);
    assert_eq!(
        members(&found["credentials"][0]),
        ["version_created_at", "name", "expiry_date"]
    );
    assert_eq!(found["credentials"][0]["name"], "/p/soon");
}
