//! Which Directors are new enough (`spec/contracts/broker-behaviour.md` §1.3).

use odb_adapter_sdk::protocol::LifecycleErrand;

use crate::config::Offering;

/// What brokers like this one have always asked for. Stemcell 3262 came with it.
const OLDEST: Needed = Needed {
    release: 257,
    what: "orders",
};
const OLDEST_STEMCELL: u64 = 3262;
/// The first release that joins tasks by a context id, which is how the steps of an operation find each other.
const WITH_LIFECYCLE_ERRANDS: Needed = Needed {
    release: 261,
    what: "the lifecycle errands of a plan",
};
/// The first release that runs errands on the instances of the service.
const WITH_COLOCATED_ERRANDS: Needed = Needed {
    release: 263,
    what: "the lifecycle errands of a plan that run on chosen `instances`",
};

/// What is wrong with a Director's version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectorVersionFault {
    /// It is of no known form, so that it cannot be compared.
    #[error(
        "its version `{version}` is none that can be compared; a version such as `277.3.0` was expected"
    )]
    Unreadable {
        /// The version as the Director tells it.
        version: String,
    },
    /// It is too old for what is configured.
    #[error("its version is `{version}`, but {what} need {needed} or newer")]
    TooOld {
        /// The version as the Director tells it.
        version: String,
        /// The release that is needed.
        needed: u64,
        /// What needs it.
        what: &'static str,
    },
}

/// A version, by how the Director's releases were numbered at the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectorVersion {
    /// The number of the BOSH release. 0 in a Director that was built from its sources.
    Release(u64),
    /// The number of the stemcells that came with it, until 2016.
    Stemcell(u64),
}

#[derive(Clone, Copy)]
struct Needed {
    release: u64,
    what: &'static str,
}

/// Whether a Director of this version can do what the offering needs.
pub(super) fn check(version: &str, offering: &Offering) -> Result<(), DirectorVersionFault> {
    compare(version, needed(offering))
}

/// Whether a Director of this version joins tasks by a context id. One that was built from its sources is taken to.
pub(super) fn joins_tasks(version: &str) -> bool {
    match read(version) {
        Some(DirectorVersion::Release(release)) => {
            release == 0 || release >= WITH_LIFECYCLE_ERRANDS.release
        }
        Some(DirectorVersion::Stemcell(_)) | None => false,
    }
}

fn needed(offering: &Offering) -> Needed {
    let errands = || {
        let plans = offering.plans.iter().map(|plan| &plan.lifecycle_errands);
        plans.flat_map(|errands| errands.post_deploy.iter().chain(&errands.pre_delete))
    };
    let is_colocated = |errand: &LifecycleErrand| !errand.instances.is_empty();
    if errands().any(is_colocated) {
        WITH_COLOCATED_ERRANDS
    } else if errands().next().is_some() {
        WITH_LIFECYCLE_ERRANDS
    } else {
        OLDEST
    }
}

fn compare(version: &str, needed: Needed) -> Result<(), DirectorVersionFault> {
    let fine = match read(version) {
        Some(DirectorVersion::Release(release)) => {
            // A Director built from its sources may be as new as can be, and cannot prove it.
            let is_unnumbered = release == 0 && needed.release == OLDEST.release;
            is_unnumbered || release >= needed.release
        }
        Some(DirectorVersion::Stemcell(stemcell)) => {
            needed.release == OLDEST.release && stemcell >= OLDEST_STEMCELL
        }
        None => {
            return Err(DirectorVersionFault::Unreadable {
                version: version.to_owned(),
            });
        }
    };
    if fine {
        Ok(())
    } else {
        Err(DirectorVersionFault::TooOld {
            version: version.to_owned(),
            needed: needed.release,
            what: needed.what,
        })
    }
}

/// `277.3.0 (3604d808)`, `260.1`, `269.0.0+dev.3` or, until 2016, `1.3262.3.0 (00000000)`.
fn read(version: &str) -> Option<DirectorVersion> {
    let word = version.split_whitespace().next()?;
    let core = word.split(['-', '+']).next()?;
    let numbers: Option<Vec<u64>> = core.split('.').map(number).collect();
    match numbers?.as_slice() {
        [release, _] | [release, _, _] => Some(DirectorVersion::Release(*release)),
        [_, stemcell, _, _] => Some(DirectorVersion::Stemcell(*stemcell)),
        _ => None,
    }
}

fn number(part: &str) -> Option<u64> {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| part.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_enough(version: &str, needed: Needed) -> bool {
        compare(version, needed).is_ok()
    }

    #[test]
    fn what_is_configured_decides_how_new_a_director_has_to_be() {
        for (version, orders, errands, colocated) in [
            ("277.3.0 (3604d808)", true, true, true),
            ("282.0.4 (00000000)", true, true, true),
            ("263.0.0 (00000000)", true, true, true),
            ("262.9.9 (00000000)", true, true, false),
            ("261.0 (00000000)", true, true, false),
            ("260.1.0", true, false, false),
            ("1.3262.0.0 (00000000)", true, false, false),
            ("1.3421.11.0 (00000000)", true, false, false),
            ("1.3261.9.0 (00000000)", false, false, false),
            ("256.0.0 (00000000)", false, false, false),
            ("1.0", false, false, false),
            ("269.0.0+dev.3 (00000000)", true, true, true),
            ("0.0.0 (unknown)", true, false, false),
        ] {
            let found = [OLDEST, WITH_LIFECYCLE_ERRANDS, WITH_COLOCATED_ERRANDS]
                .map(|needed| is_enough(version, needed));
            assert_eq!(found, [orders, errands, colocated], "{version}");
        }
    }

    #[test]
    fn a_version_of_no_known_form_is_told_as_it_is() {
        for version in [
            "",
            "  ",
            "277",
            "277.x.0",
            "1.2.3.4.5",
            "latest",
            "+277.3",
            "277..3",
        ] {
            assert_eq!(
                compare(version, OLDEST),
                Err(DirectorVersionFault::Unreadable {
                    version: version.to_owned()
                }),
                "{version}"
            );
        }
    }
}
