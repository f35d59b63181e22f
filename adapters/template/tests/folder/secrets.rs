use serde_json::{Value, json};

use crate::harness::{Folder, Made, create, pending_changes, plan, update, upgrade};

const AT: &str = "/instance_groups/name=queue/jobs/name=queue-server/properties/token";

/// A folder with one secret, `token`, of this description.
fn folder(secret: &str) -> Folder {
    Folder::with_properties(
        "token: {{ secret(name=\"token\") | default(value=omit) }}\nother: b",
        &format!("secrets:\n  token: {{kept_at: {AT}, {secret}}}"),
    )
}

fn token(made: &Made) -> &Value {
    &made.properties()["token"]
}

fn with_token(token: &str) -> Value {
    let mut plan = plan();
    plan["properties"] = json!({ "token": token });
    plan
}

#[test]
fn a_generated_secret_is_made_once() {
    let folder = folder("generate: {characters: 16}");
    let made = folder.make(&create(&plan(), &json!({})));
    let reference = token(&made).as_str().unwrap();
    assert!(reference.starts_with("((odb_secret:token_"), "{reference}");
    let deployed = made.deployed();
    for input in [
        pending_changes(&plan(), &deployed, &made.stored()),
        update(&plan(), &deployed, &Value::Null, &json!({})),
        upgrade(&plan(), &deployed),
    ] {
        let again = folder.make(&input);
        assert_eq!(again.text, deployed);
        assert_eq!(again.answer["secrets"], json!({}));
    }
    let another = folder.make(&create(&plan(), &json!({})));
    assert_ne!(made.stored(), another.stored());
}

#[test]
fn a_plain_secret_stays_in_the_manifest() {
    let folder = folder("stored: in_manifest, generate: {bytes: 20, as: base64}");
    let made = folder.make(&create(&plan(), &json!({})));
    assert_eq!(token(&made).as_str().unwrap().len(), 28);
    assert_eq!(made.answer["secrets"], Value::Null);
    let again = folder.make(&pending_changes(&plan(), &made.text, &Value::Null));
    assert_eq!(again.text, made.text);
}

#[test]
fn a_changed_value_gets_a_new_name_and_an_unchanged_one_does_not() {
    let folder = folder("value: plan.properties.token, name: tok");
    let made = folder.make(&create(&with_token("one"), &json!({})));
    let (deployed, stored) = (made.deployed(), made.stored());

    let same = folder.make(&pending_changes(&with_token("one"), &deployed, &stored));
    assert_eq!(same.text, deployed);
    let changed = folder.make(&pending_changes(&with_token("two"), &deployed, &stored));
    let reference = token(&changed).as_str().unwrap();
    let name = reference
        .strip_prefix("((odb_secret:")
        .unwrap()
        .strip_suffix("))")
        .unwrap();
    assert!(name.len() == 9 && name.starts_with("tok"), "{name}");
    assert_eq!(changed.answer["secrets"], json!({ name: "two" }));
    assert_ne!(token(&changed), token(&made));
    // At an upgrade the values are unknown; only the name is compared.
    let upgraded = folder.make(&upgrade(&with_token("one"), &deployed));
    assert_eq!(upgraded.text, deployed);
    let upgraded = folder.make(&upgrade(&with_token("two"), &deployed));
    assert_eq!(upgraded.answer, changed.answer);
    // Without a wish there is no such secret at creation, and the kept one stays.
    let none = folder.make(&create(&plan(), &json!({})));
    assert_eq!(token(&none), &Value::Null);
    let kept = folder.make(&pending_changes(&plan(), &deployed, &stored));
    assert_eq!(kept.text, deployed);
}

#[test]
fn plain_text_of_an_older_manifest_moves_to_the_store() {
    let plain = folder("stored: in_manifest, generate: {characters: 16}");
    let made = plain.make(&create(&plan(), &json!({})));
    let managed = folder("generate: {characters: 16}");
    let moved = managed.make(&pending_changes(&plan(), &made.text, &Value::Null));
    let entries = moved.answer["secrets"].as_object().unwrap();
    let values: Vec<&Value> = entries.values().collect();
    assert_eq!(values, [token(&made)]);
    assert!(token(&moved).as_str().unwrap().starts_with("((odb_secret:"));
}

#[test]
fn references_of_any_kind_are_left_alone() {
    let folder = folder("generate: {characters: 16}");
    let made = folder.make(&create(&plan(), &json!({})));
    let deployed = made
        .text
        .replace(token(&made).as_str().unwrap(), "((/mine))");
    let again = folder.make(&pending_changes(&plan(), &deployed, &json!({})));
    assert_eq!(again.text, deployed);
    // A broker without secure manifests leaves the placeholder where it is.
    let again = folder.make(&pending_changes(&plan(), &made.text, &Value::Null));
    assert_eq!(again.text, made.text);
}

