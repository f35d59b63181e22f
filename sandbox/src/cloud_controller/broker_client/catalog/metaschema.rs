//! Draft 4 of JSON Schema, as far as it says what the keywords of a schema must be.

use serde_json::Value;

use super::super::shape::type_name;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

#[derive(Clone, Copy)]
enum Must {
    Text,
    Flag,
    Number,
    PositiveNumber,
    /// An integer that is not negative.
    Count,
    Schema,
    /// At least one.
    Schemas,
    MapOfSchemas,
    SchemaOrFlag,
    SchemaOrSchemas,
    /// At least one, each once.
    Texts,
    /// At least one, each once.
    Values,
    Types,
    Dependencies,
}

fn rule(keyword: &str) -> Option<Must> {
    Some(match keyword {
        "id" | "$schema" | "title" | "description" | "pattern" | "format" => Must::Text,
        "multipleOf" => Must::PositiveNumber,
        "maximum" | "minimum" => Must::Number,
        "exclusiveMaximum" | "exclusiveMinimum" | "uniqueItems" => Must::Flag,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            Must::Count
        }
        "additionalItems" | "additionalProperties" => Must::SchemaOrFlag,
        "items" => Must::SchemaOrSchemas,
        "required" => Must::Texts,
        "enum" => Must::Values,
        "type" => Must::Types,
        "definitions" | "properties" | "patternProperties" => Must::MapOfSchemas,
        "dependencies" => Must::Dependencies,
        "allOf" | "anyOf" | "oneOf" => Must::Schemas,
        "not" => Must::Schema,
        _ => return None,
    })
}

/// Where a schema breaks the rules, in the words of the Ruby library that a Cloud Controller looks with.
pub(super) fn violations(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look_at_schema("#/", schema, &mut found);
    found
}

fn look_at_schema(path: &str, schema: &Value, found: &mut Vec<String>) {
    let Value::Object(members) = schema else {
        return found.push(wrong_type(path, schema, "object"));
    };
    for (keyword, value) in members {
        if let Some(must) = rule(keyword) {
            look_at(&below(path, keyword), value, must, found);
        }
    }
}

fn look_at(path: &str, value: &Value, must: Must, found: &mut Vec<String>) {
    let mut typed = |fits: bool, wanted: &str| {
        if !fits {
            found.push(wrong_type(path, value, wanted));
        }
        fits
    };
    match must {
        Must::Text => {
            typed(value.is_string(), "string");
        }
        Must::Flag => {
            typed(value.is_boolean(), "boolean");
        }
        Must::Number => {
            typed(value.is_number(), "number");
        }
        Must::PositiveNumber => {
            if typed(value.is_number(), "number") && value.as_f64().is_some_and(|n| n <= 0.0) {
                found.push(format!(
                    "The property '{path}' did not have a minimum value of 0, exclusively"
                ));
            }
        }
        Must::Count => {
            if typed(value.is_i64() || value.is_u64(), "integer") && !value.is_u64() {
                found.push(format!(
                    "The property '{path}' did not have a minimum value of 0, inclusively"
                ));
            }
        }
        Must::Schema => look_at_schema(path, value, found),
        Must::MapOfSchemas => {
            if typed(value.is_object(), "object") {
                look_at_each(path, value, found);
            }
        }
        Must::Schemas => {
            if typed(value.is_array(), "array") && some(path, value, found) {
                look_at_each(path, value, found);
            }
        }
        Must::Texts | Must::Values => {
            if typed(value.is_array(), "array") && some(path, value, found) {
                look_at_list(path, value, must, found);
            }
        }
        Must::SchemaOrFlag => {
            let fits = value.is_boolean() || is_schema(value);
            one_of(path, value, fits, found);
        }
        Must::SchemaOrSchemas => {
            let fits = is_schema(value) || is_list(value, is_schema);
            one_of(path, value, fits, found);
        }
        Must::Types => {
            let fits = is_type(value) || is_list(value, is_type);
            one_of(path, value, fits, found);
        }
        Must::Dependencies => {
            if typed(value.is_object(), "object") {
                for (name, dependency) in value.as_object().into_iter().flatten() {
                    let fits = is_schema(dependency) || is_list(dependency, Value::is_string);
                    one_of(&below(path, name), dependency, fits, found);
                }
            }
        }
    }
}

fn look_at_each(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, schema)| look_at_schema(&below(path, name), schema, found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, schema)| {
            look_at_schema(&below(path, &index.to_string()), schema, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn look_at_list(path: &str, value: &Value, must: Must, found: &mut Vec<String>) {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    if matches!(must, Must::Texts) {
        let wrong = items
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.is_string());
        for (index, item) in wrong {
            found.push(wrong_type(&below(path, &index.to_string()), item, "string"));
        }
    }
    if items
        .iter()
        .enumerate()
        .any(|(index, item)| items[..index].contains(item))
    {
        found.push(format!(
            "The property '{path}' contained duplicated array values"
        ));
    }
}

fn some(path: &str, list: &Value, found: &mut Vec<String>) -> bool {
    let is_empty = list.as_array().is_none_or(Vec::is_empty);
    if is_empty {
        found.push(format!(
            "The property '{path}' did not contain a minimum number of items 1"
        ));
    }
    !is_empty
}

fn one_of(path: &str, value: &Value, fits: bool, found: &mut Vec<String>) {
    if !fits {
        found.push(format!(
            "The property '{path}' of type {} did not match one or more of the required schemas",
            type_name(value)
        ));
    }
}

fn is_schema(value: &Value) -> bool {
    let mut found = Vec::new();
    look_at_schema("#/", value, &mut found);
    found.is_empty()
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn is_list(value: &Value, of: impl Fn(&Value) -> bool) -> bool {
    value
        .as_array()
        .is_some_and(|items| !items.is_empty() && items.iter().all(of))
}

fn below(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}

fn wrong_type(path: &str, value: &Value, wanted: &str) -> String {
    format!(
        "The property '{path}' of type {} did not match the following type: {wanted}",
        type_name(value)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_must_be_what_draft_four_says() {
        assert_eq!(
            violations(
                &json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}},
                "required": ["a"], "additionalProperties": false, "items": [{}], "x-own": 7})
            ),
            Vec::<String>::new()
        );
        assert_eq!(
            violations(&json!({"properties": true, "anyOf": true})),
            [
                "The property '#/properties' of type boolean did not match the following type: object",
                "The property '#/anyOf' of type boolean did not match the following type: array",
            ]
        );
        assert_eq!(
            violations(
                &json!({"type": "foo", "properties": {"a": {"maxLength": -1, "required": []}}})
            ),
            [
                "The property '#/type' of type string did not match one or more of the required schemas",
                "The property '#/properties/a/maxLength' did not have a minimum value of 0, inclusively",
                "The property '#/properties/a/required' did not contain a minimum number of items 1",
            ]
        );
    }
}
