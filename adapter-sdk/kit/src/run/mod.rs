//! `odb-adapter run`: sends one request by hand, and explains what a broker and its users would make of the answer.
//!
//! | file | contents |
//! | --- | --- |
//! | `command` | the command line |
//! | `adapter_request` | the request, and what is known of it |
//! | `prompt` | a call, from flags, files and the inputs of the check |
//! | `given` | the inputs on the command line and in files |
//! | `idle` | options that the subcommand does not use |
//! | `request` | the body of the platform's request behind the call |
//! | `deployed` | what a broker does with a generated manifest before the deployment |
//! | `answer` | the parsed answer |
//! | `explanation` | the meaning of its end |
//! | `masking` | secrets by numbers |
//! | `secret_names`, `secrets_in_text` | what is probably a secret |
//! | `report` | the report, as text and as JSON |

mod adapter_request;
mod answer;
mod command;
mod deployed;
mod explanation;
mod given;
mod idle;
mod masking;
mod prompt;
mod report;
mod request;
mod secret_names;
mod secrets_in_text;

pub use command::{RunArguments, execute};
