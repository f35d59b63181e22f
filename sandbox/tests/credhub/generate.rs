//! Generate and regenerate.

use serde_json::{Value, json};

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_stays_or_changes_as_the_mode_says() {
    let (_platform, api) = Platform::with_admin().await;
    let ask = async |more: Value| {
        let mut body = json!({"name": "/pw", "type": "password", "parameters": {"length": 20}});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        api.post("/api/v1/data", &body).await.ok()
    };
    let first = ask(json!({})).await;
    assert_eq!(first["value"].as_str().unwrap().len(), 20);
    for keeping in [
        json!({}),
        json!({"mode": "converge"}),
        json!({"mode": "no-overwrite"}),
        json!({"overwrite": false}),
    ] {
        assert_eq!(ask(keeping.clone()).await, first, "{keeping}");
    }
    let other = json!({"parameters": {"length": 21}});
    let kept = json!({"parameters": {"length": 21}, "mode": "no-overwrite"});
    assert_eq!(ask(kept).await["id"], first["id"]);
    let converged = ask(other).await;
    assert_eq!(converged["value"].as_str().unwrap().len(), 21);
    let mut last = converged;
    for replacing in [json!({"mode": "overwrite"}), json!({"overwrite": true})] {
        let next = ask(replacing).await;
        assert_ne!(next["value"], last["value"]);
        last = next;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_is_generated_and_regenerated_with_its_parameters() {
    let (_platform, api) = Platform::with_admin().await;
    let user = api
        .generate("/user", "user", json!({"username": "odb", "length": 12}))
        .await;
    assert_eq!(user["value"]["username"], "odb");
    assert_eq!(user["value"]["password"].as_str().unwrap().len(), 12);
    let rsa = api.generate("/rsa", "rsa", json!({})).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(text(&rsa["value"]["public_key"]).starts_with("-----BEGIN PUBLIC KEY-----\n"));
    assert!(text(&rsa["value"]["private_key"]).starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
    let ssh = api
        .generate("/ssh", "ssh", json!({"ssh_comment": "me@here"}))
        .await;
    let public = text(&ssh["value"]["public_key"]);
    assert!(
        public.starts_with("ssh-rsa AAAA") && public.ends_with(" me@here"),
        "{public}"
    );
    assert_eq!(text(&ssh["value"]["public_key_fingerprint"]).len(), 43);

    for made in [&user, &rsa, &ssh] {
        let body = json!({"name": made["name"], "regenerate": true});
        let again = api.post("/api/v1/data", &body).await.ok();
        assert_ne!(again["value"], made["value"]);
        assert_eq!(
            (&again["name"], &again["type"]),
            (&made["name"], &made["type"])
        );
    }
    let again = api
        .post("/api/v1/regenerate", &json!({"name": "/user"}))
        .await
        .ok();
    assert_eq!(again["value"]["username"], "odb");
    assert_eq!(again["value"]["password"].as_str().unwrap().len(), 12);
    let ssh_again = api.get("/api/v1/data?name=/ssh&current=true").await.ok();
    assert!(text(&ssh_again["data"][0]["value"]["public_key"]).ends_with(" me@here"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "a table, one row per rejection")]
async fn what_cannot_be_generated_is_refused_with_its_reason() {
    let (_platform, api) = Platform::with_admin().await;
    for (name, kind, value) in [
        ("/set/password", "password", json!("p")),
        ("/set/value", "value", json!("v")),
    ] {
        api.set(name, kind, value).await;
    }
    let cases = [
        (
            json!({"name": "/a", "type": "dragon"}),
            400,
            "Valid values for generate",
        ),
        (
            json!({"name": "/a", "type": "value"}),
            400,
            "cannot be generated",
        ),
        (
            json!({"name": "/a", "type": "password", "mode": "sometimes"}),
            400,
            "valid mode",
        ),
        (
            json!({"name": "/a", "type": "password", "mode": "converge", "overwrite": true}),
            400,
            "cannot be combined",
        ),
        (
            json!({"name": "/a", "type": "password", "parameters": {"lenght": 3}}),
            400,
            "unrecognized parameter 'lenght'",
        ),
        (
            json!({"name": "/a", "type": "password", "colour": "red"}),
            400,
            "unrecognized parameter 'colour'",
        ),
        (
            json!({"name": "/a", "type": "password", "parameters": {"exclude_lower": true, "exclude_upper": true, "exclude_number": true}}),
            400,
            "combination of parameters",
        ),
        (
            json!({"name": "/a", "type": "rsa", "parameters": {"key_length": 1024}}),
            400,
            "'2048', '3072' and '4096'",
        ),
        (
            json!({"name": "/a", "type": "certificate"}),
            400,
            "must include a value for 'parameters'",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"is_ca": true}}),
            400,
            "At least one subject value",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a"}}),
            400,
            "must specify a signing CA",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a", "ca": "/none"}}),
            404,
            "the CA does not exist",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a", "ca": "/set/value"}}),
            400,
            "does not reference a CA",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a", "self_sign": true, "duration": 0}}),
            400,
            "Invalid duration",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a", "self_sign": true, "extended_key_usage": ["magic"]}}),
            400,
            "extended key usage 'magic'",
        ),
        (
            json!({"name": "/a", "type": "certificate", "parameters": {"common_name": "a", "self_sign": true, "alternative_names": ["a b"]}}),
            400,
            "alternative name",
        ),
        (
            json!({"name": "/set/value", "type": "password"}),
            400,
            "type cannot be modified",
        ),
        (
            json!({"name": "/none", "regenerate": true}),
            404,
            "does not exist",
        ),
        (
            json!({"name": "/set/password", "regenerate": true}),
            400,
            "password could not be regenerated",
        ),
        (
            json!({"name": "/set/value", "regenerate": true}),
            400,
            "Valid values for regenerate",
        ),
    ];
    for (body, status, text) in cases {
        let (found, error) = api.post("/api/v1/data", &body).await.rejection();
        assert_eq!(found, status, "{error}: {body}");
        assert!(error.contains(text), "{error} for {body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_ask_at_once_for_the_same_value_get_the_same() {
    let (_platform, api) = Platform::with_admin().await;
    let body = json!({"name": "/key", "type": "rsa", "mode": "no-overwrite"});
    let asked = (0..4).map(|_| api.post("/api/v1/data", &body));
    let answers = futures_util::future::join_all(asked).await;
    let first = answers[0].ok();
    assert!(
        answers
            .iter()
            .all(|answer| answer.ok()["id"] == first["id"])
    );
}
