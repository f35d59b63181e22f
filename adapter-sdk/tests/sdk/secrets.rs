//! Secrets are kept as long as their values are, and go through no manifest in plain text.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{JobProperty, ManifestBuilder};
use odb_adapter_sdk::protocol::{
    BoshVms, CreateBinding, DeleteBinding, GenerateManifest, GeneratedManifest, RequestParameters,
    Secrets,
};
use odb_adapter_sdk::secrets::{
    ManagedSecrets, ManagedSecretsError, PASSWORD_LENGTH, SecretValue, UnresolvedError,
    new_password,
};
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::calls::{Deployed, create, request};

const PASSWORD: JobProperty = JobProperty::new("server", "server", "/service/password");
const LICENCE: JobProperty = JobProperty::new("server", "server", "/service/licence");
const TOKEN: JobProperty = JobProperty::new("server", "server", "/service/token");

/// An adapter with a secret of each kind: made once, from the plan, from the user.
fn generate(call: &GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
    let previous = call.previous()?;
    let mut secrets = ManagedSecrets::new(call, previous.as_ref());
    let licence = call.plan.properties.get("licence").and_then(Value::as_str);
    let licence = licence.map(|licence| secrets.configured("licence", LICENCE, licence));
    let parameters = call.request_parameters.arbitrary();
    let token = match parameters.get("token").and_then(Value::as_str) {
        Some(token) => Some(secrets.requested("token", TOKEN, token)),
        None => secrets.kept("token", TOKEN),
    };
    let manifest = ManifestBuilder::new(call)
        .instance_group("server", ["server"])
        .property(
            PASSWORD,
            secrets.generated("password", PASSWORD, new_password),
        )
        .property_if_some(LICENCE, licence)
        .property_if_some(TOKEN, token)
        .build()?;
    Ok(GeneratedManifest::new(&manifest)?.with_secrets(secrets)?)
}

fn with(licence: Option<&str>, token: Option<&str>) -> GenerateManifest {
    let mut call = create();
    let mut set = |value| call.plan.properties.insert("licence".to_owned(), value);
    if let Some(licence) = licence {
        set(licence.into());
    }
    let parameters: Map<_, _> = token
        .map(|token| ("token".to_owned(), token.into()))
        .into_iter()
        .collect();
    call.request_parameters = request(&json!({"plan_id": "p", "parameters": parameters}));
    call
}

#[test]
fn a_new_password_is_made_once_and_then_found_again() {
    let mut deployed = Deployed::default();
    let answer = generate(&create()).unwrap();
    let password = answer.secrets.as_ref().unwrap()["password"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!answer.manifest.as_str().contains(&password));
    assert_eq!(password.len(), PASSWORD_LENGTH);
    assert!(
        password.chars().all(|c| c.is_ascii_alphanumeric()),
        "{password}"
    );
    deployed.take(&answer);

    let again = generate(&deployed.update(create())).unwrap();
    assert_eq!(again.manifest.as_str(), deployed.manifest);
    assert!(again.secrets.unwrap().is_empty());
    assert_ne!(
        generate(&create()).unwrap().secrets.unwrap()["password"],
        password
    );
}

#[test]
fn a_changed_value_gets_a_name_that_was_not_in_use() {
    let mut deployed = Deployed::default();
    let mut names = Vec::new();
    for token in ["one", "two", "three", "three"] {
        let call = with(None, Some(token));
        let call = if names.is_empty() {
            call
        } else {
            deployed.update(call)
        };
        deployed.take(&generate(&call).unwrap());
        assert_eq!(deployed.value(TOKEN).unwrap(), token);
        names.push(deployed.property(TOKEN).unwrap());
    }
    let path = |name| format!("((/odb/s/service-instance_1/{name}))");
    assert_eq!(
        names,
        [
            path("token"),
            path("token-2"),
            path("token-3"),
            path("token-3")
        ]
    );
}

#[test]
fn a_name_with_the_last_number_is_followed_by_one_that_is_free() {
    let last = format!("((/odb/s/service-instance_1/password-{}))", u64::MAX);
    let mut deployed = Deployed::default();
    deployed.manifest = plain(&last);
    let call = deployed.update(create());
    let previous = call.previous().unwrap();
    let mut secrets = ManagedSecrets::new(&call, previous.as_ref());
    let changed = secrets.requested("password", PASSWORD, "new");
    assert_eq!(changed.as_str(), "((odb_secret:password))");
    let another = secrets.requested("password", PASSWORD, "newer");
    assert_eq!(another.as_str(), "((odb_secret:password-2))");
}

