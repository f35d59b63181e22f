//! `odb-adapter check`: is an adapter true to the protocol (`spec/contracts/adapter-protocol.md`)?
//!
//! The adapter is asked what a broker would ask it in the life of an instance, and held to what the
//! broker, the Director and the Go SDK make of the answers.
//!
//! | file | holds |
//! | --- | --- |
//! | `command` | the command line |
//! | `course` | the course of a check |
//! | `rules` | what is held against adapters, `docs/authors/check.md` in code |
//! | `report`, `report_text` | what has been found, as data and for people |
//! | `session` | calls the adapter, remembers what is found, concludes with the report |
//! | `question`, `requests` | what is asked, in both forms |
//! | `answers` | what comes back |
//! | `deployed` | what a broker makes of it: stored secrets, references, addresses |
//! | `orders`, `stability` | orders without parameters, and what must stay as it is |
//! | `forms`, `malformed`, `subcommands` | other ways to ask |
//! | `parameters`, `refused_parameters`, `plan_changes` | what users choose |
//! | `bindings`, `dashboards` | bindings and dashboards |
//! | `schemas`, `schema_samples` | plan schemas, and documents that they take |
//! | `manifest_rules`, `scalars`, `secret_rules` | what every manifest is held to |
//! | `purpose` | what a call stands for, of one plan or of several |
//! | `place`, `difference` | places in documents, and where two of them differ |
//! | `known_secrets` | values that must not be seen |

mod answers;
mod bindings;
pub mod command;
mod course;
mod dashboards;
mod deployed;
pub(crate) mod difference;
mod forms;
mod known_secrets;
mod malformed;
mod manifest_rules;
mod orders;
mod parameters;
mod place;
mod plan_changes;
mod purpose;
mod question;
mod refused_parameters;
mod report;
mod report_text;
mod requests;
pub mod rules;
mod scalars;
mod schema_samples;
mod schemas;
mod secret_rules;
mod session;
mod stability;
mod subcommands;

pub use self::course::{Check, check};
pub use self::report::{Area, AreaReport, Finding, FindingCall, Report};
