//! The identity of requests (`spec/contracts/osb-api.md` §14.2), without their content.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A salted digest of a request's identity. Parameters may hold secrets, which the digest does not reveal, also not
/// across instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDigest {
    salt: String,
    hash: String,
}

#[derive(Clone, Copy, Debug)]
pub struct RequestIdentity<'a>(pub &'a Value);

impl RequestDigest {
    /// Of a request that was never seen before.
    pub fn new(identity: RequestIdentity<'_>) -> Self {
        let salt = uuid::Uuid::new_v4().simple().to_string();
        let hash = hash(&salt, identity);
        Self { salt, hash }
    }

    pub fn matches(&self, identity: RequestIdentity<'_>) -> bool {
        self.hash == hash(&self.salt, identity)
    }

    pub fn as_str(&self) -> &str {
        &self.hash
    }
}

fn hash(salt: &str, identity: RequestIdentity<'_>) -> String {
    let mut canonical = String::new();
    write_canonical(identity.0, &mut canonical);
    let mut hasher = Sha256::new();
    hasher.update(salt.as_bytes());
    hasher.update([0]);
    hasher.update(canonical.as_bytes());
    let mut hex = String::new();
    for byte in hasher.finalize() {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// JSON with sorted keys and one spelling for each number: key order and number spelling do not count.
fn write_canonical(value: &Value, into: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => into.push_str(&value.to_string()),
        Value::Number(number) => match number.as_f64() {
            // Beyond 2^53 two different integers share a float.
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                let _ = write!(into, "{float:.0}");
            }
            _ => into.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            into.push('[');
            for item in items {
                write_canonical(item, into);
                into.push(',');
            }
            into.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            into.push('{');
            for (key, value) in entries {
                let _ = write!(into, "{}:", Value::String(key.clone()));
                write_canonical(value, into);
                into.push(',');
            }
            into.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn order_of_keys_and_spelling_of_numbers_do_not_count() {
        let digest = RequestDigest::new(RequestIdentity(&identity(
            r#"{"a":1,"b":{"c":[1.0,"x"],"d":null}}"#,
        )));
        assert!(digest.matches(RequestIdentity(&identity(
            r#"{"b":{"d":null,"c":[1,"x"]},"a":1.0}"#
        ))));
    }

    #[test]
    fn another_value_is_another_request() {
        let digest = RequestDigest::new(RequestIdentity(&identity(r#"{"a":1}"#)));
        for other in [
            r#"{"a":2}"#,
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            "{}",
            r#"{"a":1,"b":null}"#,
        ] {
            assert!(
                !digest.matches(RequestIdentity(&identity(other))),
                "{other}"
            );
        }
    }

    #[test]
    fn large_integers_stay_apart() {
        let digest = RequestDigest::new(RequestIdentity(&identity("9007199254740993")));
        assert!(!digest.matches(RequestIdentity(&identity("9007199254740992"))));
    }

    #[test]
    fn equal_requests_have_digests_that_do_not_look_equal() {
        let value = identity(r#"{"password":"x"}"#);
        let one = RequestDigest::new(RequestIdentity(&value));
        let two = RequestDigest::new(RequestIdentity(&value));
        assert_ne!(one.as_str(), two.as_str());
    }
}
