//! Takes a request apart: path, query, body.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    future::{Ready, ready},
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    error::PayloadError,
    http::StatusCode,
    web::{Bytes, Query},
};
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    code::Code,
    ids::{BindingId, InstanceId, InvalidId},
};
use odb_core::engine::Deletion;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::error::ApiError;

/// The largest body that is read. Platforms send a few kilobytes; arbitrary parameters may be a certificate or two.
pub(super) const MAX_BODY: usize = 1024 * 1024;

pub(crate) struct Parameters(Vec<(String, String)>);

impl FromRequest for Parameters {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let parsed = Query::<Vec<(String, String)>>::from_query(request.query_string());
        ready(
            parsed
                .map(|query| Self(query.into_inner()))
                .map_err(|_| ApiError::malformed("The query of the request cannot be understood.")),
        )
    }
}

impl Parameters {
    /// The value of a parameter; empty and absent are the same. Given twice, the first counts.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn says_yes(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// All parameters, each name once: given twice, the first value counts.
    pub(super) fn firsts(self) -> Vec<(String, String)> {
        let mut seen = BTreeSet::new();
        let first = |(name, _): &(String, String)| seen.insert(name.clone());
        self.0.into_iter().filter(first).collect()
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| {
            ApiError::malformed(format!(
                "{name} missing: give it in the query of the request."
            ))
        })
    }

    pub(super) fn deletion(&self) -> Deletion {
        if self.says_yes("force") {
            Deletion::Forced
        } else {
            Deletion::Careful
        }
    }

    /// Whether the platform waits, in the one spelling of the specification.
    pub(super) fn accepts_incomplete(&self) -> bool {
        self.says_yes("accepts_incomplete")
    }

    /// The same, in all the spellings that the Go broker takes for an update.
    pub(super) fn leniently_accepts_incomplete(&self) -> bool {
        let given = self.get("accepts_incomplete").unwrap_or_default();
        ["1", "t", "T", "TRUE", "true", "True"].contains(&given)
    }
}

pub(super) struct Body<T> {
    pub(super) value: T,
    pub(super) raw: RequestParameters,
}

/// Understands a body. `parameters` is put in where it is missing: adapters rely on finding it.
pub(super) fn body<T: DeserializeOwned>(
    bytes: Result<Bytes, actix_web::Error>,
) -> Result<Body<T>, ApiError> {
    let bytes = bytes.map_err(|error| match error.as_error::<PayloadError>() {
        Some(PayloadError::Overflow) => ApiError::too_large(MAX_BODY),
        _ => ApiError::malformed("The body of the request could not be read."),
    })?;
    let _unique: UniqueNames =
        serde_json::from_slice(&bytes).map_err(|error| not_unique(&error))?;
    let value = serde_json::from_slice(&bytes).map_err(|error| not_json(&error))?;
    let mut fields: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(&bytes).map_err(|error| not_json(&error))?;
    fields
        .entry("parameters".to_owned())
        .or_insert_with(|| RawValue::from_string("{}".to_owned()).expect("this is JSON"));
    let text = serde_json::to_string(&fields).expect("raw JSON under text keys is JSON");
    let raw = RequestParameters::from_json(&text)
        .map_err(|_| ApiError::malformed("The body of the request is not a JSON object."))?;
    Ok(Body { value, raw })
}

fn not_unique(error: &serde_json::Error) -> ApiError {
    if error.is_data() {
        let (line, column) = (error.line(), error.column());
        ApiError::malformed(format!(
            "The body of the request has a name twice in one object, seen at line {line} column {column}."
        ))
    } else {
        not_json(error)
    }
}

/// serde's own text may quote a value; the location is enough to find it.
fn not_json(error: &serde_json::Error) -> ApiError {
    let (line, column) = (error.line(), error.column());
    ApiError::malformed(if error.is_data() {
        format!(
            "A value in the body of the request has the wrong type, seen at line {line} column {column}."
        )
    } else {
        format!("The body of the request is not JSON, seen at line {line} column {column}.")
    })
}

pub(super) fn bad_path() -> actix_web::Error {
    ApiError::malformed("The path of the request cannot be understood.").into()
}

/// The answer of routes that the catalog does not announce.
pub(super) fn not_offered(what: &str) -> ApiError {
    let text = format!("{what} Not Implemented");
    ApiError::new(StatusCode::NOT_FOUND, Code::NotSupported, text)
}

pub(crate) fn instance_id(text: String) -> Result<InstanceId, ApiError> {
    InstanceId::try_from(text).map_err(|error| invalid_id("service instance", error))
}

pub(super) fn binding_id(text: String) -> Result<BindingId, ApiError> {
    BindingId::try_from(text).map_err(|error| invalid_id("service binding", error))
}

fn invalid_id(what: &str, error: InvalidId) -> ApiError {
    ApiError::malformed(format!("The id of the {what} cannot be used: {error}.")).because(error)
}

/// JSON whose objects have no duplicate names. Of two values with one name, some parsers take the first and some the
/// last: the schema must not validate one while the adapter uses the other.
struct UniqueNames;

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = UniqueNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<UniqueNames, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = object.next_key::<String>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a name appears twice"));
            }
            object.next_value::<UniqueNames>()?;
        }
        Ok(UniqueNames)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueNames, A::Error> {
        while items.next_element::<UniqueNames>()?.is_some() {}
        Ok(UniqueNames)
    }

    fn visit_unit<E>(self) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_occurs_once_in_each_object() {
        for (text, fine) in [
            (
                r#"{"a": 1, "b": {"a": [null, true, -1, 1.5, "a"]}, "c": {"a": 2}}"#,
                true,
            ),
            (r#"{"a": 1, "a": 1}"#, false),
            (r#"{"a": [{"b": 1, "c": 2, "b": 3}]}"#, false),
            (r#"{"a": 1, "\u0061": 2}"#, false),
        ] {
            assert_eq!(
                serde_json::from_str::<UniqueNames>(text).is_ok(),
                fine,
                "{text}"
            );
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(serde_json::from_str::<UniqueNames>(&deep).is_err());
    }
}
