//! `odb-adapter check`: is an adapter true to the protocol (`spec/contracts/adapter-protocol.md`)?
//!
//! The adapter is asked what a broker would ask it in the life of an instance, and held to what the
//! broker, the Director and the Go SDK make of the answers.
//!
//! | file | holds |
//! | --- | --- |
//! | `command` | the command line |
//! | `sequence` | the course of a check |
//! | `rules` | what is held against adapters, `docs/authors/check.md` in code |
//! | `report`, `report_text` | what has been found, as data and for people |
//! | `session` | calls the adapter, remembers what is found, concludes with the report |
//! | `question`, `requests` | what is asked, in both forms |
//! | `answers` | what comes back |
//! | `deployed` | what a broker makes of it: stored secrets, references, addresses |
//! | `probes` | the parts of a check |
//! | `schema_samples` | documents that plan schemas take |
//! | `manifest_rules`, `scalars`, `secret_rules` | what every manifest is held to |
//! | `purpose` | what a call stands for, of one plan or of several |
//! | `location`, `difference` | places in documents, and where two of them differ |
//! | `known_secrets` | values that must not be seen |

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
