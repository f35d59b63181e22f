use std::collections::BTreeSet;

use serde_json::Value;

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
        match secret {
            Value::String(text) => {
                self.learn_text(text);
                self.learn_within(secret);
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(members) => {
                for (name, value) in members {
                    if sounds_secret(name) {
                        self.learn(value);
                    } else {
                        self.learn_within(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Collects the secrets within a value that is none itself: passwords of URIs, and members with names of secrets.
    fn learn_within(&mut self, value: &Value) {
        match value {
            Value::String(text) => passwords_of_uris(text).for_each(|text| self.learn_text(text)),
            Value::Array(items) => items.iter().for_each(|item| self.learn_within(item)),
            Value::Object(_) => self.learn(value),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Learns a secret text. References are none.
    fn learn_text(&mut self, text: &str) {
        if text.len() >= SHORTEST && !text.starts_with("((") {
            self.values.insert(text.to_owned());
        }
    }

    /// Whether a text is a secret.
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
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
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

/// Whether something of that name is a secret in all likelihood.
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
