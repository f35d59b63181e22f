//! Parameters and plan properties in the author's own types.
//!
//! An author describes parameters once, as a struct. Errors name the expected value, and the platform
//! gets the same struct as a schema, so schema and check cannot disagree
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", 23 and 24).
//!
//! ```
//! use odb_adapter_sdk::protocol::{PlanSchemas, RequestParameters};
//! use odb_adapter_sdk::schemars::{self, JsonSchema};
//! use serde::Deserialize;
//!
//! /// What a cache may be ordered with.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Parameters {
//!     /// How many clients may be connected at once.
//!     #[schemars(range(min = 1, max = 10_000))]
//!     maxclients: Option<u32>,
//!     /// What goes when memory is full.
//!     eviction: Option<Eviction>,
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(rename_all = "lowercase")]
//! enum Eviction {
//!     Oldest,
//!     Random,
//! }
//!
//! let request = RequestParameters::from_json(r#"{"parameters": {"maxclients": "many"}}"#)?;
//! let error = request.parameters::<Parameters>().err().expect("that is no number");
//! assert_eq!(error.to_string(), "parameter `maxclients` must be a whole number from 1 to 10000");
//!
//! let schemas = PlanSchemas::of_parameters::<Parameters>();
//! let schema = &schemas.service_instance.create.parameters;
//! assert_eq!(schema["properties"]["maxclients"]["maximum"], 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Schemas come from [`schemars`]; its attributes `range`, `length` and `regex` limit values, and
//! `serde(deny_unknown_fields)` makes unknown names an error. Other names of a field (`alias`) are not
//! in the schema and not taken. A field that serde reads with a function of the author's
//! (`deserialize_with`) has the schema of its type unless `schemars(with = "…")` names another: there
//! the two are the author's to keep together.
//!
//! | file | holds |
//! | --- | --- |
//! | here | the two readers and their errors; the schemas that a catalog shows |
//! | `draft4` | the schema of a type, in the draft that platforms read, to hold documents against |
//! | `errors`, `expectation` | what is wrong and where, and what would be right, in words |

mod draft4;
mod errors;
mod expectation;

use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::draft4::schema_of;
use self::errors::{ParameterErrors, Subject};
use crate::AdapterError;
use crate::protocol::{
    ParametersSchema, Plan, PlanSchemas, RequestParameters, ServiceBindingSchemas,
    ServiceInstanceSchemas,
};

pub use self::draft4::{Draft4Schema, UnusableSchema};

impl RequestParameters {
    /// The parameters that the user chose, as the author's type; none at all is an empty object.
    ///
    /// With `?` the error becomes one for the platform user.
    ///
    /// An upgrade has no parameters, nor has the check for pending changes, and an update only those
    /// that change. A type with parameters that must be there is for creates alone, where there is no
    /// previous manifest.
    pub fn parameters<P: DeserializeOwned + JsonSchema>(&self) -> Result<P, ParametersError> {
        let chosen = match self.fields().get("parameters") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(object @ Value::Object(_)) => object.clone(),
            Some(_) => return Err(ParametersError::must_be("", "a JSON object")),
        };
        decoded(chosen).map_err(ParametersError)
    }
}

/// Why parameters are rejected, in words for the platform user: every error that was found, each with the name of the
/// parameter and what would be right. Never a value, which may be secret.
///
/// It becomes an [`AdapterError`] for that user with `?`, which is why this type is not an [`std::error::Error`]
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParametersError(NotDecoded);

impl ParametersError {
    /// A parameter that the author's own check rejects. `expected` follows "must be", such as `a cloud config in YAML`.
    pub fn must_be(parameter: impl Into<String>, expected: &str) -> Self {
        Self::from(ParameterErrors::must_be(parameter.into(), expected))
    }

    /// The unsupported parameters, sorted, such as `limits.memroy`.
    pub fn unsupported(&self) -> impl Iterator<Item = &str> {
        match &self.0 {
            NotDecoded::ParameterErrors(errors) => Some(errors.unsupported()),
            NotDecoded::UnusableSchema(_) => None,
        }
        .into_iter()
        .flatten()
    }
}

