//! The rules for adapters: one for each finding. `docs/authors/check.md` lists them.
//!
//! | file | rules on |
//! | --- | --- |
//! | `process` | the executable as a process |
//! | `streams` | stdout and stderr |
//! | `calls` | subcommands, forms of requests, exit codes |
//! | `manifest` | the manifest itself |
//! | `stability` | regenerated manifests |
//! | `secrets` | ODB-managed secrets, and values at wrong locations |
//! | `parameters` | the users' parameters |
//! | `bindings` | bindings and dashboards |
//! | `schemas` | plan schemas |

/// A table of rules: constants by their names, and `ALL` of them in their order.
macro_rules! rules {
    ($($name:ident: $severity:ident $id:literal $error:literal,
        why: $why:literal,
        remedy: $remedy:literal,
        section: $section:literal;)*) => {
        /// The rules of this file.
        pub const ALL: &[&super::Rule] = &[$(&$name),*];

        $(
            #[doc = concat!($id, ": ", $error, ".")]
            pub const $name: super::Rule = super::Rule {
                id: $id,
                severity: super::Severity::$severity,
                error: $error,
                why: $why,
                remedy: $remedy,
                section: $section,
            };
        )*
    };
}

pub mod bindings;
pub mod calls;
pub mod manifest;
pub mod parameters;
pub mod process;
pub mod schemas;
pub mod secrets;
pub mod stability;
pub mod streams;

use serde::Serialize;

/// One thing that an adapter can do wrong. Two rules are the same if their ids are.
#[derive(Debug)]
pub struct Rule {
    /// Its name in reports, such as `K-02`. The name never changes.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The title.
    pub error: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// The remedy.
    pub remedy: &'static str,
    /// Section of `spec/contracts/adapter-protocol.md` that the rule comes from.
    pub section: &'static str,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but not well.
    Warning,
    /// Breaks the protocol, or the service.
    Error,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

/// All rules, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        process::ALL,
        streams::ALL,
        calls::ALL,
        manifest::ALL,
        stability::ALL,
        secrets::ALL,
        parameters::ALL,
        bindings::ALL,
        schemas::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}
