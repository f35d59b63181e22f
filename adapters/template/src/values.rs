//! Values that are chosen once and found again: parameter, previous manifest, plan property,
//! default (`spec/contracts/adapter-protocol.md`, "What an author must do").

use std::collections::BTreeMap;

use anyhow::Context as _;
use odb_adapter_sdk::AdapterError;
use serde_json::{Map, Value};

use crate::folder::{Folder, KeptValue, item};
use crate::path::{ManifestPath, first_found};

/// The value of each setting; those without a source are left out.
pub(crate) fn decide(
    folder: &Folder,
    context: &Map<String, Value>,
    previous_manifest: Option<&Value>,
) -> Result<Map<String, Value>, AdapterError> {
    let mut values = Map::new();
    for (name, kept) in &folder.description.values {
        let key = format!("values.{name}.kept_at");
        let locations = locations(folder, &key, kept.kept_at.0.len(), context)?;
        let previous = first_found(&locations, previous_manifest);
        let parameter = kept
            .parameter
            .as_ref()
            .and_then(|parameter| context.get("parameters")?.get(parameter));
        if let (false, Some(name), Some(wanted), Some(previous)) =
            (kept.may_change, &kept.parameter, parameter, previous)
            && !is_equal(wanted, previous)
        {
            return Err(AdapterError::for_user(format!(
                "parameter `{name}` cannot be changed once the service instance is created"
            )));
        }
        let value = parameter.or(previous).cloned();
        if let Some(value) = value.or_else(|| otherwise(kept, context)) {
            values.insert(name.clone(), value);
        }
    }
    Ok(values)
}

pub(crate) fn locations(
    folder: &Folder,
    key: &str,
    count: usize,
    context: &Map<String, Value>,
) -> Result<Vec<ManifestPath>, AdapterError> {
    let numbers = 0..count;
    numbers
        .map(|number| {
            let key = item(&format!("{key}[{number}]"));
            match folder.engine.value(&key, context)? {
                Some(Value::String(text)) => Ok(text
                    .parse::<ManifestPath>()
                    .with_context(|| format!("`{key}` is not a path in a manifest"))?),
                _ => Err(AdapterError::for_operator(format!(
                    "`{key}` must render a text"
                ))),
            }
        })
        .collect()
}

pub(crate) fn secret_locations(
    folder: &Folder,
    context: &Map<String, Value>,
) -> Result<BTreeMap<String, Vec<ManifestPath>>, AdapterError> {
    let secrets = folder.description.secrets.iter();
    secrets
        .map(|(name, secret)| {
            let key = format!("secrets.{name}.kept_at");
            let locations = locations(folder, &key, secret.kept_at.0.len(), context)?;
            Ok((name.clone(), locations))
        })
        .collect()
}

fn otherwise(kept: &KeptValue, context: &Map<String, Value>) -> Option<Value> {
    let property = kept
        .plan_property
        .as_ref()
        .and_then(|property| context.get("plan")?.get("properties")?.get(property));
    property
        .filter(|value| !value.is_null())
        .or(kept.default.as_ref())
        .cloned()
}

/// Whether two values are the same to a user: `1` and `1.0` are.
fn is_equal(one: &Value, other: &Value) -> bool {
    let integer = |value: &Value| value.as_number().and_then(serde_json::Number::as_i128);
    // Adjacent large integers are the same floating point number.
    if let (Some(one), Some(other)) = (integer(one), integer(other)) {
        return one == other;
    }
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_equal;

    #[test]
    fn numbers_are_the_same_by_value_and_large_ones_to_the_last_digit() {
        assert!(is_equal(&json!(1), &json!(1.0)));
        assert!(is_equal(&json!(u64::MAX), &json!(u64::MAX)));
        assert!(!is_equal(&json!(i64::MAX), &json!(i64::MAX - 1)));
        assert!(!is_equal(&json!(i64::MAX), &json!(1u64 << 63)));
        assert!(!is_equal(&json!(1), &json!("1")));
    }
}