#[test]
fn a_secret_can_depend_and_be_renewed_and_keep_its_name() {
    let folder = folder(
        "when: plan.properties.on, initial: \"'first'\", renew: parameters.renew, new_names: false, always_returned: true",
    );
    let none = folder.make(&create(&plan(), &json!({})));
    assert_eq!(
        (token(&none), &none.answer["secrets"]),
        (&Value::Null, &json!({}))
    );
    let mut on = plan();
    on["properties"] = json!({"on": true});
    let made = folder.make(&create(&on, &json!({})));
    assert_eq!(token(&made), "((odb_secret:token))");
    let kept = folder.make(&pending_changes(&on, &made.deployed(), &Value::Null));
    assert_eq!(kept.text, made.deployed());
    assert_eq!(kept.answer["secrets"], json!({"token": "first"}));
    let input = update(&on, &made.deployed(), &Value::Null, &json!({"renew": true}));
    assert_eq!(token(&folder.make(&input)), "((odb_secret:token))");
}

#[test]
fn a_value_of_omit_is_no_value() {
    let folder =
        folder("value: plan.properties.s | default(value=omit), generate: {characters: 16}");
    let made = folder.make(&create(&plan(), &json!({})));
    let entries = made.answer["secrets"].as_object().unwrap();
    let values: Vec<&str> = entries.values().filter_map(Value::as_str).collect();
    assert_eq!((values.len(), values[0].len()), (1, 16));
}

#[test]
fn two_secrets_never_have_one_name_with_different_values() {
    let properties = "a: {{ secret(name=\"a\") }}\nb: {{ secret(name=\"b\") }}";
    let at = AT.replace("token", "");
    let description = |of_both: &str, of_b: &str| {
        format!(
            "secrets:\n  a: {{kept_at: {at}a, name: same, value: \"'one'\", {of_both}}}\n  b: {{kept_at: {at}b, name: same, value: \"'two'\", {of_b}}}\n"
        )
    };
    let fixed = "new_names: false";
    let folder = Folder::with_properties(properties, &description(fixed, fixed));
    let run = folder.refused(&create(&plan(), &json!({})));
    assert!(
        run.stderr
            .contains("secrets `a` and `b` have one name for the broker"),
        "{run:?}"
    );
    let apart = Folder::with_properties(properties, &description(fixed, "new_names: true"));
    let made = apart.make(&create(&plan(), &json!({})));
    assert_eq!(made.answer["secrets"].as_object().unwrap().len(), 2);
}

#[test]
fn a_secret_that_the_broker_could_not_resolve_is_no_pending_change() {
    let folder = folder("value: plan.properties.token");
    let made = folder.make(&create(&with_token("one"), &json!({})));
    let deployed = made.deployed();
    let again = folder.make(&pending_changes(&with_token("one"), &deployed, &json!({})));
    assert_eq!(again.text, deployed);
    let changed = folder.make(&pending_changes(&with_token("two"), &deployed, &json!({})));
    assert_ne!(changed.text, deployed);
}

#[test]
fn what_moves_to_the_store_is_text_without_references_or_a_map() {
    let folder = folder("generate: {characters: 16}");
    let made = folder.make(&create(&plan(), &json!({})));
    let with = |token: &str| {
        let text = made
            .text
            .replace(self::token(&made).as_str().unwrap(), token);
        pending_changes(&plan(), &text, &Value::Null)
    };
    for (deployed, stored) in [
        ("4711", Some(json!("4711"))),
        ("true", Some(json!("true"))),
        ("{user: a}", Some(json!({"user": "a"}))),
        ("user:((/mine))@host", None),
    ] {
        let again = folder.make(&with(deployed));
        let entries = again.answer["secrets"].as_object().unwrap();
        assert_eq!(entries.values().next().cloned(), stored, "{deployed}");
        if stored.is_none() {
            assert_eq!(token(&again), deployed);
        }
    }
    let run = folder.refused(&with("[hunter2]"));
    assert!(
        run.stderr.contains("secret `token` is a list") && !run.stderr.contains("hunter2"),
        "{run:?}"
    );
}

#[test]
fn placeholders_occur_in_the_manifest_only() {
    let secret =
        "secrets:\n  token: {kept_at: ".to_owned() + AT + ", generate: {characters: 16}}\n";
    let properties = "token: {{ secret(name=\"token\") }}";
    let config = Folder::with_properties(properties, &secret);
    config.write("configs.cloud.yml.tera", "a: {{ secret(name=\"token\") }}");
    let run = config.refused(&create(&plan(), &json!({})));
    assert!(
        run.stderr
            .contains("the cloud config has the placeholder `((odb_secret:token_"),
        "{run:?}"
    );
    let label = "labels:\n  mine: \"{{ secret(name='token') }}\"\n";
    let label = Folder::with_properties(properties, &(secret + label));
    let run = label.refused(&create(&plan(), &json!({})));
    assert!(
        run.stderr
            .contains("label `mine` has the placeholder `((odb_secret:token_"),
        "{run:?}"
    );
}
