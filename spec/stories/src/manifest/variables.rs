//! `((names))` in a manifest, and the values that take their place.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

use odb_adapter_sdk::{secrets::Reference, yaml};
use serde_json::{Map, Value};

use super::{FileError, text_of};

/// Values by name. They are never printed.
#[derive(Clone, Default)]
pub struct Variables(pub(super) BTreeMap<String, Value>);

/// A document with values in place of names.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolation {
    /// The document.
    pub document: Value,
    /// Variables without a value; their names are still in the document.
    pub missing: BTreeSet<String>,
    /// Variables that were given and that nothing in the document asks for.
    pub unused: BTreeSet<String>,
}

/// A variable is at an invalid location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// A part of its value is asked for that it does not have.
    #[error("variable `{name}` has no `{key}`")]
    NoMember {
        /// Which.
        name: String,
        /// The part.
        key: String,
    },
    /// Within a text only texts and numbers are valid.
    #[error("variable `{0}` is part of a text, and is neither text nor whole number")]
    NotText(String),
}

impl Variables {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more, or another value, as with `-v NAME=VALUE`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value.into());
        self
    }

    /// Those of a file too, as with `-l FILE`.
    pub fn with_file(self, file: &Path) -> Result<Self, FileError> {
        self.with_text(&file.display().to_string(), &text_of(file)?)
    }

    /// Those of a text too; errors name it by `name`.
    pub fn with_text(mut self, name: &str, text: &str) -> Result<Self, FileError> {
        let values = yaml::from_str::<Option<Map<String, Value>>>(text);
        let values = values.map_err(|source| FileError::Malformed {
            file: name.to_owned(),
            kind: "a map of variables",
            source,
        })?;
        for (name, value) in values.into_iter().flatten() {
            self.set(&name, value);
        }
        Ok(self)
    }

    /// The names of all, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of a variable that is a text. One that is not there fails the test.
    pub fn text(&self, name: &str) -> &str {
        let value = self.get(name).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("there is no text `{name}`"))
    }

    /// Only those of these names.
    #[must_use]
    pub fn only(mut self, names: &BTreeSet<String>) -> Self {
        self.0.retain(|name, _| names.contains(name));
        self
    }

    /// Every name between `((` and `))` in a value, without the part after a dot.
    pub fn asked_for_by(document: &Value) -> BTreeSet<String> {
        let nothing = Self::new().interpolate(document);
        nothing.expect("nothing is put in place").missing
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn interpolate(&self, document: &Value) -> Result<Interpolation, VariableError> {
        let mut run = Run {
            variables: self,
            asked: BTreeSet::new(),
        };
        let document = run.value(document)?;
        let is_given = |name: &String| self.0.contains_key(name);
        let unused = self.0.keys().filter(|name| !run.asked.contains(*name));
        Ok(Interpolation {
            document,
            unused: unused.cloned().collect(),
            missing: run
                .asked
                .iter()
                .filter(|name| !is_given(name))
                .cloned()
                .collect(),
        })
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

struct Run<'v> {
    variables: &'v Variables,
    asked: BTreeSet<String>,
}

impl Run<'_> {
    fn value(&mut self, value: &Value) -> Result<Value, VariableError> {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Value::Object(members) => {
                let mut filled = Map::new();
                for (key, value) in members {
                    let key = match self.text(key)? {
                        Value::String(key) => key,
                        other => other.to_string(),
                    };
                    filled.insert(key, self.value(value)?);
                }
                Ok(Value::Object(filled))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn text(&mut self, text: &str) -> Result<Value, VariableError> {
        let mut filled = String::new();
        let mut rest = text;
        // Placeholders of adapters are text: their secrets are kept by the broker.
        let references = Reference::all_in(text).filter(|found| found.placeholder().is_none());
        for reference in references {
            let (before, after) = rest.split_once(reference.text()).unwrap_or((rest, ""));
            filled.push_str(before);
            rest = after;
            self.asked.insert(reference.root().to_owned());
            let Some(value) = self.look_up(&reference)? else {
                filled.push_str(reference.text());
                continue;
            };
            // One that is all of the text keeps its kind.
            if reference.text() == text {
                return Ok(value.clone());
            }
            match value {
                Value::String(value) => filled.push_str(value),
                Value::Number(number) if !number.is_f64() => filled.push_str(&number.to_string()),
                _ => return Err(VariableError::NotText(reference.name().to_owned())),
            }
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn look_up(&self, reference: &Reference<'_>) -> Result<Option<&Value>, VariableError> {
        let Some(mut value) = self.variables.get(reference.root()) else {
            return Ok(None);
        };
        for key in reference.members() {
            value = value.get(key).ok_or_else(|| VariableError::NoMember {
                name: reference.root().to_owned(),
                key: key.to_owned(),
            })?;
        }
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{VariableError, Variables};

    fn filled(document: &Value, variables: &Variables) -> Value {
        variables.interpolate(document).unwrap().document
    }

    #[test]
    fn a_variable_that_is_all_of_a_text_keeps_its_kind() {
        let variables = Variables::new().with("az", json!(["z1"])).with("n", 3);
        let document = json!({"azs": "((az))", "instances": "((n))", "name": "a-((n))-((!n))"});
        let expected = json!({"azs": ["z1"], "instances": 3, "name": "a-3-3"});
        assert_eq!(filled(&document, &variables), expected);
    }

    #[test]
    fn parts_of_a_value_are_named_behind_a_dot() {
        let variables = Variables::new().with("tls", json!({"ca": "CA", "nested": {"x": 1}}));
        let document = json!(["((tls.ca))", "((tls.nested.x))"]);
        assert_eq!(filled(&document, &variables), json!(["CA", 1]));
        let error = variables.interpolate(&json!("((tls.key))")).unwrap_err();
        assert_eq!(error.to_string(), "variable `tls` has no `key`");
    }

    #[test]
    fn a_map_is_rejected_within_a_text() {
        let variables = Variables::new().with("tls", json!({}));
        let error = variables.interpolate(&json!("a ((tls))")).unwrap_err();
        assert_eq!(error, VariableError::NotText("tls".to_owned()));
    }

    #[test]
    fn what_is_missing_and_what_is_unused_is_reported() {
        let variables = Variables::new().with("a", "((b))").with("c", 1);
        let document = json!({"((a))": "((d.e)) ((/f/g))"});
        let result = variables.interpolate(&document).unwrap();
        // Values are not interpolated again.
        assert_eq!(result.document, json!({"((b))": "((d.e)) ((/f/g))"}));
        assert_eq!(
            result.missing,
            BTreeSet::from(["/f/g".to_owned(), "d".to_owned()])
        );
        assert_eq!(result.unused, BTreeSet::from(["c".to_owned()]));
    }

    #[test]
    fn other_brackets_are_text() {
        let document = json!("(((a))) ((b c)) (()) (( ((a");
        let variables = Variables::new().with("a", "x");
        assert_eq!(
            filled(&document, &variables),
            json!("(x) ((b c)) (()) (( ((a")
        );
    }

    #[test]
    fn values_are_not_printed() {
        let variables = Variables::new().with("password", "s3cret");
        assert_eq!(format!("{variables:?}"), r#"{"password"}"#);
    }
}
