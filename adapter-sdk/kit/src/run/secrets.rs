//! What is probably a secret: by its name, or by its place in a text.

use std::ops::Range;

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

pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    let ends_like_one = |word: &String| ENDS_OF_WORDS.iter().any(|end| word.ends_with(end));
    IN_NAMES.iter().any(|part| joined.contains(part)) || words.iter().any(ends_like_one)
}

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

/// The byte ranges of a text that are likely secrets. If the end of a secret is unclear, the longer range applies.
pub(super) fn secrets_in_text(text: &str) -> Vec<Range<usize>> {
    let mut found = passwords_of_addresses(text);
    found.extend(values_of_names(text));
    found.retain(|range| !range.is_empty() && !is_reference(&text[range.clone()]));
    found
}

/// `redis://:password@host`, `user:password@tcp(host)`. A password may hold `/` and `@`, though it should not.
fn passwords_of_addresses(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || letter == '"') {
        let scheme = word.find("://").map_or(0, |at| at + "://".len());
        let user_info = word[scheme..].rsplit_once('@').map(|(before, _)| before);
        if let Some((user, password)) = user_info.and_then(|text| text.split_once(':')) {
            let begin = start + scheme + user.len() + ":".len();
            found.push(begin..begin + password.len());
        }
        // The end of a word has at least one byte.
        start += word.len();
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// `?password=x&…`, `password='x y'`, `"password": "x"`.
fn values_of_names(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(['=', ':']).filter_map(|(at, sign)| {
        let before = &text[..at];
        let after = &text[at + sign.len()..];
        let unquoted = before.strip_suffix(['"', '\'']);
        if sign == ":" && unquoted.is_none() {
            return None;
        }
        let begin = if sign == ":" {
            text.len() - after.trim_start().len()
        } else {
            at + sign.len()
        };
        is_secret(name_at_end(unquoted.unwrap_or(before))).then(|| value(text, begin))?
    })
}

fn name_at_end(text: &str) -> &str {
    let is_of_names = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let name = text.trim_end_matches(is_of_names);
    &text[name.len()..]
}

/// To the quote that ends it, or else to the next parameter or word.
fn value(text: &str, begin: usize) -> Option<Range<usize>> {
    let value = text.get(begin..)?;
    if let Some(quote) = value
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''))
    {
        let inner = &value[1..];
        let mut ends = inner.match_indices(quote).map(|(at, _)| at);
        let end = ends
            .find(|&at| !inner[..at].ends_with('\\'))
            .unwrap_or(inner.len());
        return Some(begin + 1..begin + 1 + end);
    }
    let end = value.find(|letter: char| letter.is_whitespace() || matches!(letter, '&' | '"'));
    Some(begin..begin + end.unwrap_or(value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[track_caller]
    fn holds(text: &str, secrets: &[&str]) {
        let found = secrets_in_text(text);
        let found: Vec<_> = found.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, secrets, "{text}");
    }

    #[test]
    fn passwords_of_addresses_are_found() {
        holds("redis://:hunter2@10.0.0.1:6379", &["hunter2"]);
        holds("postgres://u:pa/ss+word=@h:5432/db", &["pa/ss+word="]);
        holds("postgres://u:p@ss@h", &["p@ss"]);
        holds("u:hunter2@tcp(10.0.0.1:3306)/db", &["hunter2"]);
        holds("ä\u{a0}\"amqp://u:ü@h\" and http://v:w@h", &["ü", "w"]);
        holds("http://10.0.0.1:80/x and a@b", &[]);
        holds("redis://:((password))@h", &[]);
    }

    #[test]
    fn values_of_secret_names_are_found() {
        holds(
            "jdbc:mysql://h/db?user=u&password=hunter2&ssl=true",
            &["hunter2"],
        );
        holds("host=h password='a b' dbname=d", &["a b"]);
        holds("Server=h;Pwd=hunter2", &["hunter2"]);
        holds(r#"said {"auth_token": "a\"b", "port":1}"#, &[r#"a\"b"#]);
        holds("could not read the password: no such file", &[]);
        holds("max_clients=5 password=", &[]);
        holds("password=((password))", &[]);
    }
}
