//! Folders as the broker runs them: a process, a document on stdin, an answer on stdout.
//!
//! | module | contents |
//! | --- | --- |
//! | `harness` | writes and runs folders, with sample inputs |
//! | `documentation` | the example of `docs/authors/templates.md` works as documented |
//! | `loading` | errors in a folder are reported at once |
//! | `invocation` | how the folder is found |
//! | `manifests`, `values`, `secrets` | manifests of new instances, and what later ones keep |
//! | `references` | users cannot bring references |
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
