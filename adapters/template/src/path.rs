use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A place in a manifest, written as in BOSH's ops files: `/instance_groups/name=server/jobs/0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A key of a map, or the number of an element.
    Key(String),
    /// The element of a list of maps whose key has that value.
    Element { key: String, value: String },
}

/// A text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path: it must begin with `/` and have no empty segment")]
pub(crate) struct NotAPath {
    text: String,
}

impl ManifestPath {
    pub(crate) fn find<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(document, |value, step| match step {
            Step::Key(key) => match value {
                Value::Array(elements) => elements.get(key.parse::<usize>().ok()?),
                other => other.get(key),
            },
            Step::Element { key, value: wanted } => value
                .as_array()?
                .iter()
                .find(|element| element.get(key).and_then(Value::as_str) == Some(wanted)),
        })
    }
}

/// The value at the first of these paths that has one; null counts as none.
pub(crate) fn first_found<'v>(
    paths: &[ManifestPath],
    document: Option<&'v Value>,
) -> Option<&'v Value> {
    let document = document?;
    paths
        .iter()
        .find_map(|path| path.find(document))
        .filter(|value| !value.is_null())
}

impl FromStr for ManifestPath {
    type Err = NotAPath;

    fn from_str(text: &str) -> Result<Self, NotAPath> {
        let not_a_path = || NotAPath {
            text: text.to_owned(),
        };
        let steps = text.strip_prefix('/').ok_or_else(not_a_path)?;
        steps
            .split('/')
            .map(|step| match step.split_once('=') {
                _ if step.is_empty() => Err(not_a_path()),
                Some(("", _)) => Err(not_a_path()),
                Some((key, value)) => Ok(Step::Element {
                    key: unescaped(key),
                    value: unescaped(value),
                }),
                None => Ok(Step::Key(unescaped(step))),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Key(key) => write!(f, "/{}", escaped(key))?,
                Step::Element { key, value } => {
                    write!(f, "/{}={}", escaped(key), escaped(value))?;
                }
            }
        }
        Ok(())
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_by_key_number_and_name() {
        let document = json!({"groups": [{"name": "a/b"}, {"name": "c", "x": [1, {"~": 2}]}]});
        for (path, found) in [
            ("/groups/name=c/x/0", Some(json!(1))),
            ("/groups/1/x/1/~0", Some(json!(2))),
            ("/groups/name=a~1b/name", Some(json!("a/b"))),
            ("/groups/name=d", None),
            ("/groups/c", None),
            ("/groups/9", None),
            ("/name/x", None),
        ] {
            let path: ManifestPath = path.parse().unwrap();
            assert_eq!(path.find(&document), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "a", "/", "/a//b", "/=b"] {
            assert!(text.parse::<ManifestPath>().is_err(), "{text}");
        }
    }
}
