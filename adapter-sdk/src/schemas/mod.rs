//! JSON Schemas of the protocol's documents (draft 2020-12), generated from the types that read and write them. They
//! are committed in `spec/schemas/adapter`, for authors who use another language and for their editors.
//!
//! The SDK accepts what a schema accepts, with one exception: to JSON Schema `4.0` is an integer, to adapters it is
//! not. If the SDK is lenient but the document would be useless, as for a plan schema without its draft, the schema is
//! strict.
//!
//! | file | contents |
//! | --- | --- |
//! | `documents` | every document of the protocol with its schema |
//! | `texts` | parts of documents that are documents themselves, as text |
//! | `request_parameters` | the known parts of a request's body |
//! | `tidy` | converts the terms of `schemars` from those of Rust to those of JSON |

mod documents;
mod request_parameters;
pub(crate) mod texts;
mod tidy;

pub(crate) use tidy::integer_range;

pub use documents::{Document, documents};
