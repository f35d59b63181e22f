//! Folders as the broker runs them: a process, a document on stdin, an answer on stdout.
//!
//! | module | what is asked |
//! | --- | --- |
//! | `harness` | who writes folders, runs them, and the sample inputs |
//! | `documentation` | the example of `docs/authors/templates.md` does what is written there |
//! | `loading` | what is wrong with a folder is told at once |
//! | `invocation` | which folder it is |
//! | `manifests`, `values`, `secrets` | manifests of new instances, and what later ones keep |
//! | `references` | users bring none |
//! | `deployed` | bindings and dashboards |

#![cfg(test)]

mod deployed;
mod documentation;
mod harness;
mod invocation;
mod loading;
mod manifests;
mod references;
mod secrets;
mod values;