#[test]
fn what_the_plan_changes_comes_with_the_next_update_and_blocks_none() {
    let mut deployed = Deployed::default();
    deployed.take(&generate(&with(Some("old"), None)).unwrap());
    let changed = || with(Some("new"), None);
    let searched = generate(&deployed.search_for_pending_changes(changed())).unwrap();
    assert_eq!(searched.manifest.as_str(), deployed.manifest);
    let upgraded = generate(&deployed.upgrade(changed())).unwrap();
    assert_eq!(upgraded.manifest.as_str(), deployed.manifest);
    deployed.take(&generate(&deployed.update(changed())).unwrap());
    assert_eq!(deployed.value(LICENCE).unwrap(), "new");
}

#[test]
fn a_secret_in_plain_text_becomes_a_managed_one_of_the_same_value() {
    let mut deployed = Deployed::default();
    deployed.manifest = plain("hunter2");
    let answer = generate(&deployed.upgrade(create())).unwrap();
    assert!(!answer.manifest.as_str().contains("hunter2"));
    deployed.take(&answer);
    assert_eq!(deployed.value(PASSWORD).unwrap(), "hunter2");
}

#[test]
fn a_number_or_an_object_in_plain_text_is_kept_too() {
    for (written, reported) in [
        ("12345678", json!("12345678")),
        ("{user: u, pass: p}", json!({"user": "u", "pass": "p"})),
    ] {
        let mut deployed = Deployed::default();
        deployed.manifest = plain(written);
        let answer = generate(&deployed.upgrade(create())).unwrap();
        assert_eq!(answer.secrets.unwrap()["password"], reported);
    }
}

#[test]
fn references_of_any_kind_are_left_alone() {
    for reference in [
        "((password_variable))",
        "((/shared/password))",
        "redis://((user)):((/a/b))@h",
    ] {
        let mut deployed = Deployed::default();
        deployed.manifest = plain(reference);
        let answer = generate(&deployed.update(create())).unwrap();
        assert!(answer.secrets.unwrap().is_empty());
        deployed.manifest = answer.manifest.into_string();
        assert_eq!(deployed.property(PASSWORD).unwrap(), reference);
    }
}

#[test]
fn an_unreplaced_placeholder_is_given_a_secret_again() {
    let mut deployed = Deployed::default();
    deployed.manifest = plain("((odb_secret:password))");
    let answer = generate(&deployed.upgrade(create())).unwrap();
    deployed.take(&answer);
    assert_eq!(deployed.value(PASSWORD).unwrap().len(), PASSWORD_LENGTH);
}

#[test]
fn an_object_is_compared_by_what_is_in_it() {
    let object = |first: &str, second: &str| {
        SecretValue::from(Map::from_iter([
            (first.to_owned(), json!(1)),
            (second.to_owned(), json!(1)),
        ]))
    };
    let mut deployed = Deployed::default();
    deployed.manifest = plain("((/odb/s/service-instance_1/tls))");
    let mut call = deployed.update(create());
    call.previous_secrets = Some(Secrets::from_iter([(
        "((/odb/s/service-instance_1/tls))",
        r#"{"b": 1, "a": 1}"#,
    )]));
    let previous = call.previous().unwrap();
    let mut secrets = ManagedSecrets::new(&call, previous.as_ref());
    let same = secrets.requested("tls", PASSWORD, object("a", "b"));
    assert_eq!(same.as_str(), "((/odb/s/service-instance_1/tls))");
    let other = secrets.requested("tls", PASSWORD, object("a", "c"));
    assert_eq!(other.as_str(), "((odb_secret:tls-2))");
}

#[test]
fn secrets_of_the_same_name_do_not_get_into_each_others_way() {
    let answer = |call: &GenerateManifest, first: &str, second: &str| {
        let previous = call.previous().unwrap();
        let mut secrets = ManagedSecrets::new(call, previous.as_ref());
        let manifest = ManifestBuilder::new(call)
            .instance_group("server", ["server"])
            .property(PASSWORD, secrets.requested("same", PASSWORD, first))
            .property(TOKEN, secrets.requested("same", TOKEN, second));
        let answer = GeneratedManifest::new(&manifest.build().unwrap()).unwrap();
        answer.with_secrets(secrets).unwrap()
    };
    let mut deployed = Deployed::default();
    deployed.take(&answer(&create(), "a", "b"));
    deployed.take(&answer(&deployed.update(create()), "c", "b"));
    assert_eq!(deployed.value(PASSWORD).unwrap(), "c");
    assert_eq!(deployed.value(TOKEN).unwrap(), "b");
}

