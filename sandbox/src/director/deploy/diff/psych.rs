//! Writes values as Psych, the YAML library of the Director's language, writes them.

use serde_json::{Map, Value};

use super::lines::{Change, DiffLine};

/// The lines of a document, without the one that begins it.
pub(super) fn yaml_lines(value: &Value, depth: usize, change: Change) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    block(value, "", &mut lines);
    lines
        .into_iter()
        .map(|text| DiffLine::new(depth, text, change))
        .collect()
}

fn block(value: &Value, indent: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => hash(members, indent, lines),
        Value::Array(items) if !items.is_empty() => list(items, indent, lines),
        other => lines.push(format!("{indent}{}", scalar(other, indent))),
    }
}

fn hash(members: &Map<String, Value>, indent: &str, lines: &mut Vec<String>) {
    for (key, value) in members {
        let key = text(key, indent);
        match value {
            Value::Object(below) if !below.is_empty() => {
                lines.push(format!("{indent}{key}:"));
                block(value, &format!("{indent}  "), lines);
            }
            // Items have the same indentation as the key of their list.
            Value::Array(below) if !below.is_empty() => {
                lines.push(format!("{indent}{key}:"));
                block(value, indent, lines);
            }
            Value::Null => lines.push(format!("{indent}{key}:")),
            other => {
                let value = scalar(other, &format!("{indent}  "));
                lines.extend(
                    format!("{indent}{key}: {value}")
                        .split('\n')
                        .map(str::to_owned),
                );
            }
        }
    }
}

fn list(items: &[Value], indent: &str, lines: &mut Vec<String>) {
    for item in items {
        let mut below = Vec::new();
        block(item, "", &mut below);
        for (location, line) in below.into_iter().enumerate() {
            let lead = if location == 0 { "- " } else { "  " };
            lines.push(format!("{indent}{lead}{line}"));
        }
    }
}

fn scalar(value: &Value, indent: &str) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(string) => text(string, indent),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
    }
}

/// Text: plain where that is read back as the same text, else in quotation marks, of several lines as a block.
fn text(string: &str, indent: &str) -> String {
    if string.trim_end_matches('\n').contains('\n') {
        return literal(string, indent);
    }
    let starts_oddly = string
        .chars()
        .next()
        .is_some_and(|first| !(first.is_alphanumeric() || first == '_'));
    if matches!(string, "y" | "Y" | "n" | "N") || (starts_oddly && !string.contains('"')) {
        return double_quoted(string);
    }
    if string.is_empty() || is_something_else(string) || !may_be_plain(string) {
        return format!("'{}'", string.replace('\'', "''"));
    }
    string.to_owned()
}

fn double_quoted(string: &str) -> String {
    let escaped = string.replace('\\', "\\\\").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

fn literal(string: &str, indent: &str) -> String {
    let (mark, body) = match string.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", string),
    };
    let lines = body.split('\n').map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{indent}{line}")
        }
    });
    format!("{mark}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Whether YAML 1.1 takes the text for something that is no text.
fn is_something_else(string: &str) -> bool {
    const WORDS: [&str; 8] = ["yes", "no", "on", "off", "true", "false", "null", "~"];
    let is_word = WORDS.iter().any(|word| string.eq_ignore_ascii_case(word));
    let numeric = |marks: &[char]| {
        string.starts_with(|c: char| c.is_ascii_digit())
            && string
                .chars()
                .all(|c| c.is_ascii_digit() || marks.contains(&c))
    };
    let dots = string.matches('.').count();
    let is_number =
        (numeric(&[',', '_', '.', 'e', 'E', '+', '-']) && dots <= 1 && !is_range(string))
            || string.parse::<f64>().is_ok();
    let is_time = numeric(&[':', '.']) && string.contains(':');
    is_word || is_number || is_time || is_date(string)
}

/// `100-3000` is text.
fn is_range(string: &str) -> bool {
    string
        .split_once('-')
        .is_some_and(|(first, _)| first.ends_with(|c: char| c.is_ascii_digit()))
}

fn is_date(string: &str) -> bool {
    let parts: Vec<&str> = string.splitn(3, '-').collect();
    matches!(parts.as_slice(), [year, month, day] if year.len() == 4 && month.len() <= 2 && !day.is_empty()
        && [year, month].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        && day.starts_with(|c: char| c.is_ascii_digit()))
}

fn may_be_plain(string: &str) -> bool {
    !string.contains(": ")
        && !string.contains(" #")
        && !string.ends_with([':', ' ', '\n'])
        && !string.starts_with(' ')
        && string.chars().all(|c| !c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> String {
        let lines = yaml_lines(value, 0, Change::None);
        let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        lines.join("\n")
    }

    #[test]
    fn values_are_written_as_a_director_writes_them() {
        let value = json!({
            "azs": [{"cloud_properties": {}, "name": "z1"}],
            "version": "1.1",
            "times": "100-3000",
            "range": "192.168.56.0/24",
            "hidden": "<redacted>",
            "variable": "((/odb/x))",
            "reserved": [],
            "static": ["192.168.56.10-192.168.56.20"],
            "yes": true,
            "word": "on",
            "none": null,
            "sentence": "a: b",
            "script": "one\ntwo\n",
        });
        assert_eq!(
            written(&value),
            r#"azs:
- cloud_properties: {}
  name: z1
version: '1.1'
times: 100-3000
range: 192.168.56.0/24
hidden: "<redacted>"
variable: "((/odb/x))"
reserved: []
static:
- 192.168.56.10-192.168.56.20
'yes': true
word: 'on'
none:
sentence: 'a: b'
script: |
  one
  two"#
        );
    }
}
