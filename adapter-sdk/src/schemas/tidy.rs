use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Value, json};

/// Removes from a schema what only readers of Rust understand: formats of integers become bounds, references to items
/// become plain words, and empty defaults are dropped.
#[derive(Clone)]
pub(super) struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some((minimum, maximum)) = schema
            .get("format")
            .and_then(Value::as_str)
            .and_then(integer_range)
        {
            schema.remove("format");
            for (keyword, limit) in [("minimum", minimum), ("maximum", maximum)] {
                if schema.get(keyword).is_none() {
                    schema.insert(keyword.to_owned(), limit);
                }
            }
        }
        if schema.get("default").is_some_and(is_nothing) {
            schema.remove("default");
        }
        if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
            schema.remove("additionalProperties");
        }
        if let Some(Value::String(description)) = schema.remove("description") {
            let description = plain(&description).into();
            schema
                .ensure_object()
                .shift_insert(0, "description".to_owned(), description);
        }
        transform_subschemas(self, schema);
    }
}

/// The bounds of the integer formats that `schemars` names without bounds.
pub(crate) fn integer_range(format: &str) -> Option<(Value, Value)> {
    Some(match format {
        "int8" => (json!(i8::MIN), json!(i8::MAX)),
        "uint8" => (json!(0), json!(u8::MAX)),
        "int16" => (json!(i16::MIN), json!(i16::MAX)),
        "uint16" => (json!(0), json!(u16::MAX)),
        "int32" => (json!(i32::MIN), json!(i32::MAX)),
        "uint32" => (json!(0), json!(u32::MAX)),
        "int64" | "int" => (json!(i64::MIN), json!(i64::MAX)),
        "uint64" | "uint" => (json!(0), json!(u64::MAX)),
        _ => return None,
    })
}

fn is_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_nothing),
        Value::Bool(default) => !default,
        Value::Number(_) => false,
    }
}

/// A description on one line, with the words of its links and without their targets.
fn plain(description: &str) -> String {
    let mut plain = String::new();
    let mut rest = description.replace('\n', " ").replace("`None`", "`null`");
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((word, after)) = link.split_once("`]") else {
            break;
        };
        let after = match after
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
        plain = format!("{plain}{before}`{word}`");
        rest = after.to_owned();
    }
    plain + &rest
}