impl From<ParameterErrors> for ParametersError {
    fn from(errors: ParameterErrors) -> Self {
        Self(NotDecoded::ParameterErrors(errors))
    }
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.report(Subject::Parameter, f)
    }
}

impl From<ParametersError> for AdapterError {
    fn from(error: ParametersError) -> Self {
        match error.0 {
            NotDecoded::UnusableSchema(error) => Self::for_operator(error),
            NotDecoded::ParameterErrors(_) => Self::for_user(error.to_string()),
        }
    }
}

impl Plan {
    /// The properties that the operator set, as the author's type.
    ///
    /// Names that the type does not know pass, unless it says `serde(deny_unknown_fields)`.
    pub fn properties_as<T: DeserializeOwned + JsonSchema>(
        &self,
    ) -> Result<T, PlanPropertiesError> {
        decoded(Value::Object(self.properties.clone())).map_err(PlanPropertiesError)
    }
}

/// Why the properties of a plan are rejected, in words for the operator who wrote them: every error that was found, and
/// never a value.
///
/// With `?` it becomes an [`AdapterError`] for the operator; users cannot fix a plan and do not
/// see the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPropertiesError(NotDecoded);

impl PlanPropertiesError {
    /// A property that the author's own check rejects. `expected` follows "must be".
    pub fn must_be(property: impl Into<String>, expected: &str) -> Self {
        Self::from(ParameterErrors::must_be(property.into(), expected))
    }
}

impl From<ParameterErrors> for PlanPropertiesError {
    fn from(errors: ParameterErrors) -> Self {
        Self(NotDecoded::ParameterErrors(errors))
    }
}

impl fmt::Display for PlanPropertiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.report(Subject::PlanProperty, f)
    }
}

impl Error for PlanPropertiesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            NotDecoded::ParameterErrors(_) => None,
            NotDecoded::UnusableSchema(error) => error.source(),
        }
    }
}

/// For requests that take no parameters: every name is one too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "No parameters", description = "No parameters.")]
pub struct NoParameters {}

impl PlanSchemas {
    /// The schemas of the types that orders, updates and bindings are read into, in draft 4 of JSON
    /// Schema, the one that platforms read. Comments on types and fields become descriptions.
    ///
    /// Platforms take schemas of at most 64 KiB each (`spec/contracts/osb-api.md`).
    pub fn of<Create: JsonSchema, Update: JsonSchema, Bind: JsonSchema>() -> Self {
        Self {
            service_instance: ServiceInstanceSchemas {
                create: ParametersSchema::new(schema_of::<Create>()),
                update: ParametersSchema::new(schema_of::<Update>()),
            },
            service_binding: ServiceBindingSchemas {
                create: ParametersSchema::new(schema_of::<Bind>()),
            },
        }
    }

    /// The schemas of an offering that is ordered and updated with the same parameters and bound
    /// without any.
    pub fn of_parameters<P: JsonSchema>() -> Self {
        Self::of::<P, P, NoParameters>()
    }
}

/// Why a document did not become the author's type.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NotDecoded {
    /// The author of the document must fix it.
    ParameterErrors(ParameterErrors),
    /// The author of the type is to fix it.
    UnusableSchema(UnusableSchema),
}

impl NotDecoded {
    fn report(&self, subject: Subject, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParameterErrors(errors) => errors.report(subject, f),
            Self::UnusableSchema(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// Validates a document against the schema of a type, so that all errors are found, and decodes it.
fn decoded<T: DeserializeOwned + JsonSchema>(document: Value) -> Result<T, NotDecoded> {
    let schema = Draft4Schema::of::<T>().map_err(NotDecoded::UnusableSchema)?;
    schema
        .check(&document)
        .map_err(NotDecoded::ParameterErrors)?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| NotDecoded::ParameterErrors(ParameterErrors::of_decoding(&error)))
}
