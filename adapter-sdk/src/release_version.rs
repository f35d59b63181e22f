//! Which releases an instance may be deployed with and move to
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", 7).
//!
//! ```
//! use odb_adapter_sdk::release_version::{VersionOrder, check_minimum};
//! use odb_adapter_sdk::protocol::ServiceRelease;
//!
//! let release = ServiceRelease::new("kafka", "0.15.9", vec!["kafka_server".into()]);
//! let error = check_minimum("kafka_server", &[release], "0.16.0", VersionOrder::Semantic);
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "release `kafka` has version `0.15.9`; at least `0.16.0` is required",
//! );
//! ```

use std::cmp::Ordering;

use crate::manifest::{JobReleaseError, Manifest, find_release_for_job};
use crate::protocol::ServiceRelease;

/// How the versions of a release are compared. `latest` is of no order and always passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VersionOrder {
    /// `major[.minor][+dev.N]`, as final and development releases are numbered; what follows is
    /// passed over.
    MajorMinorDev,
    /// Semantic versions of three numbers.
    Semantic,
    /// Any number of numbers, as a Director orders releases: `7`, `7.4`, `1.2.3-rc.1`, `1.2+dev.3`.
    Bosh,
}

/// Why an instance cannot be deployed with the releases that are configured now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum ReleaseVersionError {
    #[error("the service deployment has no release")]
    NoRelease(#[source] JobReleaseError),
    #[error("release `{release}` has version `{version}`; at least `{minimum}` is required")]
    TooOld {
        release: String,
        version: String,
        minimum: String,
    },
    #[error("release `{release}` has version `{version}`, which is lower than `{previous}`")]
    Downgrade {
        release: String,
        version: String,
        previous: String,
    },
    #[error("release `{release}` is not the one the instance was deployed with")]
    OtherRelease { release: String },
    #[error("release `{release}` has version `{version}`, which is not {expected}")]
    NotAVersion {
        release: String,
        version: String,
        expected: &'static str,
    },
}

/// Refuses to deploy a job out of a release that is older than what the adapter needs.
pub fn check_minimum(
    job: &str,
    releases: &[ServiceRelease],
    minimum: &str,
    order: VersionOrder,
) -> Result<(), ReleaseVersionError> {
    let release = find_release_for_job(job, releases).map_err(ReleaseVersionError::NoRelease)?;
    match order.compare(&release.name, &release.version, minimum)? {
        Some(Ordering::Less) => Err(ReleaseVersionError::TooOld {
            release: release.name.clone(),
            version: release.version.clone(),
            minimum: minimum.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Refuses to move a deployed job to a lower version of its release, or to a release of another
/// name.
pub fn check_no_downgrade(
    job: &str,
    releases: &[ServiceRelease],
    previous: &Manifest,
    order: VersionOrder,
) -> Result<(), ReleaseVersionError> {
    let release = find_release_for_job(job, releases).map_err(ReleaseVersionError::NoRelease)?;
    let deployed = previous
        .releases
        .iter()
        .find(|deployed| deployed.name == release.name)
        .ok_or_else(|| ReleaseVersionError::OtherRelease {
            release: release.name.clone(),
        })?;
    match order.compare(&release.name, &release.version, &deployed.version)? {
        Some(Ordering::Less) => Err(ReleaseVersionError::Downgrade {
            release: release.name.clone(),
            version: release.version.clone(),
            previous: deployed.version.clone(),
        }),
        _ => Ok(()),
    }
}

impl VersionOrder {
    /// `None` where one of the two is the latest version, whatever that is.
    fn compare(
        self,
        release: &str,
        version: &str,
        other: &str,
    ) -> Result<Option<Ordering>, ReleaseVersionError> {
        if [version, other].contains(&"latest") {
            return Ok(None);
        }
        let (compared, expected) = match self {
            Self::MajorMinorDev => (
                compared(MajorMinorDev::read, version, other),
                "a number, with or without more",
            ),
            Self::Semantic => (
                compared(without_build, version, other),
                "a semantic version such as `1.2.3`",
            ),
            Self::Bosh => (
                compared(BoshVersion::read, version, other),
                "made of numbers",
            ),
        };
        compared
            .map(Some)
            .map_err(|version| ReleaseVersionError::NotAVersion {
                release: release.to_owned(),
                version: version.to_owned(),
                expected,
            })
    }
}

/// The order of two versions, or the one that cannot be read.
fn compared<'v, T: Ord>(
    read: impl Fn(&str) -> Option<T>,
    version: &'v str,
    other: &'v str,
) -> Result<Ordering, &'v str> {
    let version = read(version).ok_or(version)?;
    Ok(version.cmp(&read(other).ok_or(other)?))
}

/// Builds of one version are of no order.
fn without_build(text: &str) -> Option<semver::Version> {
    let mut version = semver::Version::parse(text).ok()?;
    version.build = semver::BuildMetadata::EMPTY;
    Some(version)
}

/// As much of a release's version as counts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct MajorMinorDev([u64; 3]);

impl MajorMinorDev {
    fn read(text: &str) -> Option<Self> {
        let (major, rest) = leading_number(text)?;
        let (minor, rest) = rest
            .strip_prefix('.')
            .and_then(leading_number)
            .unwrap_or((0, rest));
        let (dev, _) = rest
            .strip_prefix("+dev.")
            .and_then(leading_number)
            .unwrap_or((0, rest));
        Some(Self([major, minor, dev]))
    }
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Numbers with their suffixes; the order of the fields is that of the comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct BoshVersion {
    numbers: Vec<u64>,
    stage: Stage,
    /// The part after a plus sign: sorts after the version without it.
    post: Option<Vec<Part>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The part after a hyphen.
    Before(Vec<Part>),
    Released,
}

/// Numbers come before words, as in semantic versions.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl BoshVersion {
    fn read(text: &str) -> Option<Self> {
        let (rest, post) = match text.split_once('+') {
            Some((rest, post)) => (rest, Some(parts(post))),
            None => (text, None),
        };
        let (numbers, stage) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Stage::Before(parts(pre))),
            None => (rest, Stage::Released),
        };
        let numbers = numbers.split('.').map(|number| number.parse().ok());
        let mut numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        // `7` and `7.0` are one version.
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(Self {
            numbers,
            stage,
            post,
        })
    }
}

fn parts(text: &str) -> Vec<Part> {
    let part = |part: &str| match part.parse() {
        Ok(number) => Part::Number(number),
        Err(_) => Part::Word(part.to_owned()),
    };
    text.split('.').map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_bosh_releases_are_ordered_by_their_numbers() {
        let ordered = [
            "1",
            "1.2-rc.1",
            "1.2",
            "1.2+dev.2",
            "1.2+dev.10",
            "1.2.1",
            "1.9",
            "1.10",
            "2.0.0-1",
            "2",
        ];
        let read = |text| BoshVersion::read(text).unwrap();
        assert!(ordered.map(read).is_sorted_by(|low, high| low < high));
        assert!(read("7") == read("7.0"));
        assert!(BoshVersion::read("new").is_none());
    }
}
