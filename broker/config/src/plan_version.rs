//! The version of a plan as platforms get to see it (Open Service Broker API 2.17, "Maintenance Info Object").

use std::{collections::BTreeMap, fmt, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use crate::section::{Found, Section};

/// The version that carries the digest of a plan with values but without a version.
const UNVERSIONED: &str = "0.0.0";
/// Bytes of the digest in a version: just enough to distinguish two configurations.
const DIGEST_BYTES: usize = 6;

/// The version of a plan's software (`spec/contracts/broker-behaviour.md` §3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceInfo {
    /// A semantic version.
    pub version: Option<String>,
    /// The description for platform users.
    pub description: Option<String>,
    /// Values of which a change calls for an upgrade.
    pub public: BTreeMap<String, String>,
    /// The same, for values that are not shown to users.
    pub private: BTreeMap<String, String>,
}

impl MaintenanceInfo {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let info = Self {
            version: section
                .text("version")
                .and_then(|found| semantic(section, found)),
            description: section.plain_text("description"),
            public: section.text_map("public").into_iter().collect(),
            private: section.text_map("private").into_iter().collect(),
        };
        section.warn_unknown_keys();
        info
    }

    /// This plan's values over the global ones.
    pub(super) fn over(self, global: &Self) -> Self {
        let merged = |own: BTreeMap<String, String>, global: &BTreeMap<String, String>| {
            let mut merged = global.clone();
            merged.extend(own);
            merged
        };
        Self {
            version: self.version.or_else(|| global.version.clone()),
            description: self.description.or_else(|| global.description.clone()),
            public: merged(self.public, &global.public),
            private: merged(self.private, &global.private),
        }
    }
}

/// Platforms reject a complete catalog because of one invalid version.
fn semantic(section: &Section<'_>, version: Found<String>) -> Option<String> {
    if semver::Version::parse(&version.value).is_err() {
        let right = "give a semantic version such as `1.2.3`";
        return section.refuse_value(&version, (version.quoted(), right));
    }
    Some(version.value)
}

/// The published version of a plan: the operator's version, with a digest of the operator's values as build metadata,
/// so that a change of either needs an upgrade.
///
/// Cloud Foundry rejects a catalog in which `maintenance_info` has other keys than `version` and `description`
/// (`spec/contracts/osb-api.md` §12.3), so the values cannot be published themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanVersion {
    text: String,
    /// How much of it the operator wrote.
    own: usize,
}

/// The platform has another version of the plan than the catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaintenanceConflict {
    /// The plan has another version.
    #[error("the platform asks for version `{asked}` of the plan, the catalog has `{known}`")]
    Differs {
        /// The version in the request.
        asked: String,
        /// The version in the catalog.
        known: String,
    },
    /// The plan has no version.
    #[error("the platform asks for version `{asked}` of the plan, the catalog has none")]
    NotVersioned {
        /// The version in the request.
        asked: String,
    },
}

impl PlanVersion {
    /// The version of a plan, global values included. A plan without version and values has none.
    pub fn of(info: &MaintenanceInfo) -> Option<Self> {
        let valued = !info.public.is_empty() || !info.private.is_empty();
        let own = match (&info.version, valued) {
            (Some(version), _) => version.as_str(),
            (None, true) => UNVERSIONED,
            (None, false) => return None,
        };
        let mut text = own.to_owned();
        if valued {
            // Build metadata begins with the first `+` and continues with dots.
            text.push(if own.contains('+') { '.' } else { '+' });
            text.push_str(&digest(&info.public, &info.private));
        }
        Some(Self {
            text,
            own: own.len(),
        })
    }

    /// The version as it is published.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether an instance with this version at the platform is up to date from the platform's view. The Go broker
    /// published versions without digest; they do not force an upgrade.
    pub fn is_recorded_as(&self, stored: &str) -> bool {
        stored == self.text || stored == &self.text[..self.own]
    }
}

impl fmt::Display for PlanVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Decides by the published version alone. A platform that says nothing has no idea to be wrong about; an empty version
/// says nothing (`spec/contracts/osb-api.md` §14.8).
pub fn check_maintenance_version(
    known: Option<&PlanVersion>,
    asked: Option<&str>,
) -> Result<(), MaintenanceConflict> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    match known {
        Some(known) if known.as_str() == asked => Ok(()),
        Some(known) => Err(MaintenanceConflict::Differs {
            asked: asked.to_owned(),
            known: known.to_string(),
        }),
        None => Err(MaintenanceConflict::NotVersioned {
            asked: asked.to_owned(),
        }),
    }
}

