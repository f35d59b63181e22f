//! `release.MF`, the list of what a release holds.
//!
//! Members as `bosh create-release` writes them (`release/manifest/release.go` in its sources) and a Director reads
//! them (`update_release.rb`). The digest is called `sha1` whatever its algorithm is.

use serde::Serialize;

use crate::{digest::Digest, version::ReleaseVersion};

/// The list of what a release holds.
#[derive(Clone, Debug, Serialize)]
pub struct ReleaseManifest {
    /// The name of the release.
    pub name: String,
    /// Its version, see [`ReleaseVersion`].
    pub version: String,
    /// The commit that it was built from, or `non-git`.
    pub commit_hash: String,
    /// Whether it was built from something else than that commit.
    pub uncommitted_changes: bool,
    /// The jobs, by name.
    pub jobs: Vec<JobEntry>,
    /// The packages, by name.
    pub packages: Vec<PackageEntry>,
    /// The licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<LicenseEntry>,
}

/// A job.
#[derive(Clone, Debug, Serialize)]
pub struct JobEntry {
    /// Name, version, fingerprint and digest.
    #[serde(flatten)]
    pub resource: ResourceEntry,
    /// The packages that come to each VM with it.
    pub packages: Vec<String>,
}

/// The members that jobs and packages share.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceEntry {
    /// Its name.
    pub name: String,
    /// Its version; its fingerprint, so that it changes with the content.
    pub version: String,
    /// The digest of its content.
    pub fingerprint: String,
    /// The digest of its archive.
    pub sha1: Digest,
}

/// A package.
#[derive(Clone, Debug, Serialize)]
pub struct PackageEntry {
    /// Name, version, fingerprint and digest, as a job's.
    #[serde(flatten)]
    pub resource: ResourceEntry,
    /// The packages that are there while it is compiled.
    pub dependencies: Vec<String>,
}

/// The licence.
#[derive(Clone, Debug, Serialize)]
pub struct LicenseEntry {
    /// Its fingerprint.
    pub version: String,
    /// The same.
    pub fingerprint: String,
    /// The digest of its archive.
    pub sha1: Digest,
}

/// A manifest that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be put into YAML.
    #[error("`release.MF` cannot be written")]
    Unwritable(#[source] Box<serde_saphyr::ser::Error>),
}

impl ReleaseManifest {
    /// A manifest without jobs and packages.
    pub fn new(
        name: String,
        version: &ReleaseVersion,
        commit_hash: String,
        uncommitted_changes: bool,
    ) -> Self {
        Self {
            name,
            version: version.to_string(),
            commit_hash,
            uncommitted_changes,
            jobs: Vec::new(),
            packages: Vec::new(),
            license: None,
        }
    }

    /// As YAML, with every text in quotes: a fingerprint may look like a number to a Director.
    pub fn to_yaml(&self) -> Result<String, ManifestError> {
        let options = serde_saphyr::ser_options! {
            quote_all: true,
            prefer_block_scalars: false,
            min_fold_chars: 0,
        };
        serde_saphyr::to_string_with_options(self, options)
            .map_err(|error| ManifestError::Unwritable(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_that_looks_like_a_number_stays_a_text() -> anyhow::Result<()> {
        let version: ReleaseVersion = "1".parse()?;
        let mut manifest = ReleaseManifest::new("r".into(), &version, "1234567".into(), false);
        manifest.jobs.push(JobEntry {
            resource: ResourceEntry {
                name: "no".into(),
                version: "12345e12".into(),
                fingerprint: "12345e12".into(),
                sha1: Digest::of(b""),
            },
            packages: vec!["1e3".into()],
        });
        let text = manifest.to_yaml()?;
        let read: serde_json::Value = crate::specification::from_yaml(&text)?;
        assert_eq!(read, serde_json::to_value(&manifest)?);
        for quoted in ["'1'", "'1234567'", "'12345e12'", "'no'", "'1e3'"] {
            let double = quoted.replace('\'', "\"");
            assert!(text.contains(quoted) || text.contains(&double), "{text}");
        }
        Ok(())
    }
}
