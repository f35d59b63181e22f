//! The requirement of a schema, as the text after "must be".

use serde_json::{Map, Value};

/// So deep are references followed: types may hold themselves.
const DEPTH: usize = 4;

/// The requirement of a schema, which is a part of `root`.
pub(super) fn of(root: &Value, schema: &Value) -> String {
    within(root, schema, DEPTH)
}

/// The requirement if values of this schema are rejected.
pub(super) fn of_refused(schema: &Value) -> String {
    match schema.get("enum") {
        Some(Value::Array(values)) => {
            let values: Vec<String> = values.iter().map(word).collect();
            format!("something else than {}", values.join(", "))
        }
        _ => "another value".to_owned(),
    }
}

fn within(root: &Value, schema: &Value, depth: usize) -> String {
    let Some((keywords, depth)) = schema.as_object().zip(depth.checked_sub(1)) else {
        return "another value".to_owned();
    };
    if let Some(target) = referenced(root, keywords) {
        return within(root, target, depth);
    }
    let words = words(root, schema, depth);
    if !words.is_empty() {
        return one_of(&words);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = keywords.get(choice)
            && !keywords.contains_key("properties")
        {
            let mut expected: Vec<String> = Vec::new();
            for branch in branches.iter().filter(|branch| !is_null(branch)) {
                let branch = within(root, branch, depth);
                if !expected.contains(&branch) {
                    expected.push(branch);
                }
            }
            return expected.join(" or ");
        }
    }
    if let Some(types) = keywords.get("type") {
        let types: Vec<&str> = match types {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        return of_types(root, keywords, &types, depth);
    }
    if let Some(Value::Array(parts)) = keywords.get("allOf")
        && let Some(first) = parts.first()
    {
        return within(root, first, depth);
    }
    match keywords.get("format") {
        Some(Value::String(format)) => of_format(format),
        _ => "another value".to_owned(),
    }
}

/// The words that a schema allows, in full or in each of its branches; none where it allows other
/// things too.
fn words(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    let Some((keywords, depth)) = schema.as_object().zip(depth.checked_sub(1)) else {
        return Vec::new();
    };
    if let Some(target) = referenced(root, keywords) {
        return words(root, target, depth);
    }
    if let Some(Value::Array(values)) = keywords.get("enum") {
        let values = values.iter().filter(|value| !value.is_null());
        return values.map(word).collect();
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = keywords.get(choice) {
            let branches = branches.iter().filter(|branch| !is_null(branch));
            let of_each: Vec<_> = branches.map(|branch| words(root, branch, depth)).collect();
            return if of_each.iter().any(Vec::is_empty) {
                Vec::new()
            } else {
                of_each.concat()
            };
        }
    }
    Vec::new()
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn one_of(words: &[String]) -> String {
    match words {
        [one] => one.clone(),
        several => format!("one of {}", several.join(", ")),
    }
}

fn of_types(root: &Value, keywords: &Map<String, Value>, types: &[&str], depth: usize) -> String {
    let expected: Vec<String> = types
        .iter()
        // An optional value may be null, but null is not worth mentioning.
        .filter(|&&name| name != "null" || types.len() == 1)
        .map(|name| match *name {
            "boolean" => "true or false".to_owned(),
            "integer" => number("a whole number", keywords),
            "number" => number("a number", keywords),
            "string" => text(keywords),
            "array" => list(root, keywords, depth),
            "object" => object(keywords),
            other => other.to_owned(),
        })
        .collect();
    expected.join(" or ")
}

fn number(kind: &str, keywords: &Map<String, Value>) -> String {
    let is_exclusive = |keyword| keywords.get(keyword) == Some(&Value::Bool(true));
    // The range of 64 bits is not worth mentioning.
    let least = keywords
        .get("minimum")
        .filter(|least| least.as_i64() != Some(i64::MIN));
    let most = keywords.get("maximum").filter(|most| {
        let most = most.as_u64();
        most != Some(u64::MAX) && most != Some(i64::MAX.cast_unsigned())
    });
    let above = is_exclusive("exclusiveMinimum");
    let below = is_exclusive("exclusiveMaximum");
    let mut said = match (least, most) {
        (Some(least), Some(most)) if !above && !below => format!("{kind} from {least} to {most}"),
        (least, most) => {
            let least = least.map(|least| {
                let relation = if above { "greater than" } else { "of at least" };
                format!("{relation} {least}")
            });
            let most = most.map(|most| {
                let relation = if below { "less than" } else { "of at most" };
                format!("{relation} {most}")
            });
            match (least, most) {
                (Some(least), Some(most)) => format!("{kind} {least} and {most}"),
                (Some(one), None) | (None, Some(one)) => format!("{kind} {one}"),
                (None, None) => kind.to_owned(),
            }
        }
    };
    if let Some(step) = keywords.get("multipleOf") {
        said = format!("{said} and a multiple of {step}");
    }
    said
}

fn text(keywords: &Map<String, Value>) -> String {
    let mut said = match keywords.get("format") {
        Some(Value::String(format)) => of_format(format),
        _ => "a string".to_owned(),
    };
    if let Some(size) = size(keywords, "minLength", "maxLength", "character") {
        said = format!("{said} {size}");
    }
    match keywords.get("pattern") {
        Some(Value::String(pattern)) => format!("{said} that matches `{pattern}`"),
        _ => said,
    }
}

fn of_format(format: &str) -> String {
    match format {
        "date-time" => "a time such as `2030-01-31T12:00:00Z`".to_owned(),
        "email" => "an e-mail address".to_owned(),
        "hostname" => "a host name".to_owned(),
        "ipv4" => "an IPv4 address".to_owned(),
        "ipv6" => "an IPv6 address".to_owned(),
        "uri" => "a URI".to_owned(),
        other => format!("a string of the format `{other}`"),
    }
}

fn list(root: &Value, keywords: &Map<String, Value>, depth: usize) -> String {
    let mut said = "a list".to_owned();
    if let Some(size) = size(keywords, "minItems", "maxItems", "item") {
        said = format!("{said} {size}");
    }
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        said = format!("{said}, without duplicates");
    }
    match keywords.get("items") {
        Some(item @ Value::Object(keywords)) if !keywords.is_empty() => {
            format!("{said}, each of them {}", within(root, item, depth))
        }
        _ => said,
    }
}

fn object(keywords: &Map<String, Value>) -> String {
    let mut said = "an object".to_owned();
    if let Some(size) = size(keywords, "minProperties", "maxProperties", "name") {
        said = format!("{said} {size}");
    }
    let required: Vec<String> = match keywords.get("required") {
        Some(Value::Array(names)) => names.iter().map(word).collect(),
        _ => Vec::new(),
    };
    match required.split_last() {
        None => said,
        Some((last, [])) => format!("{said} with {last}"),
        Some((last, others)) => format!("{said} with {} and {last}", others.join(", ")),
    }
}

/// `of 2 to 8 characters` and the like.
fn size(keywords: &Map<String, Value>, least: &str, most: &str, unit: &str) -> Option<String> {
    let least = keywords.get(least).and_then(Value::as_u64);
    let most = keywords.get(most).and_then(Value::as_u64);
    let counted = |count: u64| match count {
        1 => format!("1 {unit}"),
        count => format!("{count} {unit}s"),
    };
    match (least.filter(|&least| least > 0), most) {
        (None, None) => None,
        (Some(least), None) => Some(format!("of at least {}", counted(least))),
        (None, Some(most)) => Some(format!("of at most {}", counted(most))),
        (Some(least), Some(most)) if least == most => Some(format!("of {}", counted(most))),
        (Some(least), Some(most)) => Some(format!("of {least} to {}", counted(most))),
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

fn referenced<'r>(root: &'r Value, keywords: &Map<String, Value>) -> Option<&'r Value> {
    let reference = keywords.get("$ref")?.as_str()?;
    root.pointer(reference.strip_prefix('#')?)
}
