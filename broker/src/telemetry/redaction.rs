//! Takes out of foreign text what looks like a secret, before it reaches the log.

use std::borrow::Cow;

/// Words whose value is nobody's business.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "private_key",
    "authorization",
    "api_key",
];

const MASK: &str = "<redacted>";

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// The line with everything from the first sign of a secret's value on masked.
///
/// A sign is one of a few words followed by `:` or `=`, the start of a PEM block, or the scheme of an
/// `Authorization` header. What follows is masked to the end of the line: a value's end cannot be told for sure.
pub fn redact(line: &str) -> Cow<'_, str> {
    match secret_start(line) {
        Some(start) => Cow::Owned(format!("{}{MASK}", &line[..start])),
        None => Cow::Borrowed(line),
    }
}

/// Redacts the lines of one text, in which a PEM block goes over several.
#[derive(Debug, Default)]
pub struct Redaction {
    in_pem: bool,
}

impl Redaction {
    /// The next line, with what looks like a secret masked.
    pub fn line<'t>(&mut self, line: &'t str) -> Cow<'t, str> {
        let was_in_pem = self.in_pem;
        if line.contains(PEM_BEGIN) {
            self.in_pem = true;
        }
        if line.contains(PEM_END) {
            self.in_pem = false;
        }
        if was_in_pem {
            Cow::Borrowed(MASK)
        } else {
            redact(line)
        }
    }
}

fn secret_start(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    let worded = SECRET_WORDS
        .iter()
        .flat_map(|word| lower.match_indices(word))
        .filter_map(|(at, word)| value_start(&lower, at + word.len()));
    let schemes = ["bearer ", "basic "]
        .iter()
        .flat_map(|scheme| lower.match_indices(scheme))
        .map(|(at, scheme)| at + scheme.len())
        .filter(|start| looks_encoded(&lower[*start..]));
    let pem = line.find(PEM_BEGIN);
    worded.chain(schemes).chain(pem).min()
}

/// Where the value begins, if the word at `end` is a key: closing quotes and the rest of the key may stand before `:` or `=`.
fn value_start(line: &str, end: usize) -> Option<usize> {
    let rest = &line[end..];
    let separator = rest.find([':', '='])?;
    let between = &rest[..separator];
    let is_key = between
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-\"' \\".contains(&byte));
    (is_key && between.len() <= 24).then_some(end + separator + 1)
}

fn looks_encoded(value: &str) -> bool {
    let word = value.split_whitespace().next().unwrap_or_default();
    word.len() >= 8
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_do_not_pass() {
        for line in [
            "password: hunter2-hunter2",
            "{\"password\":\"hunter2-hunter2\"}",
            "{\\\"admin_password\\\": \\\"hunter2-hunter2\\\"}",
            "client_secret=hunter2-hunter2",
            "Authorization: Basic aHVudGVyMi1odW50ZXIy hunter2-hunter2",
            "got header bearer aHVudGVyMi1odW50ZXIy.hunter2-hunter2",
            "-----BEGIN PRIVATE KEY----- hunter2-hunter2",
            "secret for the plan = hunter2-hunter2",
        ] {
            let redacted = redact(line);
            assert!(!redacted.contains("hunter2"), "{line} became {redacted}");
            assert!(!redacted.contains("aHVudGVy"), "{line} became {redacted}");
        }
    }

    #[test]
    fn a_key_over_several_lines_does_not_pass() {
        let mut redaction = Redaction::default();
        let text = "writing key\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2==\n-----END RSA PRIVATE KEY-----\ndone";
        let redacted: Vec<_> = text
            .lines()
            .map(|line| redaction.line(line).into_owned())
            .collect();
        assert!(!redacted.join("").contains("hunter2"), "{redacted:?}");
        assert_eq!(redacted[0], "writing key");
        assert_eq!(redacted[5], "done");
    }

    #[test]
    fn plain_words_pass() {
        for line in [
            "handling generate-manifest",
            "the secret is kept",
            "no basic rule was broken",
            "passwords match",
        ] {
            assert_eq!(redact(line), line);
        }
    }
}
