//! `odb-adapter check`: does an adapter conform to the protocol (`spec/contracts/adapter-protocol.md`)?
//!
//! The check calls the adapter as a broker would during the life of an instance, and checks the answers as the broker,
//! the Director and the Go SDK would.
//!
//! | file | contents |
//! | --- | --- |
//! | `command` | the command line |
//! | `sequence` | the sequence of a check |
//! | `rules` | the rules for adapters, `docs/authors/check.md` in code |
//! | `report`, `report_text` | the findings, as data and as text |
//! | `session` | calls the adapter, collects findings, concludes with the report |
//! | `adapter_request`, `requests` | the requests, in both forms |
//! | `answers` | the answers |
//! | `deployed` | what a broker makes of an answer: stored secrets, references, addresses |
//! | `probes` | the parts of a check |
//! | `schema_samples` | documents that plan schemas accept |
//! | `manifest_rules`, `scalars`, `secret_rules` | the rules for every manifest |
//! | `purpose` | the purpose of a call, for one plan or several |
//! | `location`, `difference` | locations in documents, and where two documents differ |
//! | `known_secrets` | values that must not be shown |

mod adapter_request;
mod answers;
pub mod command;
mod deployed;
pub(crate) mod difference;
mod known_secrets;
mod location;
mod manifest_rules;
mod probes;
mod purpose;
mod report;
mod report_text;
mod requests;
pub mod rules;
mod scalars;
mod schema_samples;
mod secret_rules;
mod sequence;
mod session;

pub use self::report::{Area, AreaReport, Finding, FindingCall, Report};
pub use self::sequence::{Check, check};
