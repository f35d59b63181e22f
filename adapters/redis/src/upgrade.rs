use std::cmp::Ordering;

use odb_adapter_sdk::manifest::{JobReleaseError, Release, find_release_for_job};
use odb_adapter_sdk::protocol::ServiceDeployment;

/// Why an instance cannot move to the releases that are configured now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpgradeError {
    #[error("no release to move to")]
    NoRelease(#[source] JobReleaseError),
    #[error("release `{name}` is not the one the instance was deployed with")]
    OtherRelease { name: String },
    #[error("release `{name}` has version `{version}`, which is lower than `{previous}`")]
    Downgrade {
        name: String,
        version: String,
        previous: String,
    },
    #[error("release `{name}` has version `{version}`, which does not start with a number")]
    NotAVersion { name: String, version: String },
}

/// Redis reads data of older versions, not of newer ones.
pub(crate) fn check(
    deployment: &ServiceDeployment,
    previous: &[Release],
) -> Result<(), UpgradeError> {
    let release = find_release_for_job("redis-server", &deployment.releases)
        .map_err(UpgradeError::NoRelease)?;
    let name = &release.name;
    let previous = previous
        .iter()
        .find(|previous| previous.name == *name)
        .ok_or_else(|| UpgradeError::OtherRelease { name: name.clone() })?;
    let read = |version: &str| {
        Version::read(version).ok_or_else(|| UpgradeError::NotAVersion {
            name: name.clone(),
            version: version.to_owned(),
        })
    };
    match read(&release.version)?.partial_cmp(&read(&previous.version)?) {
        Some(Ordering::Less) => Err(UpgradeError::Downgrade {
            name: name.clone(),
            version: release.version.clone(),
            previous: previous.version.clone(),
        }),
        _ => Ok(()),
    }
}

/// As much of a release's version as counts: `major[.minor][+dev.N]`.
#[derive(Debug, PartialEq)]
enum Version {
    Latest,
    Number { major: u64, minor: u64, dev: u64 },
}

impl Version {
    fn read(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let (major, rest) = leading_number(text)?;
        let (minor, rest) = rest
            .strip_prefix('.')
            .and_then(leading_number)
            .unwrap_or((0, rest));
        let (dev, _) = rest
            .strip_prefix("+dev.")
            .and_then(leading_number)
            .unwrap_or((0, rest));
        Some(Self::Number { major, minor, dev })
    }
}

impl PartialOrd for Version {
    /// The latest version cannot be compared, and so passes.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (
                Self::Number { major, minor, dev },
                Self::Number {
                    major: other_major,
                    minor: other_minor,
                    dev: other_dev,
                },
            ) => Some((major, minor, dev).cmp(&(other_major, other_minor, other_dev))),
            _ => None,
        }
    }
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::ServiceRelease;

    use super::*;

    fn move_from(previous: &str, version: &str) -> Result<(), UpgradeError> {
        let release = ServiceRelease::new("redis", version, vec!["redis-server".to_owned()]);
        let deployment = ServiceDeployment::new("d", vec![release], vec![]);
        check(&deployment, &[Release::new("redis", previous)])
    }

    #[test]
    fn an_instance_moves_up_and_stays() {
        for (previous, version) in [
            ("1", "1"),
            ("1", "2"),
            ("1.9", "1.10"),
            ("1.2", "1.2+dev.3"),
            ("3.1.5", "3.1.4"),
            ("latest", "1"),
            ("9", "latest"),
        ] {
            assert!(
                move_from(previous, version).is_ok(),
                "{previous} to {version}"
            );
        }
    }

    #[test]
    fn an_instance_does_not_move_down_or_to_something_else() {
        for (previous, version) in [
            ("2", "1"),
            ("1.10", "1.9"),
            ("1.2+dev.3", "1.2+dev.2"),
            ("1", "new"),
            ("old", "1"),
        ] {
            assert!(
                move_from(previous, version).is_err(),
                "{previous} to {version}"
            );
        }
        let release = ServiceRelease::new("redis", "2", vec!["redis-server".to_owned()]);
        let deployment = ServiceDeployment::new("d", vec![release], vec![]);
        assert!(check(&deployment, &[Release::new("valkey", "1")]).is_err());
    }
}
