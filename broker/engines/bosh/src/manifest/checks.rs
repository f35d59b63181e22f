//! The checks of a generated manifest before it is deployed (`spec/contracts/adapter-protocol.md` §1.9).

use odb_adapter_sdk::yaml;
use odb_clients::director::DeploymentName;
use serde::Deserialize;

/// Why a manifest may not be deployed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is no YAML, or no manifest. Reported by line and column, because a manifest holds secrets.
    #[error("the adapter's manifest cannot be read: {error}")]
    Unreadable { error: String },
    /// It would deploy something else.
    #[error("the adapter's manifest is named `{found}`; it must be `{expected}`")]
    WrongName {
        /// The name in the manifest.
        found: String,
        /// The deployment of the service instance.
        expected: DeploymentName,
    },
    /// It would deploy another version tomorrow than today.
    #[error(
        "the adapter's manifest asks for {what} `{name}` in version `{version}`; exact versions are needed"
    )]
    FloatingVersion {
        /// Release or stemcell.
        what: &'static str,
        /// Its name.
        name: String,
        /// The version it asks for.
        version: String,
    },
}

#[derive(Deserialize)]
struct Checked {
    #[serde(default)]
    name: String,
    #[serde(default)]
    releases: Option<Vec<Versioned>>,
    #[serde(default)]
    stemcells: Option<Vec<Versioned>>,
}

#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    version: String,
}

/// Checks name and versions.
pub(crate) fn check(manifest: &str, expected: &DeploymentName) -> Result<(), ManifestError> {
    let checked: Checked = yaml::from_str(manifest).map_err(|error| ManifestError::Unreadable {
        error: error.to_string(),
    })?;
    if checked.name != expected.as_str() {
        return Err(ManifestError::WrongName {
            found: checked.name,
            expected: expected.clone(),
        });
    }
    let releases = checked
        .releases
        .into_iter()
        .flatten()
        .map(|entry| ("release", entry));
    let stemcells = checked
        .stemcells
        .into_iter()
        .flatten()
        .map(|entry| ("stemcell", entry));
    for (what, entry) in releases.chain(stemcells) {
        if entry.version.ends_with("latest") {
            return Err(ManifestError::FloatingVersion {
                what,
                name: entry.name.or(entry.alias).unwrap_or_default(),
                version: entry.version,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> DeploymentName {
        "service-instance_i1".parse().unwrap()
    }

    #[test]
    fn an_exact_manifest_passes() {
        let manifest = "name: service-instance_i1\nreleases: [{name: r, version: 1.10}]\nstemcells: [{alias: s, os: o, version: '1.2'}]\n";
        assert_eq!(check(manifest, &name()), Ok(()));
    }

    #[test]
    fn a_manifest_of_another_deployment_is_refused() {
        let error = check("name: cf\n", &name()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the adapter's manifest is named `cf`; it must be `service-instance_i1`"
        );
    }

    #[test]
    fn floating_versions_are_refused() {
        for manifest in [
            "name: service-instance_i1\nreleases: [{name: r, version: latest}]\n",
            "name: service-instance_i1\nstemcells: [{alias: s, version: 3112.latest}]\n",
        ] {
            assert!(
                matches!(
                    check(manifest, &name()),
                    Err(ManifestError::FloatingVersion { .. })
                ),
                "{manifest}"
            );
        }
    }

    #[test]
    fn a_error_never_quotes_the_manifest() {
        let error = check("name: [hunter2\n", &name()).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
