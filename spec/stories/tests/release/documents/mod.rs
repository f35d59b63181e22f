//! The documents are correct: their commands are run, their files are loaded, their links resolve.
//!
//! | module | contents |
//! | --- | --- |
//! | `fences` | every fenced block is of a kind that a test runs |
//! | `commands` | blocks of commands, in the order of their document |
//! | `bosh`, `bosh_cli` | command lines of the BOSH CLI, which is not installed here |
//! | `files`, `manifests` | blocks that are files, or parts of files |
//! | `inline` | commands within the text |
//! | `links` | links |
//! | `messages` | every message of every program, as a list in snapshots |
//! | `prose` | the length of sentences |
//! | `sentences` | messages that documents quote |
//! | `vocabulary` | retired words |
//! | `generated` | generated pages, and the change log |

mod bosh;
mod bosh_cli;
mod commands;
mod fences;
mod files;
mod generated;
mod inline;
mod links;
mod manifests;
mod messages;
mod prose;
mod sentences;
mod vocabulary;

pub(crate) use manifests::expect_declared;
