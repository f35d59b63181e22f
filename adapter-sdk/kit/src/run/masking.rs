use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use super::secrets::{is_no_secret_credential, is_reference, is_secret, secrets_in_text};

/// Texts shorter than this are no secrets when they occur within others: they would be found everywhere.
const SHORTEST_WITHIN: usize = 4;

/// Replaces secrets with numbers, and equal secrets with the same number. A reader sees what has changed, but not the
/// values.
pub(super) enum Masking {
    /// Everything is shown.
    Off,
    /// Secrets are numbers.
    On {
        /// The known secrets.
        known: BTreeSet<String>,
        /// The numbers of those that were met, in the order in which they were.
        numbers: BTreeMap<String, usize>,
    },
}

impl Masking {
    /// Masks, and knows nothing yet.
    pub(super) fn on() -> Self {
        Self::On {
            known: BTreeSet::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// Masks these texts, too, wherever they occur.
    pub(super) fn learn<'v>(&mut self, secrets: impl IntoIterator<Item = &'v str>) {
        if let Self::On { known, .. } = self {
            let secrets = secrets.into_iter().filter(|secret| !secret.is_empty());
            known.extend(secrets.map(str::to_owned));
        }
    }

    pub(super) fn learn_all_of(&mut self, document: &Value) {
        match document {
            Value::String(text) => self.learn([text.as_str()]),
            Value::Array(members) => members.iter().for_each(|one| self.learn_all_of(one)),
            Value::Object(members) => members.values().for_each(|one| self.learn_all_of(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let Self::On { known, .. } = self else {
            return text.to_owned();
        };
        if known.contains(text) {
            return self.mask(text);
        }
        let mut secrets = secrets_in_text(text);
        for secret in known.iter().filter(|known| known.len() >= SHORTEST_WITHIN) {
            let locations = text.match_indices(secret.as_str());
            secrets.extend(locations.map(|(at, secret)| at..at + secret.len()));
        }
        let mut shown = String::new();
        let mut rest = 0;
        for location in disjoint(secrets) {
            shown += &text[rest..location.start];
            shown += &self.mask(&text[location.clone()]);
            rest = location.end;
        }
        shown + &text[rest..]
    }

    pub(super) fn document(&mut self, document: &Value) -> Value {
        // A secret found at the end of the document also occurs at its beginning.
        self.shown(document);
        self.shown(document)
    }

    /// The same for a public document: no name makes a value secret.
    pub(super) fn public_document(&mut self, document: &Value) -> Value {
        each(document, &mut |value| match value {
            Value::String(text) => Value::from(self.text(text)),
            other => other.clone(),
        })
    }

    /// The same for a binding: shows only those credentials that are known not to be secret.
    pub(super) fn binding(&mut self, document: &Value) -> Value {
        self.shown_binding(document);
        self.shown_binding(document)
    }

    /// A document of which nothing is shown but its shape, and which secrets it refers to.
    pub(super) fn shape(&mut self, document: &Value) -> Value {
        if matches!(self, Self::Off) {
            return document.clone();
        }
        each(document, &mut |value| match value {
            Value::String(text) if !is_reference(text) => self.masked(text),
            Value::Number(number) => self.masked(&number.to_string()),
            other => other.clone(),
        })
    }

    fn shown(&mut self, document: &Value) -> Value {
        match document {
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| (name.clone(), self.member(name, member)))
                .collect(),
            Value::Array(members) => members.iter().map(|member| self.shown(member)).collect(),
            Value::String(text) if text.contains("PRIVATE KEY-----") => self.masked(text),
            Value::String(text) => Value::from(self.text(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => document.clone(),
        }
    }

    fn member(&mut self, name: &str, member: &Value) -> Value {
        if is_secret(name) {
            self.shape(member)
        } else {
            self.shown(member)
        }
    }

    fn shown_binding(&mut self, document: &Value) -> Value {
        let Value::Object(members) = document else {
            return self.shape(document);
        };
        members
            .iter()
            .map(|(name, member)| {
                let member = match name.as_str() {
                    "credentials" => self.credential("", member),
                    name => self.member(name, member),
                };
                (name.clone(), member)
            })
            .collect()
    }

    fn credential(&mut self, name: &str, value: &Value) -> Value {
        match value {
            value if matches!(self, Self::Off) => value.clone(),
            value if is_secret(name) => self.shape(value),
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| (name.clone(), self.credential(name, member)))
                .collect(),
            Value::Array(members) => members
                .iter()
                .map(|member| self.credential(name, member))
                .collect(),
            value if is_no_secret_credential(name) => self.shown(value),
            // Words such as `standalone` are hidden here and not everywhere.
            Value::String(text) if !looks_generated(text) && !is_reference(text) => {
                Value::from(self.number_of(text))
            }
            Value::Number(number) => Value::from(self.number_of(&number.to_string())),
            value => self.shape(value),
        }
    }

    fn masked(&mut self, secret: &str) -> Value {
        Value::from(self.mask(secret))
    }

    /// Masks a secret, from now on at every occurrence.
    fn mask(&mut self, secret: &str) -> String {
        self.learn([secret]);
        self.number_of(secret)
    }

    /// The mask of a secret. An empty one needs none.
    fn number_of(&mut self, secret: &str) -> String {
        match self {
            Self::On { numbers, .. } if !secret.is_empty() => {
                let next = numbers.len() + 1;
                let number = numbers.entry(secret.to_owned()).or_insert(next);
                format!("<secret {number}>")
            }
            Self::On { .. } | Self::Off => secret.to_owned(),
        }
    }
}

fn each(document: &Value, replace: &mut impl FnMut(&Value) -> Value) -> Value {
    match document {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), each(member, replace)))
            .collect(),
        Value::Array(members) => members.iter().map(|one| each(one, replace)).collect(),
        scalar => replace(scalar),
    }
}

fn disjoint(mut locations: Vec<Range<usize>>) -> Vec<Range<usize>> {
    locations.sort_by_key(|location| (location.start, Reverse(location.end)));
    let mut disjoint: Vec<Range<usize>> = Vec::new();
    for location in locations {
        match disjoint.last_mut() {
            Some(last) if location.start < last.end => last.end = last.end.max(location.end),
            _ => disjoint.push(location),
        }
    }
    disjoint
}

fn looks_generated(text: &str) -> bool {
    text.len() >= 8 && text.contains(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Masking;

    #[test]
    fn what_is_called_a_secret_is_a_number_and_what_refers_to_one_is_shown() {
        let document = json!({
            "password": "hunter2", "other_password": "hunter2", "admin-token": "abc", "port": 6379,
            "secret": "((/odb/x))", "uri": "redis://:hunter3@10.0.0.1:6379", "key": "-----BEGIN RSA PRIVATE KEY-----\nx",
        });
        assert_eq!(
            Masking::on().document(&document),
            json!({
                "password": "<secret 1>", "other_password": "<secret 1>", "admin-token": "<secret 2>", "port": 6379,
                "secret": "((/odb/x))", "uri": "redis://:<secret 3>@10.0.0.1:6379", "key": "<secret 4>",
            })
        );
        assert_eq!(Masking::Off.document(&document), document);
        assert_eq!(Masking::Off.shape(&json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn known_values_are_found_everywhere() {
        let mut masking = Masking::on();
        masking.learn(["hunter2", "hunter2-and-more", "x"]);
        assert_eq!(
            masking.text("a hunter2-and-more, a hunter2, an x"),
            "a <secret 1>, a <secret 2>, an x"
        );
        assert_eq!(masking.text("x"), "<secret 3>");
    }

    #[test]
    fn everything_below_a_secret_name_is_hidden_whatever_its_form() {
        let document = json!({
            "passwords": ["one", {"deep": "two"}], "tokens": {"a": "three", "b": 4}, "pwd": "five",
            "auth": ["Basic six"], "requirepass": "seven", "authToken": "((kept))", "secrets": {"is_on": true},
        });
        assert_eq!(
            Masking::on().document(&document),
            json!({
                "passwords": ["<secret 1>", {"deep": "<secret 2>"}],
                "tokens": {"a": "<secret 3>", "b": "<secret 4>"}, "pwd": "<secret 5>", "auth": ["<secret 6>"],
                "requirepass": "<secret 7>", "authToken": "((kept))", "secrets": {"is_on": true},
            })
        );
    }

    #[test]
    fn what_turns_out_to_be_a_secret_is_hidden_where_it_stood_before() {
        let document = json!({"arguments": "--clients 5 hunter2", "password": "hunter2"});
        assert_eq!(
            Masking::on().document(&document)["arguments"],
            "--clients 5 <secret 1>"
        );
    }

    #[test]
    fn of_credentials_only_where_and_who_is_shown() {
        let binding = json!({
            "credentials": {
                "host": "10.0.0.1", "ports": [6379], "username": "u", "uri": "redis://u:pa/ss@10.0.0.1",
                "key": "deadbeef01", "mode": "redis", "passwords": ["x"], "pin": 1234, "tls": true,
                "jdbc_url": "jdbc:redis://h?password=hunter2", "nested": {"name": "n", "certificate": "c"},
            },
            "syslog_drain_url": "syslog://h:514",
        });
        let mut masking = Masking::on();
        assert_eq!(
            masking.binding(&binding),
            json!({
                "credentials": {
                    "host": "10.0.0.1", "ports": [6379], "username": "u", "uri": "redis://u:<secret 1>@10.0.0.1",
                    "key": "<secret 2>", "mode": "<secret 3>", "passwords": ["<secret 4>"], "pin": "<secret 5>",
                    "tls": true, "jdbc_url": "jdbc:redis://h?password=<secret 6>",
                    "nested": {"name": "n", "certificate": "<secret 7>"},
                },
                "syslog_drain_url": "syslog://h:514",
            })
        );
        assert_eq!(masking.text("used deadbeef01"), "used <secret 2>");
        assert_eq!(Masking::Off.binding(&binding), binding);
    }

    #[test]
    fn names_in_a_schema_hide_nothing() {
        let schema = json!({"properties": {"password": {"type": "string"}}});
        assert_eq!(Masking::on().public_document(&schema), schema);
    }
}
