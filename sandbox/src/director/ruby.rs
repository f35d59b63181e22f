//! Values as Ruby prints them, which the Director and the Cloud Controller do in their error texts.
//!
//! Reads YAML as Psych does, the YAML library of the Director's language, where our parser accepts more.

use odb_adapter_sdk::yaml;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A value as `inspect` shows it in the Ruby that the Director runs on.
pub(crate) fn inspect(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inspect).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}=>{}", quoted(key), inspect(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|letter| match letter {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            other => other.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Why a text is no YAML for the Director.
#[derive(Debug, thiserror::Error)]
pub(super) enum YamlError {
    #[error(
        "(<unknown>): found character that cannot start any token while scanning for the next token at line {line} column {column}"
    )]
    Tab { line: usize, column: usize },
    #[error(transparent)]
    Other(#[from] yaml::Error),
}

pub(super) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    match leading_tab(text) {
        Some((line, column)) => Err(YamlError::Tab { line, column }),
        None => Ok(yaml::from_str(text)?),
    }
}

/// The position of a tab in the indentation of the first line with content.
fn leading_tab(text: &str) -> Option<(usize, usize)> {
    for (line, content) in text.lines().enumerate() {
        let said = content.trim_start_matches(' ');
        if said.starts_with('\t') {
            return Some((line + 1, content.len() - said.len() + 1));
        }
        if !said.is_empty() && !said.starts_with('#') {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hash_is_shown_with_rockets() {
        let criteria = json!([{"group": "srv", "id": "no-such-id", "count": 1, "az": null}]);
        assert_eq!(
            inspect(&criteria),
            r#"[{"group"=>"srv", "id"=>"no-such-id", "count"=>1, "az"=>nil}]"#
        );
    }
}

#[cfg(test)]
mod psych_tests {
    use serde_json::{Value, json};

    use super::*;

    /// The errors of Psych 4.0.4 of Ruby 3.1 for these texts.
    #[test]
    fn a_tab_in_the_indentation_is_refused_in_psychs_words() {
        let cases = [
            ("\ta: 1", "1 column 1"),
            (" \ta: 1", "1 column 2"),
            ("\n\ta: 1", "2 column 1"),
            ("# x\n\ta: 1", "2 column 1"),
            ("\t# c\na: 1", "1 column 1"),
        ];
        for (text, location) in cases {
            let refused = from_str::<Value>(text).unwrap_err().to_string();
            let expected = "(<unknown>): found character that cannot start any token while scanning for the next token at line ";
            assert_eq!(refused, format!("{expected}{location}"), "{text:?}");
        }
        for text in ["a:\n\tb: 1", "a: 1\n\tb: 2"] {
            assert!(from_str::<Value>(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_tab_elsewhere_is_none_of_the_indentation() {
        for text in ["a:\t1", "a: 1 \t# c\n", "# x\n{\"a\":\t1}"] {
            assert_eq!(
                from_str::<Value>(text).unwrap(),
                json!({"a": 1}),
                "{text:?}"
            );
        }
    }
}
