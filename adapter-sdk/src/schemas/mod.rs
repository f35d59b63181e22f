//! JSON Schemas of the protocol's documents (draft 2020-12), made of the types that read and write
//! them. They lie in `spec/schemas/adapter`, for authors who write their adapter in another language
//! and for their editors.
//!
//! What a schema accepts the SDK accepts, but for one thing: to JSON Schema `4.0` is a whole number,
//! to adapters it is none. Where the SDK is lenient and the document would be of no use all the same,
//! as a plan schema that does not say its draft, the schema is strict.
//!
//! | file | holds |
//! | --- | --- |
//! | `documents` | every document of the protocol with its schema |
//! | `texts` | parts of documents that are documents themselves, as text |
//! | `request_parameters` | what is known of the body of a request |
//! | `tidy` | what `schemars` says in the words of Rust, in those of JSON |

mod documents;
mod request_parameters;
pub(crate) mod texts;
mod tidy;

pub(crate) use tidy::integer_range;

pub use documents::{Document, documents};
