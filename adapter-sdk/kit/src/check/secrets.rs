use std::cmp::Reverse;
use std::collections::BTreeSet;

use odb_adapter_sdk::secrets::{Reference, SecretReference};
use serde_json::Value;

use super::answers::{Deployed, Generated};
use super::difference::{Location, kind, name_of};
use super::probes::Ordered;
use super::rules::{self, Rule};
use super::session::{CallId, Session};

/// The shortest value to search for. Shorter values occur by chance.
const SHORTEST: usize = 6;

/// Values that must not appear in output. They leave this type only to be removed from a text.
#[derive(Default)]
pub(super) struct KnownSecrets {
    values: BTreeSet<String>,
}

impl KnownSecrets {
    /// Learns a secret: a text, a list, or a structured one with members that sound secret.
    pub(super) fn learn(&mut self, secret: &Value) {
        self.search(secret, true);
    }

    /// Of a value that is none itself, passwords of URIs and members with names of secrets are secrets.
    fn search(&mut self, value: &Value, is_secret: bool) {
        match value {
            Value::String(text) => {
                if is_secret {
                    self.learn_text(text);
                }
                passwords_of_uris(text).for_each(|text| self.learn_text(text));
            }
            Value::Array(items) => items.iter().for_each(|item| self.search(item, is_secret)),
            Value::Object(members) => members
                .iter()
                .for_each(|(name, value)| self.search(value, sounds_secret(name))),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Learns a secret text. References are none.
    fn learn_text(&mut self, text: &str) {
        if text.len() >= SHORTEST && !text.starts_with("((") {
            self.values.insert(text.to_owned());
        }
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.values.contains(text)
    }

    /// Whether the text contains a secret, unchanged or as JSON writes it.
    pub(super) fn occur_in(&self, text: &str) -> bool {
        self.values.iter().any(|secret| occurs(secret, text))
    }

    /// The text without secrets.
    pub(super) fn redact(&self, text: &str) -> String {
        // The longest first: one may be a part of another.
        let mut secrets: Vec<&String> = self.values.iter().collect();
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| {
            let text = text.replace(secret, "…");
            text.replace(&escaped(secret), "…")
        })
    }
}

/// Whether a text contains a secret, unchanged or as JSON writes it.
pub(super) fn occurs(secret: &str, text: &str) -> bool {
    secret.len() >= SHORTEST && (text.contains(secret) || text.contains(&escaped(secret)))
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

pub(super) fn sounds_secret(name: &str) -> bool {
    const WORDS: [&str; 5] = ["pass", "secret", "key", "token", "credential"];
    const ENDS: [&str; 2] = ["pw", "pwd"];
    let name = name.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    WORDS.iter().any(|word| name.contains(word))
        || parts.any(|part| ENDS.iter().any(|end| part.ends_with(end)))
}

/// The PASSWORD parts of `scheme://user:PASSWORD@host` in a text (RFC 3986, section 3.2.1).
fn passwords_of_uris(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|rest| {
        let is_end = |c: char| matches!(c, '/' | '?' | '#' | '"') || c.is_whitespace();
        let authority = rest.split(is_end).next()?;
        let (user_info, _) = authority.rsplit_once('@')?;
        Some(user_info.split_once(':')?.1)
    })
}

/// Holds an answer to the rules on secrets: to an order, or for a deployed instance.
pub(super) fn check_secrets(
    session: &mut Session<'_>,
    answer: &Generated,
    deployed: Option<&Deployed>,
) {
    // Arguments have no room for secrets, so in that form there are no entries.
    if session.inputs.secure_manifests && session.on_stdin {
        check_placeholders(session, answer, deployed);
    }
    for (name, value) in &answer.secrets {
        if !value.is_string() && !value.is_object() {
            let detail = format!("entry `{name}` is {}", kind(value));
            session.find(&rules::WRONG_ENTRY, name, detail, answer.id);
        }
    }
    let returned = answer.secrets.values().filter_map(Value::as_str);
    let previous = deployed.into_iter().flat_map(Deployed::secret_values);
    let values: BTreeSet<&str> = returned.chain(previous).collect();
    for location in leaves_with(&answer.manifest, &values) {
        let detail = format!("at `{location}`");
        session.find(
            &rules::SECRET_IN_MANIFEST,
            location.to_string(),
            detail,
            answer.id,
        );
    }
}

/// Holds a manifest to not having these values, which the user entered, in plain.
pub(super) fn check_entered(session: &mut Session<'_>, answer: &Generated, entered: &[String]) {
    let values: BTreeSet<&str> = entered.iter().map(String::as_str).collect();
    for location in leaves_with(&answer.manifest, &values) {
        let detail = format!("`{location}` has what the user entered as a secret");
        session.find(
            &rules::SECRET_IN_MANIFEST,
            location.to_string(),
            detail,
            answer.id,
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
    let can_be_stored = session.inputs.secure_manifests && session.on_stdin;
    if can_be_stored && !session.inputs.plain_secrets.contains(&about) {
        let detail = format!("at `{location}`; {reason}");
        session.find(&rules::GENERATED_IN_MANIFEST, about, detail, id);
    }
}

fn check_placeholders(session: &mut Session<'_>, answer: &Generated, deployed: Option<&Deployed>) {
    let names: BTreeSet<&str> = Reference::all_in(&answer.text)
        .filter_map(|reference| reference.placeholder())
        .collect();
    for name in names.iter().copied() {
        if !answer.secrets.contains_key(name) {
            find_placeholder(session, &rules::PLACEHOLDER_WITHOUT_ENTRY, name, answer);
        }
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(is_fit) {
            find_placeholder(session, &rules::WRONG_SECRET_NAME, name, answer);
        }
    }
    for (name, value) in &answer.secrets {
        let is_referred_to = names.contains(name.as_str());
        match deployed {
            // Later ones are dropped without harm: the reference of the order is kept.
            None if !is_referred_to => {
                let detail = format!("entry `{name}`");
                session.find(&rules::ENTRY_WITHOUT_PLACEHOLDER, name, detail, answer.id);
            }
            Some(deployed) if is_referred_to => {
                let stored = deployed.stored_value(name);
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                if stored.is_some_and(|stored| stored != text) {
                    let detail = format!("entry `{name}`");
                    session.find(&rules::REUSED_SECRET_NAME, name, detail, answer.id);
                }
            }
            None | Some(_) => {}
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
        session.find(rule, location.to_string(), detail, answer.id);
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

fn leaves_with(document: &Value, values: &BTreeSet<&str>) -> Vec<Location> {
    let mut found = Vec::new();
    walk(&Location::default(), document, &mut |location, text| {
        if values.iter().any(|value| occurs(value, text)) {
            found.push(location.clone());
        }
    });
    found
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_and_taken_out_however_they_are_written() {
        let mut secrets = KnownSecrets::default();
        secrets.learn(&json!("hunter\"2"));
        secrets.learn(&json!({"password": "hunter\"2-and-more", "username": "administrator"}));
        assert!(secrets.occur_in("x hunter\\\"2 y"));
        assert!(!secrets.occur_in("administrator"));
        assert_eq!(
            secrets.redact("a hunter\"2-and-more b hunter\"2 c"),
            "a … b … c"
        );
    }

    #[test]
    fn secrets_are_learnt_from_lists_addresses_and_short_names() {
        let mut secrets = KnownSecrets::default();
        secrets.learn(&json!({
            "passwords": ["first-of-a-list", {"token": "second-of-a-list"}],
            "uri": "cache://user:in-the-uri@10.0.0.1:6379/0?x=a:b@c",
            "endpoints": ["amqp://a:in-another@one,amqp://a:in-a-third@two"],
            "admin": {"pw": "short-name", "db_pwd": "short-name-too", "host": "a-host"},
            "upward": "no-secret",
        }));
        for secret in [
            "first-of-a-list",
            "second-of-a-list",
            "in-the-uri",
            "in-another",
            "in-a-third",
            "short-name",
            "short-name-too",
        ] {
            assert!(secrets.has(secret), "{secret}");
        }
        assert_eq!(secrets.values.len(), 7);
    }
}
