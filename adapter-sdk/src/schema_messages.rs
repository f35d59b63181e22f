//! Violations of a JSON Schema in the words of users, for programs that validate parameters.

use std::fmt::Display;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// The most names in one message.
const REPORTED: usize = 10;
/// The most characters of a name.
pub const LONGEST: usize = 200;

/// `/maxmemory/policy` as users write it: `maxmemory.policy`. Empty for the parameters as a whole.
pub fn property(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
    shortened(parts.collect::<Vec<_>>().join("."))
}

/// The beginning of a long text.
pub fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What does not fit, without its value: parameters may be secret.
pub fn reported(property: &str, kind: &ValidationErrorKind) -> String {
    let below = |name: &str| {
        let name = shortened(name.to_owned());
        if property.is_empty() {
            format!("`{name}`")
        } else {
            format!("`{property}.{name}`")
        }
    };
    let subject = if property.is_empty() {
        "the parameters".to_owned()
    } else {
        format!("`{property}`")
    };
    let must = |what: &str, limit: &dyn Display, unit: &str| {
        format!("{subject} must {what} {limit}{unit}")
    };
    match kind {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names = unexpected.iter().take(REPORTED);
            let names: Vec<String> = names.map(|name| below(name)).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            format!("{} {verb} not known", names.join(", "))
        }
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{} is missing", below(name)),
        ValidationErrorKind::Type { kind } => {
            let names: Vec<String> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
            };
            format!("{subject} must be of type {}", names.join(" or "))
        }
        ValidationErrorKind::Enum { options } => {
            let options = shortened(options.to_string());
            format!("{subject} must be one of {options}")
        }
        ValidationErrorKind::Minimum { limit } => must("be at least", limit, ""),
        ValidationErrorKind::Maximum { limit } => must("be at most", limit, ""),
        ValidationErrorKind::ExclusiveMinimum { limit } => must("be more than", limit, ""),
        ValidationErrorKind::ExclusiveMaximum { limit } => must("be less than", limit, ""),
        ValidationErrorKind::MinLength { limit } => must("have at least", limit, " characters"),
        ValidationErrorKind::MaxLength { limit } => must("have at most", limit, " characters"),
        ValidationErrorKind::MinItems { limit } => must("have at least", limit, " items"),
        ValidationErrorKind::MaxItems { limit } => must("have at most", limit, " items"),
        ValidationErrorKind::UniqueItems => format!("{subject} must not have an item twice"),
        ValidationErrorKind::Pattern { pattern } => {
            let pattern = shortened(pattern.clone());
            format!("{subject} must match the pattern `{pattern}`")
        }
        ValidationErrorKind::Format { format } => {
            format!("{subject} must be of the format {format}")
        }
        other => format!(
            "{subject} does not fit `{}` of the plan's schema",
            other.keyword()
        ),
    }
}
