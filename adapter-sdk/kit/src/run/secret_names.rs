/// Secrets are called so, or their names have this in them, however the words are joined.
const IN_NAMES: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "privatekey",
    "apikey",
    "accesskey",
    "credential",
];

/// A word of a secret's name ends so: `requirepass`, `rootpw`, `masterauth`. Within words they mean nothing (`author`).
const ENDS_OF_WORDS: [&str; 4] = ["pass", "pw", "auth", "authorization"];

/// The name endings of credentials that hold addresses and user names.
const NOT_SECRET: [&str; 34] = [
    "host",
    "hosts",
    "hostname",
    "hostnames",
    "address",
    "addresses",
    "ip",
    "ips",
    "server",
    "servers",
    "node",
    "nodes",
    "broker",
    "brokers",
    "endpoint",
    "endpoints",
    "port",
    "ports",
    "uri",
    "uris",
    "url",
    "urls",
    "user",
    "username",
    "name",
    "database",
    "db",
    "topic",
    "queue",
    "vhost",
    "scheme",
    "protocol",
    "path",
    "version",
];

/// Whether something of this name is likely to be a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    let ends_like_one = |word: &String| ENDS_OF_WORDS.iter().any(|end| word.ends_with(end));
    IN_NAMES.iter().any(|part| joined.contains(part)) || words.iter().any(ends_like_one)
}

/// Whether a credential of this name is none that has to be kept secret.
pub(super) fn is_no_secret_credential(name: &str) -> bool {
    let last = words(name).pop().unwrap_or_default();
    NOT_SECRET.contains(&last.as_str()) && !is_secret(name)
}

/// Whether a text names a secret and does not hold it: `((name))`.
pub(super) fn is_reference(text: &str) -> bool {
    text.strip_prefix("((")
        .and_then(|text| text.strip_suffix("))"))
        .is_some_and(|name| !name.contains(['(', ')']))
}

/// `adminToken`, `admin-token` and `admin_token` are of the same words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut may_end = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (may_end && letter.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        may_end = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{is_no_secret_credential, is_reference, is_secret};

    #[test]
    fn secrets_are_reported_by_their_names_in_every_spelling() {
        for name in [
            "password",
            "passwords",
            "ADMIN_PASSWORD",
            "adminToken",
            "api-key",
            "apiKey",
            "pwd",
            "pw",
            "root_pw",
            "passcode",
            "auth",
            "requirepass",
            "masterauth",
            "basic_auth",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["author", "key", "passive", "port", "", "maxclients"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn what_says_where_a_service_is_is_no_secret() {
        for name in ["host", "jdbcUrl", "bootstrap_servers", "PORT", "db-name"] {
            assert!(is_no_secret_credential(name), "{name}");
        }
        for name in ["key", "token_url_password", "password", "", "certificate"] {
            assert!(!is_no_secret_credential(name), "{name}");
        }
    }

    #[test]
    fn a_reference_is_nothing_but_one() {
        assert!(is_reference("((/odb/x))"));
        for text in ["((a))hunter2((b))", "(())x", "hunter2", "((", "((a)"] {
            assert!(!is_reference(text), "{text}");
        }
    }
}
