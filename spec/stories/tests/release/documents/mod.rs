//! What documents tell their readers to type is typed, what they show is loaded, and where they lead to is there.
//!
//! | module | what is tried |
//! | --- | --- |
//! | `fences` | every fenced block is of a kind that somebody tries |
//! | `commands` | blocks of commands, in the order of their document |
//! | `bosh`, `bosh_cli` | command lines of the BOSH CLI, which is not here |
//! | `files`, `manifests` | blocks that are files, or parts of some |
//! | `inline` | commands within the text |
//! | `links` | links |
//! | `messages` | every message of every program, as a list in snapshots |
//! | `prose` | how long sentences are |
//! | `sentences` | what users are told to expect to read |
//! | `vocabulary` | retired words |
//! | `generated` | pages that programs write, and the change log |

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
