//! Takes a request apart: path, query, body.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Ready, ready},
};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    dev::Payload,
    error::PayloadError,
    web::{Bytes, Query},
};
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{BindingId, InstanceId};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{refusal::Refusal, unique_names::UniqueNames};
use crate::operations::{Patience, RequestContext};

/// The largest body that is read. Platforms send a few kilobytes; arbitrary parameters may be a certificate or two.
pub(super) const MAX_BODY: usize = 1024 * 1024;

/// What the request carries since it came in.
pub(super) struct WithContext(pub(super) RequestContext);

impl FromRequest for WithContext {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(
            request
                .extensions()
                .get::<RequestContext>()
                .cloned()
                .map(Self)
                .ok_or_else(Refusal::unattended),
        )
    }
}

/// The query of a request.
pub(super) struct Parameters(Vec<(String, String)>);

impl FromRequest for Parameters {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let parsed = Query::<Vec<(String, String)>>::from_query(request.query_string());
        ready(
            parsed
                .map(|query| Self(query.into_inner()))
                .map_err(|_| Refusal::malformed("The query of the request cannot be understood.")),
        )
    }
}

impl Parameters {
    /// The value of a parameter; empty and absent are the same. Given twice, the first counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// All parameters, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether a parameter is `true`.
    pub(super) fn says_yes(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// All parameters, each name once: given twice, the first value counts.
    pub(super) fn firsts(self) -> Vec<(String, String)> {
        let mut seen = BTreeSet::new();
        let first = |(name, _): &(String, String)| seen.insert(name.clone());
        self.0.into_iter().filter(first).collect()
    }

    /// A parameter that has to be there.
    pub(super) fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| {
            Refusal::malformed(format!(
                "{name} missing: give it in the query of the request."
            ))
        })
    }

    /// Whether the platform waits, in the one spelling of the specification.
    pub(super) fn patience(&self) -> Patience {
        if self.get("accepts_incomplete") == Some("true") {
            Patience::Waits
        } else {
            Patience::None
        }
    }

    /// The same, in all the spellings that the Go broker takes for an update.
    pub(super) fn lenient_patience(&self) -> Patience {
        match self.get("accepts_incomplete") {
            Some("1" | "t" | "T" | "TRUE" | "true" | "True") => Patience::Waits,
            Some(_) | None => Patience::None,
        }
    }
}

/// A body of JSON: as the type that is asked for, and as it came, for the adapter.
pub(super) struct Body<T> {
    pub(super) value: T,
    pub(super) raw: RequestParameters,
}

/// Understands a body. `parameters` is put in where it is missing: adapters rely on finding it.
pub(super) fn body<T: DeserializeOwned>(
    bytes: Result<Bytes, actix_web::Error>,
) -> Result<Body<T>, Refusal> {
    let bytes = bytes.map_err(|error| match error.as_error::<PayloadError>() {
        Some(PayloadError::Overflow) => Refusal::too_large(MAX_BODY),
        _ => Refusal::malformed("The body of the request could not be read."),
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
        .map_err(|_| Refusal::malformed("The body of the request is not a JSON object."))?;
    Ok(Body { value, raw })
}

fn not_unique(error: &serde_json::Error) -> Refusal {
    if error.is_data() {
        let (line, column) = (error.line(), error.column());
        Refusal::malformed(format!(
            "A name stands twice in one object of the body of the request, seen at line {line} column {column}."
        ))
    } else {
        not_json(error)
    }
}

/// serde's own words may quote a value; the place is enough to find it.
fn not_json(error: &serde_json::Error) -> Refusal {
    let (line, column) = (error.line(), error.column());
    Refusal::malformed(if error.is_data() {
        format!(
            "A value in the body of the request has the wrong type, seen at line {line} column {column}."
        )
    } else {
        format!("The body of the request is not JSON, seen at line {line} column {column}.")
    })
}

/// The answer to a path whose ids cannot be decoded.
pub(super) fn bad_path() -> actix_web::Error {
    Refusal::malformed("The path of the request cannot be understood.").into()
}

pub(super) fn instance_id(text: String) -> Result<InstanceId, Refusal> {
    InstanceId::try_from(text).map_err(|error| Refusal::invalid_id("service instance", error))
}

pub(super) fn binding_id(text: String) -> Result<BindingId, Refusal> {
    BindingId::try_from(text).map_err(|error| Refusal::invalid_id("service binding", error))
}
