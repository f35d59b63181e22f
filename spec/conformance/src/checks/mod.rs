//! One check for each rule that can be seen from outside, by the section of `spec/contracts/osb-api.md`.
//!
//! | module | rules |
//! | --- | --- |
//! | `every_request` | G: headers, authentication, bodies, ids |
//! | `whole_run` | G and O: what holds for all answers of a run |
//! | `catalog` | C |
//! | `asynchrony` | A |
//! | `provision` | P |
//! | `fetch` | F |
//! | `update` | U |
//! | `last_operation` | L |
//! | `bind` | B, FB, LB |
//! | `unbind` | UB |
//! | `deprovision` | D, O |
//! | `parameters` | what P and B have in common: parameters that do not fit a schema |

mod asynchrony;
mod bind;
mod catalog;
mod deprovision;
mod every_request;
mod fetch;
mod last_operation;
mod parameters;
mod provision;
mod unbind;
mod update;
mod whole_run;

use super::rule::Check;

/// All checks, in the order in which they are made. The last ones delete the instance that the others look at.
pub(super) fn all() -> Vec<&'static Check> {
    [
        every_request::CHECKS,
        catalog::CHECKS,
        asynchrony::CHECKS,
        provision::CHECKS,
        fetch::CHECKS,
        update::CHECKS,
        last_operation::CHECKS,
        bind::CHECKS,
        unbind::CHECKS,
        deprovision::CHECKS,
        whole_run::CHECKS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
