//! `odb-adapter run`: one question by hand, and what a broker and its users would make of the answer.
//!
//! | file | holds |
//! | --- | --- |
//! | `command` | the command line |
//! | `question` | what the adapter is asked, and what is known of it |
//! | `prompt` | a call, from flags, files and the inputs of the check |
//! | `given` | what people write on the command line and in files |
//! | `idle` | options that the subcommand has no use for |
//! | `request` | the body of the platform's request that leads to a question |
//! | `deployed` | what a broker makes of a generated manifest before it is deployed |
//! | `answer` | what the adapter printed, understood |
//! | `explanation` | what its end means |
//! | `masking` | secrets by numbers |
//! | `secret_names`, `secrets_in_text` | what is likely to be a secret |
//! | `report` | all of it, for people and for machines |

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
