//! Which Directors are new enough (`spec/contracts/broker-behaviour.md` §1.3).

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_config::Offering;

/// The minimum that brokers like this one have always required. Stemcell 3262 came with it.
const OLDEST: Needed = Needed {
    releases: &[(257, 0)],
    what: "orders need 257 or newer",
};
const OLDEST_STEMCELL: u64 = 3262;
/// The first release that joins tasks by a context id, which is how the steps of an operation find each other.
const WITH_LIFECYCLE_ERRANDS: Needed = Needed {
    releases: &[(261, 0)],
    what: "the lifecycle errands of a plan need 261 or newer",
};
/// The first release that runs errands on the instances of the service.
const WITH_COLOCATED_ERRANDS: Needed = Needed {
    releases: &[(263, 0)],
    what: "the lifecycle errands of a plan that run on chosen `instances` need 263 or newer",
};
/// The first releases that give addresses of links to outsiders; both lines got it.
const WITH_DNS_BINDINGS: Needed = Needed {
    releases: &[(266, 12), (267, 6)],
    what: "the plans with `binding_with_dns` need 266.12 (of 267: 267.6) or newer",
};

/// A version, by how the Director's releases were numbered at the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectorVersion {
    /// The first two numbers of the BOSH release. 0 in a Director that was built from its sources.
    Release(u64, u64),
    /// The number of the stemcells that came with it, until 2016.
    Stemcell(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Needed {
    /// The first release that will do of each line that has one, the newest line last. Every later line will do.
    releases: &'static [(u64, u64)],
    what: &'static str,
}

impl Needed {
    fn is_met_by(self, major: u64, minor: u64) -> bool {
        let of_line = self.releases.iter().find(|(line, _)| *line == major);
        match (of_line, self.releases.last()) {
            (Some((_, first)), _) => minor >= *first,
            (None, Some((newest, _))) => major > *newest,
            (None, None) => true,
        }
    }
}

pub(crate) fn check(version: &str, offering: &Offering) -> Result<(), String> {
    compare(version, needed(offering))
}

/// Whether a Director of this version joins tasks by a context id. A build from source is assumed to.
pub(crate) fn joins_tasks(version: &str) -> bool {
    match read(version) {
        Some(DirectorVersion::Release(major, minor)) => {
            major == 0 || WITH_LIFECYCLE_ERRANDS.is_met_by(major, minor)
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
    let mut plans = offering.plans.iter();
    if plans.any(|plan| !plan.dns_bindings.is_empty()) {
        WITH_DNS_BINDINGS
    } else if errands().any(is_colocated) {
        WITH_COLOCATED_ERRANDS
    } else if errands().next().is_some() {
        WITH_LIFECYCLE_ERRANDS
    } else {
        OLDEST
    }
}

fn compare(version: &str, needed: Needed) -> Result<(), String> {
    let fine = match read(version) {
        Some(DirectorVersion::Release(major, minor)) => {
            // A Director built from its sources may be as new as can be, and cannot prove it.
            (major == 0 && needed == OLDEST) || needed.is_met_by(major, minor)
        }
        Some(DirectorVersion::Stemcell(stemcell)) => {
            needed == OLDEST && stemcell >= OLDEST_STEMCELL
        }
        None => {
            return Err(format!(
                "its version `{version}` cannot be compared; a version such as `277.3.0` was expected"
            ));
        }
    };
    let wrong = || format!("its version is `{version}`, but {}", needed.what);
    fine.then_some(()).ok_or_else(wrong)
}

/// `277.3.0 (3604d808)`, `260.1`, `269.0.0+dev.3` or, until 2016, `1.3262.3.0 (00000000)`.
fn read(version: &str) -> Option<DirectorVersion> {
    let word = version.split_whitespace().next()?;
    let core = word.split(['-', '+']).next()?;
    let numbers: Option<Vec<u64>> = core.split('.').map(number).collect();
    match numbers?.as_slice() {
        [major, minor] | [major, minor, _] => Some(DirectorVersion::Release(*major, *minor)),
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

    #[test]
    fn what_is_configured_decides_how_new_a_director_has_to_be() {
        for (version, enough) in [
            ("277.3.0 (3604d808)", [true, true, true, true]),
            ("282.0.4 (00000000)", [true, true, true, true]),
            ("268.0.0 (00000000)", [true, true, true, true]),
            ("267.6.0 (00000000)", [true, true, true, true]),
            ("267.5.9 (00000000)", [true, true, true, false]),
            ("267.0 (00000000)", [true, true, true, false]),
            ("266.12.0 (00000000)", [true, true, true, true]),
            ("266.11.9 (00000000)", [true, true, true, false]),
            ("265.99.0 (00000000)", [true, true, true, false]),
            ("263.0.0 (00000000)", [true, true, true, false]),
            ("262.9.9 (00000000)", [true, true, false, false]),
            ("261.0 (00000000)", [true, true, false, false]),
            ("260.1.0", [true, false, false, false]),
            ("1.3262.0.0 (00000000)", [true, false, false, false]),
            ("1.3421.11.0 (00000000)", [true, false, false, false]),
            ("1.3261.9.0 (00000000)", [false, false, false, false]),
            ("256.0.0 (00000000)", [false, false, false, false]),
            ("1.0", [false, false, false, false]),
            ("269.0.0+dev.3 (00000000)", [true, true, true, true]),
            ("0.0.0 (unknown)", [true, false, false, false]),
        ] {
            let found = [
                OLDEST,
                WITH_LIFECYCLE_ERRANDS,
                WITH_COLOCATED_ERRANDS,
                WITH_DNS_BINDINGS,
            ]
            .map(|needed| compare(version, needed).is_ok());
            assert_eq!(found, enough, "{version}");
        }
    }

    #[test]
    fn what_is_needed_is_reported_for_each_line_of_releases() {
        let reported = |version: &str, needed| compare(version, needed).unwrap_err();
        assert_eq!(
            reported("260.5.0", WITH_LIFECYCLE_ERRANDS),
            "its version is `260.5.0`, but the lifecycle errands of a plan need 261 or newer"
        );
        assert_eq!(
            reported("267.5.0", WITH_DNS_BINDINGS),
            "its version is `267.5.0`, but the plans with `binding_with_dns` need 266.12 (of 267: 267.6) or newer"
        );
    }

    #[test]
    fn a_version_of_no_known_form_is_reported_as_it_is() {
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
                Err(format!(
                    "its version `{version}` cannot be compared; a version such as `277.3.0` was expected"
                )),
                "{version}"
            );
        }
    }
}
