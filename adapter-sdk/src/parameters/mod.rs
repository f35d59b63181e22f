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
//! | `request`, `plan_properties` | the two readers and their errors |
//! | `plan_schemas` | the schemas that a catalog shows |
//! | `draft4` | the schema of a type, in the draft that platforms read |
//! | `draft4_schema` | such a schema, to hold documents against |
//! | `decoding` | a document held against the schema of a type, and decoded |
//! | `errors`, `expectation`, `location` | what is wrong, what would be right and where, in words |

mod decoding;
mod draft4;
mod draft4_schema;
mod errors;
mod expectation;
mod location;
mod plan_properties;
mod plan_schemas;
mod request;

pub use draft4_schema::{Draft4Schema, UnusableSchema};
pub use plan_properties::PlanPropertiesError;
pub use plan_schemas::NoParameters;
pub use request::ParametersError;
