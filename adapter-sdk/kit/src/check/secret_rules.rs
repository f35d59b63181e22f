use std::collections::BTreeSet;

use odb_adapter_sdk::secrets::{Reference, SecretReference};
use serde_json::Value;

use crate::check::answers::Generated;
use crate::check::deployed::Deployed;
use crate::check::known_secrets::{KnownSecrets, occurs, sounds_secret};
use crate::check::location::{Location, name_of};
use crate::check::probes::orders::Ordered;
use crate::check::rules::{Rule, secrets};
use crate::check::session::{CallId, Session};

/// When an answer was given.
#[derive(Clone, Copy)]
pub(super) enum Occasion<'d> {
    /// For an order: nothing was there before.
    Order,
    /// For a deployed instance.
    Deployed(&'d Deployed),
}

/// Holds an answer to the rules on secrets.
pub(super) fn check_secrets(session: &mut Session<'_>, answer: &Generated, occasion: Occasion<'_>) {
    // Arguments have no room for secrets, so in that form there are no entries.
    if session.inputs.secure_manifests && session.asks_on_stdin() {
        check_placeholders(session, answer, occasion);
    }
    for (name, value) in &answer.secrets {
        if !value.is_string() && !value.is_object() {
            let detail = format!(
                "entry `{name}` is {}",
                crate::check::difference::kind(value)
            );
            session.find(&secrets::WRONG_ENTRY, name, detail, Some(answer.id));
        }
    }
    let returned = answer.secrets.values().filter_map(Value::as_str);
    let deployed = match occasion {
        Occasion::Order => None,
        Occasion::Deployed(deployed) => Some(deployed),
    };
    let previous = deployed.into_iter().flat_map(Deployed::secret_values);
    let values: BTreeSet<&str> = returned.chain(previous).collect();
    for location in leaves_with(&answer.manifest, &values) {
        let detail = format!("at `{location}`");
        session.find(
            &secrets::SECRET_IN_MANIFEST,
            location.to_string(),
            detail,
            Some(answer.id),
        );
    }
}

/// Holds a manifest to not having these values, which the user entered, in plain.
pub(super) fn check_entered(session: &mut Session<'_>, answer: &Generated, entered: &[String]) {
    let values: BTreeSet<&str> = entered.iter().map(String::as_str).collect();
    for location in leaves_with(&answer.manifest, &values) {
        let detail = format!("`{location}` has what the user entered as a secret");
        session.find(
            &secrets::SECRET_IN_MANIFEST,
            location.to_string(),
            detail,
            Some(answer.id),
        );
    }
}

/// Warns of generated values whose key suggests a secret.
pub(super) fn check_generated(
    session: &mut Session<'_>,
    answer: &Generated,
    generated: &[Location],
) {
    for location in generated {
        if location.key().is_some_and(sounds_secret)
            && location.look_up(&answer.manifest).is_some_and(is_plain)
        {
            find_generated(session, location, "by its key", answer.id);
        }
    }
}

/// Warns of generated values that applications are given as secrets.
pub(super) fn check_generated_credentials(
    session: &mut Session<'_>,
    credentials: &Value,
    ordered: &Ordered,
    id: CallId,
) {
    let mut secrets = KnownSecrets::default();
    secrets.learn(credentials);
    for location in &ordered.generated {
        let value = location.look_up(&ordered.deployed.manifest);
        if value
            .and_then(Value::as_str)
            .is_some_and(|text| secrets.has(text))
        {
            find_generated(session, location, "it is a secret of the binding", id);
        }
    }
}

/// If the broker does not store secrets, the manifest may be the only place for them.
fn find_generated(session: &mut Session<'_>, location: &Location, reason: &str, id: CallId) {
    let about = location.to_string();
    let can_be_stored = session.inputs.secure_manifests && session.asks_on_stdin();
    if can_be_stored && !session.inputs.plain_secrets.contains(&about) {
        let detail = format!("at `{location}`; {reason}");
        session.find(&secrets::GENERATED_IN_MANIFEST, about, detail, Some(id));
    }
}

fn check_placeholders(session: &mut Session<'_>, answer: &Generated, occasion: Occasion<'_>) {
    let names: BTreeSet<&str> = Reference::all_in(&answer.text)
        .filter_map(|reference| reference.placeholder())
        .collect();
    for name in names.iter().copied() {
        if !answer.secrets.contains_key(name) {
            find_placeholder(session, &secrets::PLACEHOLDER_WITHOUT_ENTRY, name, answer);
        }
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(is_fit) {
            find_placeholder(session, &secrets::WRONG_SECRET_NAME, name, answer);
        }
    }
    for (name, value) in &answer.secrets {
        match occasion {
            // Later ones are dropped without harm: the reference of the order is kept.
            Occasion::Order if !names.contains(name.as_str()) => {
                let detail = format!("entry `{name}`");
                session.find(
                    &secrets::ENTRY_WITHOUT_PLACEHOLDER,
                    name,
                    detail,
                    Some(answer.id),
                );
            }
            Occasion::Deployed(deployed) if names.contains(name.as_str()) => {
                let stored = deployed.stored_value(name);
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                if stored.is_some_and(|stored| stored != text) {
                    let detail = format!("entry `{name}`");
                    session.find(&secrets::REUSED_SECRET_NAME, name, detail, Some(answer.id));
                }
            }
            Occasion::Order | Occasion::Deployed(_) => {}
        }
    }
}

/// Reports a placeholder as a finding. An adapter may generate new names each time, but not new locations.
fn find_placeholder(
    session: &mut Session<'_>,
    rule: &'static Rule,
    name: &str,
    answer: &Generated,
) {
    let placeholder = SecretReference::placeholder(name);
    for location in leaves_with(&answer.manifest, &BTreeSet::from([placeholder.as_str()])) {
        let detail = format!("`{placeholder}` at `{location}`");
        session.find(rule, location.to_string(), detail, Some(answer.id));
    }
}

/// Whether a generated value itself is there, and no reference to it.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains("(("),
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The locations of one of the values.
fn leaves_with(document: &Value, values: &BTreeSet<&str>) -> Vec<Location> {
    let mut found = Vec::new();
    walk(&Location::default(), document, &mut |location, text| {
        if values.iter().any(|value| occurs(value, text)) {
            found.push(location.clone());
        }
    });
    found
}

/// Visits all texts of a document.
pub(super) fn walk(location: &Location, value: &Value, visit: &mut impl FnMut(&Location, &str)) {
    match value {
        Value::String(text) => visit(location, text),
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                let name = name_of(item).map_or_else(|| nth.to_string(), str::to_owned);
                walk(&location.item(&name), item, visit);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                walk(&location.member(key), value, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
