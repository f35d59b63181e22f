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

use std::sync::LazyLock;

use super::rule::{Check, Run};

/// The checks of a module by the ids of their rules.
type Checks = &'static [(&'static str, Run)];

const RULES: &str = include_str!("rules.txt");

const MODULES: [Checks; 11] = [
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
];

/// All checks, in the order in which they are made. The last ones delete the instance that the others look at.
pub(super) fn all() -> &'static [Check] {
    static ALL: LazyLock<Vec<Check>> = LazyLock::new(|| {
        let rules = RULES.lines().filter(|line| !line.starts_with('#'));
        let check = |line: &'static str| {
            let id = line.split([' ', '*']).next()?;
            let mut checks = MODULES.iter().copied().flatten();
            let (_, run) = checks.find(|(of, _)| *of == id)?;
            Check::declared(line, *run)
        };
        rules.filter_map(check).collect()
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_check_and_every_check_a_rule() {
        let rules = RULES.lines().filter(|line| !line.starts_with('#'));
        let checks = MODULES.iter().copied().flatten();
        assert_eq!(all().len(), rules.count());
        assert_eq!(all().len(), checks.count());
    }
}
