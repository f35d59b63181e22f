//! Manifests: whether one may be deployed (`spec/contracts/adapter-protocol.md` §1.9), what one would change, and the
//! current target.
//!
//! | file | contents |
//! | --- | --- |
//! | `difference`, `path` | the differences between two, and what of them may be shown |
//! | `planned` | whether an upgrade would change anything, what, and the effect on VMs |
//! | `target` | the digest of what is deployed today |
//! | `trial` | whether the adapter's manifest for a plan could be deployed, for a check of the configuration |

pub(crate) mod difference;
mod path;
pub(crate) mod planned;
pub(crate) mod target;
pub(crate) mod trial;

use odb_adapter_sdk::yaml;
use odb_clients::director::DeploymentName;
use serde::Deserialize;

use crate::error::Error;

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

pub(crate) fn check(manifest: &str, expected: &DeploymentName) -> Result<(), Error> {
    let checked: Checked = yaml::from_str(manifest).map_err(|error| Error::ManifestUnreadable {
        error: error.to_string(),
    })?;
    if checked.name != expected.as_str() {
        return Err(Error::WrongName {
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
            return Err(Error::FloatingVersion {
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
        assert!(check(manifest, &name()).is_ok());
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
                matches!(check(manifest, &name()), Err(Error::FloatingVersion { .. })),
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
