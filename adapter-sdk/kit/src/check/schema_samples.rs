use serde_json::{Map, Value, json};

/// For each property of a schema a value that should be right. Those for which none can be made up
/// are left out.
pub(super) fn samples(schema: &Value) -> Vec<(String, Value)> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.clone(), sample(property)?)))
        .collect()
}

fn sample(property: &Value) -> Option<Value> {
    let given = ["default", "example"]
        .into_iter()
        .find_map(|key| property.get(key));
    let listed = ["enum", "examples"]
        .into_iter()
        .find_map(|key| property[key].as_array()?.first());
    if let Some(value) = given.or(listed) {
        return Some(value.clone());
    }
    let kind = match &property["type"] {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")?,
        _ => return None,
    };
    match kind {
        "boolean" => Some(true.into()),
        "integer" | "number" => Some(number(property)),
        // A text that must look like something cannot be made up.
        "string" if property.get("pattern").is_some() || property.get("format").is_some() => None,
        "string" => {
            let length = property["minLength"].as_u64().unwrap_or(1).clamp(1, 4096);
            Some("a".repeat(usize::try_from(length).ok()?).into())
        }
        "array" => {
            let length = property["minItems"].as_u64().unwrap_or(0).min(64);
            let item = || sample(&property["items"]);
            (0..length)
                .map(|_| item())
                .collect::<Option<Vec<_>>>()
                .map(Value::from)
        }
        "object" => {
            let required = property["required"].as_array();
            let members = required.into_iter().flatten().map(|name| {
                let name = name.as_str()?;
                Some((name.to_owned(), sample(&property["properties"][name])?))
            });
            members.collect::<Option<Map<_, _>>>().map(Value::from)
        }
        _ => None,
    }
}

fn number(property: &Value) -> Value {
    let least = match &property["minimum"] {
        Value::Number(least) => least.as_i64().map_or(1, |least| {
            least + i64::from(property["exclusiveMinimum"] == true)
        }),
        _ => 1,
    };
    let most = property["maximum"].as_i64().unwrap_or(i64::MAX);
    match property["multipleOf"].as_i64().filter(|step| *step > 0) {
        Some(step) => json!((least.max(1) + step - 1) / step * step),
        None => json!(least.min(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_its_schema_takes() {
        let schema = json!({"properties": {
            "a": {"type": "integer", "minimum": 3},
            "b": {"enum": ["x", "y"]},
            "c": {"type": ["null", "string"], "minLength": 2},
            "d": {"type": "string", "pattern": "^x"},
            "e": {"type": "object", "required": ["f"], "properties": {"f": {"type": "boolean"}}},
            "g": {"type": "array", "minItems": 1, "items": {"type": "number"}},
        }});
        let made: Map<String, Value> = samples(&schema).into_iter().collect();
        let expected = json!({"a": 3, "b": "x", "c": "aa", "e": {"f": true}, "g": [1]});
        assert_eq!(Value::from(made), expected);
    }
}
