//! Paths of values such as `master.service.type`, and patterns with `*` for one key.

use std::fmt;

use serde_json::Value;

use super::Values;

/// A path with wildcards. It covers the value and all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

impl Pattern {
    /// Reads `*.image.registry`; none for an empty key.
    pub fn parse(text: &str) -> Option<Self> {
        let keys: Vec<String> = text.split('.').map(str::to_owned).collect();
        keys.iter().all(|key| !key.is_empty()).then_some(Self(keys))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether what the pattern names lies below the path.
    pub(crate) fn is_below(&self, path: &[&str]) -> bool {
        path.len() < self.0.len()
            && self
                .0
                .iter()
                .zip(path)
                .all(|(own, key)| own == "*" || own == key)
    }

    /// Whether the path is one that the pattern names, or lies below it.
    pub(crate) fn covers(&self, path: &[&str]) -> bool {
        path.len() >= self.0.len()
            && self
                .0
                .iter()
                .zip(path)
                .all(|(own, key)| own == "*" || own == key)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Calls `visit` with each value that is no map, and with each empty map.
pub(crate) fn leaves<'v>(values: &'v Values, visit: &mut impl FnMut(&[&'v str], &'v Value)) {
    descend(values, &mut Vec::new(), visit);
}

fn descend<'v>(
    values: &'v Values,
    path: &mut Vec<&'v str>,
    visit: &mut impl FnMut(&[&'v str], &'v Value),
) {
    for (key, value) in values {
        path.push(key);
        match value {
            Value::Object(members) if !members.is_empty() => descend(members, path, visit),
            leaf => visit(path, leaf),
        }
        path.pop();
    }
}

pub(crate) fn at<'v>(values: &'v Values, path: &[&str]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    let value = values.get(*first)?;
    match (rest, value) {
        ([], value) => Some(value),
        (rest, Value::Object(members)) => at(members, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_pattern_covers_what_lies_below_it_and_nothing_above() {
        let pattern = Pattern::parse("*.image.registry").unwrap();
        assert!(pattern.covers(&["master", "image", "registry"]));
        assert!(pattern.covers(&["master", "image", "registry", "x"]));
        assert!(!pattern.covers(&["master", "image"]));
        assert!(!pattern.covers(&["image", "registry"]));
        assert_eq!(Pattern::parse("a..b"), None);
    }
}