#[test]
fn an_answer_without_placeholder_or_without_entry_is_none() {
    let call = create();
    let answer = |property: &str| {
        let manifest = ManifestBuilder::new(&call)
            .instance_group("server", ["server"])
            .property(PASSWORD, property);
        GeneratedManifest::new(&manifest.build().unwrap()).unwrap()
    };
    let mut secrets = ManagedSecrets::new(&call, None);
    let _ = secrets.configured("password", PASSWORD, "hunter2");
    let error = answer("plain").with_secrets(secrets).unwrap_err();
    assert_eq!(
        error,
        ManagedSecretsError::NoPlaceholder {
            name: "password".to_owned()
        }
    );

    let mut secrets = ManagedSecrets::new(&call, None);
    let dotted = secrets.configured("tls.ca", PASSWORD, "hunter2");
    let error = answer(dotted.as_str()).with_secrets(secrets).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tls.ca` is not a name of a secret; use letters, digits, `_` and `-`"
    );

    let secrets = ManagedSecrets::new(&call, None);
    let error = answer("((odb_secret:other))")
        .with_secrets(secrets)
        .unwrap_err();
    assert_eq!(
        error,
        ManagedSecretsError::NoEntry {
            name: "other".to_owned()
        }
    );
}

#[test]
fn a_binding_sees_values_where_the_manifest_has_references() {
    let manifest = plain("redis://((user)):((/odb/s/i/p))@host")
        .as_str()
        .into();
    let mut call = CreateBinding::new("b", BoshVms::new(), manifest, RequestParameters::default());
    let parsed = call.manifest.parse().unwrap();
    let unknown = call.resolve(&parsed, PASSWORD).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "the secret `((user))` of property `/service/password` of job `server` in instance group `server` is not known"
    );
    call.secrets = Some(Secrets::from_iter([
        ("((user))", "u((x))"),
        ("((/odb/s/i/p))", "p"),
    ]));
    let resolved = call.resolve(&parsed, PASSWORD).unwrap();
    assert_eq!(resolved.expose_secret(), "redis://u((x)):p@host");
    assert!(matches!(
        call.resolve(&parsed, TOKEN),
        Err(UnresolvedError::Absent { .. })
    ));

    let delete = DeleteBinding::new(
        "b",
        BoshVms::new(),
        plain("p").as_str().into(),
        RequestParameters::default(),
    );
    let parsed = delete.manifest.parse().unwrap();
    assert_eq!(
        delete.resolve(&parsed, PASSWORD).unwrap().expose_secret(),
        "p"
    );
}

#[test]
fn formatting_shows_no_secret() {
    let value = SecretValue::from("hunter2");
    assert!(!format!("{value:?}").contains("hunter2"));
}

fn plain(password: &str) -> String {
    format!(
        "name: service-instance_1\ninstance_groups:\n- name: server\n  instances: 2\n  jobs:\n  - name: server\n    properties: {{service: {{password: {password}}}}}\n"
    )
}

#[derive(Debug, Clone)]
enum Step {
    Update {
        licence: Option<String>,
        token: Option<String>,
    },
    Search,
    Upgrade,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = || prop::option::of("[a-c]");
    let step = prop_oneof![
        3 => (value(), value()).prop_map(|(licence, token)| Step::Update { licence, token }),
        1 => Just(Step::Search),
        1 => Just(Step::Upgrade),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #[test]
    fn no_secret_changes_unless_its_value_does(
        starts_in_plain_text in any::<bool>(),
        steps in steps(),
    ) {
        let mut deployed = Deployed::default();
        let (mut licence, mut token) = (None::<String>, None::<String>);
        if starts_in_plain_text {
            deployed.manifest = plain("hunter2");
            deployed.take(&generate(&deployed.upgrade(create())).unwrap());
        } else {
            deployed.take(&generate(&create()).unwrap());
        }
        let password = (deployed.property(PASSWORD), deployed.value(PASSWORD));
        for step in steps {
            let before = [LICENCE, TOKEN].map(|secret| (deployed.property(secret), deployed.value(secret)));
            let call = with(licence.as_deref(), None);
            match step {
                Step::Search => {
                    let answer = generate(&deployed.search_for_pending_changes(call)).unwrap();
                    prop_assert_eq!(answer.manifest.as_str(), &deployed.manifest);
                    continue;
                }
                Step::Upgrade => deployed.take(&generate(&deployed.upgrade(call)).unwrap()),
                Step::Update { licence: new_licence, token: new_token } => {
                    licence = new_licence;
                    let call = with(licence.as_deref(), new_token.as_deref());
                    deployed.take(&generate(&deployed.update(call)).unwrap());
                    token = new_token.or(token);
                }
            }
            prop_assert_eq!(&(deployed.property(PASSWORD), deployed.value(PASSWORD)), &password);
            prop_assert_eq!(deployed.value(LICENCE), licence.clone());
            prop_assert_eq!(deployed.value(TOKEN), token.clone());
            for (secret, (reference, value)) in [LICENCE, TOKEN].into_iter().zip(before) {
                if deployed.value(secret) == value {
                    prop_assert_eq!(deployed.property(secret), reference);
                }
            }
        }
    }
}
