//! Values as Ruby prints them, which the Director and the Cloud Controller do in their error texts.

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
