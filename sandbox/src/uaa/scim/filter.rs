//! Filters in the form of the `cf` and `uaa` command lines: `userName eq "x" and origin eq "uaa"`. Other filters of a
//! real UAA are rejected.

use serde_json::Value;

/// Conditions on an entry of a list, all of which hold: attributes and what they equal.
#[derive(Debug, PartialEq)]
pub(super) struct Filter(Vec<(String, Value)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a filter")]
pub(super) struct InvalidFilter;

impl Filter {
    pub(super) fn parse(text: &str, attributes: &[&str]) -> Result<Self, InvalidFilter> {
        let mut conditions = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = word(rest);
            let mut known = attributes.iter();
            if !known.any(|known| known.eq_ignore_ascii_case(name)) {
                return Err(InvalidFilter);
            }
            let (operator, after) = word(after);
            if !operator.eq_ignore_ascii_case("eq") {
                return Err(InvalidFilter);
            }
            let (value, after) = value(after)?;
            conditions.push((name.to_owned(), value));
            rest = match word(after) {
                ("", _) => return Ok(Self(conditions)),
                (and, after) if and.eq_ignore_ascii_case("and") => after,
                _ => return Err(InvalidFilter),
            };
        }
    }

    /// Whether the entry meets the conditions. Texts are compared without regard to case.
    pub(super) fn matches(&self, entry: &Value) -> bool {
        self.0.iter().all(|(name, wanted)| {
            let found = attribute(entry, name);
            found.into_iter().any(|value| lower(value) == lower(wanted))
        })
    }
}

fn lower(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_lowercase(),
        other => other.to_string(),
    }
}

/// The values of an attribute, whose name ignores case. A dot leads into an object or a list of objects; a list of
/// objects alone means their `value`s.
pub(super) fn attribute<'a>(entry: &'a Value, path: &str) -> Vec<&'a Value> {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let Some(object) = entry.as_object() else {
        return Vec::new();
    };
    let found = object
        .iter()
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value);
    found
        .flat_map(|value| match value {
            Value::Array(list) => list.iter().collect(),
            Value::Null => Vec::new(),
            one => vec![one],
        })
        .flat_map(|value| match (rest, value) {
            (Some(rest), value) => attribute(value, rest),
            (None, Value::Object(object)) => object.get("value").into_iter().collect(),
            (None, value) => vec![value],
        })
        .collect()
}

/// The next word, and what comes after it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// A text in quotation marks, `true`, `false` or a number, and what comes after it.
fn value(text: &str) -> Result<(Value, &str), InvalidFilter> {
    let text = text.trim_start();
    let Some(mark) = text.chars().next().filter(|c| ['"', '\''].contains(c)) else {
        let (word, rest) = word(text);
        let value = serde_json::from_str(word).map_err(|_| InvalidFilter)?;
        return Ok((value, rest));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            _ if c == mark => return Ok((Value::String(value), &text[at + 1..])),
            _ => value.push(c),
        }
    }
    Err(InvalidFilter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ATTRIBUTES: &[&str] = &["id", "userName", "emails.value", "emails", "verified"];

    fn is(filter: &str) -> Result<bool, InvalidFilter> {
        let entry = json!({
            "id": "1", "userName": "Admin", "emails": [{"value": "a@b.example"}, {"value": "c"}], "verified": true,
        });
        Filter::parse(filter, ATTRIBUTES).map(|filter| filter.matches(&entry))
    }

    #[test]
    fn a_filter_says_which_entries_are_meant() {
        let table = [
            (r#"userName eq "admin""#, true),
            (r#"USERNAME EQ "ADMIN""#, true),
            ("userName eq 'x'", false),
            ("verified eq true", true),
            (r#"emails.value eq "c""#, true),
            (r#"userName eq "admin" and verified eq false"#, false),
            (r#"userName eq "a\"b""#, false),
        ];
        for (filter, expected) in table {
            assert_eq!(is(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for filter in [
            "",
            "id",
            "id eq",
            "id eq x",
            r#"id xx "1""#,
            r#"password eq "1""#,
            r#"id eq "1"#,
            r#"id eq "1" id eq "1""#,
        ] {
            assert_eq!(is(filter), Err(InvalidFilter), "{filter}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z()\"' \\\\é]{0,40}") {
            let _ = is(&text);
        }
    }
}
