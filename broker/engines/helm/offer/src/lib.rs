//! Offer packages: Helm charts with plans, values and a bind template, that become one service of the catalog.
//!
//! Reading, checking, rendering and merging need no cluster. Helm runs as an isolated child process.
//!
//! | module | contents |
//! | --- | --- |
//! | [`check`] | all rules of an offer, with every finding at once |
//! | [`offer`] | an offer: charts, plans, rules for parameters |
//! | [`package`] | the files of a package |
//! | [`chart`] | packaged charts |
//! | [`plan_values`] | the values of the charts for one plan |
//! | [`values`] | layers of values, and the parameters of users |
//! | [`catalog`] | the service in the catalog |
//! | [`names`] | names on clusters, and ids |
//! | [`helm`] | the `helm` executable |
//! | [`archive`], `section`, `near`, `digest` | files with limits, YAML with places, mistyped names, SHA-256 |
//! | [`findings`] | what a check found |

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod archive;
pub mod catalog;
pub mod chart;
pub mod check;
pub mod digest;
pub mod findings;
pub mod helm;
pub mod names;
mod near;
pub mod offer;
pub mod package;
pub mod plan_values;
mod section;
pub mod values;
