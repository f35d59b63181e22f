use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json;

/// The body of the platform's request, unchanged (`spec/contracts/adapter-protocol.md`, "Request parameters").
///
/// The content is not trusted: an accessor returns nothing if its part is missing or has another type. Formatting does
/// not show the content.
#[derive(Clone)]
pub struct RequestParameters {
    text: Box<RawValue>,
    fields: Map<String, Value>,
}

/// Text that is neither a JSON object nor `null`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRequestParameters {
    /// Not JSON.
    #[error("the request parameters are not JSON")]
    NotJson(#[source] json::Error),
    /// JSON, but a list or a scalar.
    #[error("the request parameters must be a JSON object")]
    NotAnObject,
}

impl RequestParameters {
    /// Reads the text of a JSON object, or `null`, which has no fields.
    pub fn from_json(text: &str) -> Result<Self, NotRequestParameters> {
        let raw: Box<RawValue> = json::from_str(text).map_err(NotRequestParameters::NotJson)?;
        let fields = match json::from_str(raw.get()).map_err(NotRequestParameters::NotJson)? {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(NotRequestParameters::NotAnObject);
            }
        };
        Ok(Self { text: raw, fields })
    }

    /// Request parameters of these fields.
    pub fn from_fields(fields: Map<String, Value>) -> Self {
        let text = Value::Object(fields.clone()).to_string();
        let text = RawValue::from_string(text).expect("a JSON value writes itself as JSON");
        Self { text, fields }
    }

    /// One field of the request and no other, `null` where it is absent.
    #[must_use]
    pub fn only(&self, field: &str) -> Self {
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(self.as_json()).unwrap_or_default();
        let value = fields.get(field).map_or("null", |value| value.get());
        let text = format!("{{{}:{value}}}", Value::from(field));
        let text = RawValue::from_string(text).expect("a field of a JSON object makes another");
        let value = self.fields.get(field).cloned().unwrap_or_default();
        Self {
            text,
            fields: Map::from_iter([(field.to_owned(), value)]),
        }
    }

    /// The JSON text as it arrived.
    pub fn as_json(&self) -> &str {
        self.text.get()
    }

    /// Every field of the request.
    ///
    /// Integers beyond 64 bits are kept in [`as_json`](Self::as_json) only; here they are floating
    /// point numbers.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The parameters that the user chose.
    pub fn arbitrary(&self) -> Map<String, Value> {
        self.object("parameters")
    }

    /// The platform's context of the request.
    pub fn context(&self) -> Map<String, Value> {
        self.object("context")
    }

    /// The platform's name from the context, such as `cloudfoundry`.
    pub fn platform(&self) -> Option<&str> {
        self.fields.get("context")?.get("platform")?.as_str()
    }

    /// The target of the binding.
    pub fn bind_resource(&self) -> Map<String, Value> {
        self.object("bind_resource")
    }

    /// The application to bind, from the bind resource or, from older platforms, beside it.
    pub fn app_guid(&self) -> Option<&str> {
        [
            self.fields
                .get("bind_resource")
                .and_then(|resource| resource.get("app_guid")),
            self.fields.get("app_guid"),
        ]
        .into_iter()
        .filter_map(|guid| guid?.as_str())
        .find(|guid| !guid.is_empty())
    }

    fn object(&self, name: &str) -> Map<String, Value> {
        match self.fields.get(name) {
            Some(Value::Object(object)) => object.clone(),
            _ => Map::new(),
        }
    }
}

impl Default for RequestParameters {
    /// No fields: `{}`.
    fn default() -> Self {
        Self::from_fields(Map::new())
    }
}

impl fmt::Debug for RequestParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestParameters({} bytes)", self.as_json().len())
    }
}
