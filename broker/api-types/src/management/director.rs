//! `GET /mgmt/v1/director`: the Director behind the broker.

use serde::{Deserialize, Serialize};

/// The Director, as far as it matters to errands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectorAbilities {
    /// Its version, in its own words.
    pub version: String,
    /// It makes new VMs of instances as `recreate-all-service-instances` needs it.
    pub can_recreate: bool,
}

impl DirectorAbilities {
    /// The abilities of a Director of this version (`spec/contracts/errands.md` §4.1).
    pub fn of(version: String) -> Self {
        Self {
            can_recreate: can_recreate(&version),
            version,
        }
    }
}

/// The lines that got the needed change have it from a release on; every line after them has it. A version that cannot
/// be read is older than all.
fn can_recreate(version: &str) -> bool {
    match read(version) {
        (266, minor, _) => minor >= 15,
        (267, minor, _) => minor >= 9,
        (268, 2, patch) => patch >= 2,
        (268, minor, _) => minor >= 4,
        (major, _, _) => major > 268,
    }
}

/// `277.3.0 (3604d808)`; of the four numbers of the time of stemcells, `1.3262.0.0`, the first says nothing.
fn read(version: &str) -> (u64, u64, u64) {
    let word = version.split_whitespace().next().unwrap_or_default();
    let core = word.split(['-', '+']).next().unwrap_or_default();
    let numbers: Option<Vec<u64>> = core.split('.').map(|part| part.parse().ok()).collect();
    match numbers.as_deref() {
        Some([_, major, minor, patch] | [major, minor, patch]) => (*major, *minor, *patch),
        Some([major, minor]) => (*major, *minor, 0),
        Some([major]) => (*major, 0, 0),
        _ => (0, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errand_that_recreates_needs_a_director_of_these_versions() {
        for (version, can) in [
            ("266.14.0 (00000000)", false),
            ("266.15.0 (00000000)", true),
            ("266.16 (00000000)", true),
            ("267.8.9", false),
            ("267.9.0", true),
            ("268.0.0", false),
            ("268.2.1", false),
            ("268.2.2", true),
            ("268.2.9", true),
            ("268.3.0", false),
            ("268.3.9", false),
            ("268.4.0", true),
            ("268.10.0", true),
            ("269.0.0", true),
            ("269.0.0+dev.3 (00000000)", true),
            ("277.3.0 (3604d808)", true),
            ("282", true),
            ("265.99.0", false),
            ("1.3262.0.0 (00000000)", true),
            ("1.3.0.0", false),
            ("0.0.0 (unknown)", false),
            ("latest", false),
            ("", false),
        ] {
            assert_eq!(can_recreate(version), can, "{version}");
        }
    }
}