/// Each part is hashed with its length, so that parts cannot be confused.
fn digest(public: &BTreeMap<String, String>, private: &BTreeMap<String, String>) -> String {
    let mut hasher = Sha256::new();
    let mut feed = |part: &str| {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    };
    for (name, values) in [("public", public), ("private", private)] {
        feed(name);
        feed(&values.len().to_string());
        for (key, value) in values {
            feed(key);
            feed(value);
        }
    }
    let mut hex = String::new();
    for byte in &hasher.finalize()[..DIGEST_BYTES] {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn info(
        version: Option<&str>,
        public: &[(&str, &str)],
        private: &[(&str, &str)],
    ) -> MaintenanceInfo {
        let map = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            owned.collect()
        };
        MaintenanceInfo {
            version: version.map(str::to_owned),
            description: Some("said to users".to_owned()),
            public: map(public),
            private: map(private),
        }
    }

    fn version(info: &MaintenanceInfo) -> PlanVersion {
        PlanVersion::of(info).unwrap()
    }

    #[test]
    fn a_plan_is_published_with_the_operators_version() {
        assert_eq!(version(&info(Some("1.4.0"), &[], &[])).as_str(), "1.4.0");
        assert_eq!(PlanVersion::of(&info(None, &[], &[])), None);
    }

    #[test]
    fn values_are_reported_by_a_digest_on_the_version() {
        let valued = version(&info(Some("1.4.0"), &[("stemcell", "1.80")], &[]));
        let (own, digest) = valued.as_str().split_once('+').unwrap();
        assert_eq!((own, digest.len()), ("1.4.0", 12));
        let unversioned = version(&info(None, &[("stemcell", "1.80")], &[]));
        assert_eq!(unversioned.as_str(), format!("0.0.0+{digest}"));
        let built = version(&info(Some("1.4.0+build.7"), &[("stemcell", "1.80")], &[]));
        assert_eq!(built.as_str(), format!("1.4.0+build.7.{digest}"));
    }

    #[test]
    fn every_change_of_a_value_is_a_change_of_the_version() {
        let all = [
            info(Some("1.0.0"), &[], &[]),
            info(Some("1.0.0"), &[("a", "b")], &[]),
            info(Some("1.0.0"), &[], &[("a", "b")]),
            info(Some("1.0.0"), &[("a", "c")], &[]),
            info(Some("1.0.0"), &[("ab", "")], &[]),
            info(Some("1.0.0"), &[("a", "b"), ("c", "d")], &[]),
            info(Some("1.0.0"), &[("a", "b")], &[("c", "d")]),
        ];
        let mut published: Vec<String> = all.iter().map(|info| version(info).to_string()).collect();
        published.sort();
        published.dedup();
        assert_eq!(published.len(), all.len());
    }

    #[test]
    fn the_platform_is_held_to_the_published_version() {
        let published = version(&info(Some("1.4.0"), &[("a", "b")], &[]));
        for (known, asked, fits) in [
            (Some(&published), Some(published.as_str()), true),
            (Some(&published), Some("1.4.0"), false),
            (Some(&published), Some("2.0.0"), false),
            (Some(&published), None, true),
            (Some(&published), Some(""), true),
            (None, Some("1.0.0"), false),
            (None, None, true),
        ] {
            let checked = check_maintenance_version(known, asked);
            assert_eq!(checked.is_ok(), fits, "{known:?} {asked:?}");
        }
    }

    #[test]
    fn what_the_go_broker_left_behind_is_up_to_date() {
        let published = version(&info(Some("1.4.0"), &[("a", "b")], &[]));
        assert!(published.is_recorded_as("1.4.0"));
        assert!(published.is_recorded_as(published.as_str()));
        assert!(!published.is_recorded_as("1.3.0"));
        assert!(!published.is_recorded_as("1.4.0+000000000000"));
    }

    proptest! {
        #[test]
        fn a_published_version_is_semantic_and_shows_no_value(
            own in proptest::option::of("[0-9]\\.[0-9]\\.[0-9](-rc\\.[1-9])?(\\+[a-z]{1,4})?"),
            public in proptest::collection::btree_map("[a-z]{1,3}", "[g-z]{4,8}", 0..3),
            private in proptest::collection::btree_map("[a-z]{1,3}", "[g-z]{4,8}", 0..3),
        ) {
            let values: Vec<String> = public.values().chain(private.values()).cloned().collect();
            let info = MaintenanceInfo { version: own.clone(), description: None, public, private };
            let Some(published) = PlanVersion::of(&info) else {
                prop_assert!(own.is_none() && values.is_empty());
                return Ok(());
            };
            prop_assert!(semver::Version::parse(published.as_str()).is_ok(), "{published}");
            let reported = &published.as_str()[own.map_or(0, |own| own.len())..];
            for value in values {
                prop_assert!(!reported.contains(&value), "{published} names {value}");
            }
        }
    }
}
