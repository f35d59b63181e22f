//! Masks secrets in foreign text before the log or a user gets it. All masking is here.
//!
//! A line without one of the few words, prefixes or flags of [`signs`] costs one pass and no memory. The value after a
//! sign is masked as far as it can reach; references such as `((name))` and names are no secrets and stay.
//!
//! | file | contents |
//! | --- | --- |
//! | `signs` | signs of a secret |
//! | `keys` | whether a key's value is one |
//! | `values` | where a value ends |
//! | `commands` | addresses, headers, flags of command lines |
//! | `chain` | an error with its causes, redacted |

mod chain;
mod commands;
mod keys;
mod signs;
#[cfg(test)]
mod tests;
mod values;

use std::{borrow::Cow, ops::Range};

pub use chain::Chain;
use signs::{Sign, next_sign};

const MASK: &str = "<redacted>";

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// The text with its secrets masked.
pub fn redact(text: &str) -> Cow<'_, str> {
    if next_sign(text, 0).is_none() {
        return Cow::Borrowed(text);
    }
    let mut redaction = Redaction::default();
    let mut redacted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        redacted.push_str(&redaction.line(content));
        redacted.push_str(&line[content.len()..]);
    }
    if redacted == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(redacted)
    }
}

/// Redacts the lines of one text, in which a secret may go over several.
#[derive(Debug, Default)]
pub struct Redaction {
    in_pem: bool,
    /// Lines that are indented deeper belong to the value that began before.
    block: Option<usize>,
}

/// The masked parts of a line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Masked {
    spans: Vec<Range<usize>>,
    /// The last value continues in lines with a deeper indentation.
    goes_on: bool,
}

impl Redaction {
    /// The next line, with its secrets masked.
    pub fn line<'t>(&mut self, line: &'t str) -> Cow<'t, str> {
        let indentation = indentation(line);
        if let Some(depth) = self.block {
            if line.trim().is_empty() {
                return Cow::Borrowed(line);
            }
            if indentation > depth {
                return Cow::Owned(format!("{}{MASK}", &line[..indentation]));
            }
            self.block = None;
        }
        let was_in_pem = self.in_pem;
        match (line.rfind(PEM_BEGIN), line.rfind(PEM_END)) {
            (Some(begin), Some(end)) => self.in_pem = begin > end,
            (Some(_), None) => self.in_pem = true,
            (None, Some(_)) => self.in_pem = false,
            (None, None) => {}
        }
        if was_in_pem {
            return Cow::Borrowed(MASK);
        }
        let masked = masked(line);
        if masked.goes_on {
            self.block = Some(indentation);
        }
        if masked.spans.is_empty() {
            return Cow::Borrowed(line);
        }
        let mut redacted = String::with_capacity(line.len());
        let mut shown = 0;
        for span in masked.spans {
            redacted.push_str(&line[shown..span.start]);
            redacted.push_str(MASK);
            shown = span.end;
        }
        redacted.push_str(&line[shown..]);
        Cow::Owned(redacted)
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn masked(line: &str) -> Masked {
    let mut masked = Masked::default();
    let mut from = 0;
    while let Some((sign, at)) = next_sign(line, from) {
        let secret = match sign {
            Sign::Reference => {
                from = commands::after_reference(line, at.start).unwrap_or(at.end);
                continue;
            }
            Sign::Word => {
                let key = keys::Key::around(line, &at);
                let value = key.value();
                from = key.end();
                if let Some(value) = &value {
                    masked.goes_on |= value.goes_on;
                    from = from.max(value.span.end);
                }
                value.map(|value| value.span)
            }
            Sign::Pem => Some(commands::pem(line, at.start)),
            Sign::Scheme => commands::credentials_of_scheme(line, at.end),
            Sign::Address => commands::userinfo(line, at.end),
            Sign::WebToken => commands::web_token(line, at.start),
            Sign::PasswordFlag => commands::password_flag(line, &at),
            Sign::UserFlag => commands::user_flag(line, &at),
            Sign::RedisFlag => commands::redis_flag(line, &at),
            Sign::Sql => commands::sql(line, at.end),
        };
        if sign != Sign::Word {
            // A sign that means nothing may hide the start of another one.
            from = secret.as_ref().map_or(at.start + 1, |span| span.end);
        }
        if let Some(span) = secret.filter(|span| !span.is_empty() && &line[span.clone()] != MASK) {
            masked.spans.push(span);
        }
    }
    masked
}
