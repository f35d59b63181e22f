//! The state of a Helm release, read from Helm's own Secrets, and the step that leads from it to the wanted state.
//!
//! Helm itself is not asked: its answer takes a process and holds every Secret of the release in clear. The labels of
//! its Secrets say enough.

use std::{fmt, str::FromStr};

use serde_json::Value;

/// The label in which we keep the digest of what a revision was made from.
pub const DIGEST_LABEL: &str = "odb-digest";

/// The type of Helm's Secrets.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Deployed,
    Failed,
    PendingInstall,
    PendingRollback,
    PendingUpgrade,
    Superseded,
    Uninstalled,
    Uninstalling,
    Unknown,
}

/// One revision of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub number: u32,
    pub status: Status,
    /// The digest of its chart and values, if we made it.
    pub digest: Option<String>,
    pub secret: SecretId,
}

/// One Secret of Helm's. Deleting it by its uid cannot hit a later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretId {
    pub name: String,
    pub uid: String,
}

/// What brings a release to a wanted digest. Each step may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is what is wanted.
    Nothing,
    Install,
    Upgrade,
    /// A first revision that is not complete: an upgrade of it would never run its `pre-install` hooks.
    UninstallAndInstall,
    /// A killed Helm left the revision pending, and Helm refuses every upgrade because of it.
    ForgetAndUpgrade(SecretId),
}

impl Revision {
    /// The newest revision among the Secrets of a release. Secrets that are not Helm's are passed over.
    pub fn newest(secrets: &[Value]) -> Option<Self> {
        let revisions = secrets.iter().filter_map(Self::of);
        revisions.max_by_key(|revision| revision.number)
    }

    fn of(secret: &Value) -> Option<Self> {
        let metadata = &secret["metadata"];
        let labels = &metadata["labels"];
        if labels["owner"] != "helm" {
            return None;
        }
        Some(Self {
            number: labels["version"].as_str()?.parse().ok()?,
            status: labels["status"]
                .as_str()?
                .parse()
                .unwrap_or(Status::Unknown),
            digest: labels[DIGEST_LABEL].as_str().map(str::to_owned),
            secret: SecretId {
                name: metadata["name"].as_str()?.to_owned(),
                uid: metadata["uid"].as_str()?.to_owned(),
            },
        })
    }
}

impl Step {
    /// The step from the newest revision to one with this digest. The caller holds the instance's Lease: no other
    /// process works on a pending revision.
    pub fn to(digest: &str, newest: Option<&Revision>) -> Self {
        let Some(newest) = newest else {
            return Self::Install;
        };
        match newest.status {
            Status::Deployed if newest.digest.as_deref() == Some(digest) => Self::Nothing,
            Status::PendingInstall | Status::Uninstalling | Status::Uninstalled => {
                Self::UninstallAndInstall
            }
            Status::Failed if newest.number == 1 => Self::UninstallAndInstall,
            Status::PendingUpgrade | Status::PendingRollback => {
                Self::ForgetAndUpgrade(newest.secret.clone())
            }
            Status::Deployed | Status::Failed | Status::Superseded | Status::Unknown => {
                Self::Upgrade
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status of a Helm release")]
pub struct UnknownStatus(String);

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Ok(match text {
            "deployed" => Self::Deployed,
            "failed" => Self::Failed,
            "pending-install" => Self::PendingInstall,
            "pending-rollback" => Self::PendingRollback,
            "pending-upgrade" => Self::PendingUpgrade,
            "superseded" => Self::Superseded,
            "uninstalled" => Self::Uninstalled,
            "uninstalling" => Self::Uninstalling,
            "unknown" => Self::Unknown,
            _ => return Err(UnknownStatus(text.to_owned())),
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deployed => "deployed",
            Self::Failed => "failed",
            Self::PendingInstall => "pending-install",
            Self::PendingRollback => "pending-rollback",
            Self::PendingUpgrade => "pending-upgrade",
            Self::Superseded => "superseded",
            Self::Uninstalled => "uninstalled",
            Self::Uninstalling => "uninstalling",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(version: &str, status: &str, digest: Option<&str>) -> Value {
        json!({ "metadata": {
            "name": format!("sh.helm.release.v1.k1.v{version}"), "uid": format!("uid-{version}"),
            "labels": { "owner": "helm", "version": version, "status": status, "odb-digest": digest },
        } })
    }

    fn step(status: &str, version: &str, digest: Option<&str>) -> Step {
        let newest = Revision::newest(&[secret(version, status, digest)]);
        Step::to("wanted", newest.as_ref())
    }

    #[test]
    fn the_newest_revision_counts_and_foreign_secrets_do_not() {
        let secrets = [
            secret("9", "superseded", None),
            secret("10", "deployed", Some("d")),
            json!({ "metadata": { "name": "password", "uid": "u" } }),
        ];
        let newest = Revision::newest(&secrets).unwrap();
        assert_eq!((newest.number, newest.status), (10, Status::Deployed));
        assert_eq!(Revision::newest(&secrets[2..]), None);
    }

    #[test]
    fn each_state_has_its_step() {
        let forget = |version| {
            Step::ForgetAndUpgrade(SecretId {
                name: format!("sh.helm.release.v1.k1.v{version}"),
                uid: format!("uid-{version}"),
            })
        };
        assert_eq!(Step::to("wanted", None), Step::Install);
        for (status, version, digest, expected) in [
            ("deployed", "1", Some("wanted"), Step::Nothing),
            ("deployed", "1", Some("other"), Step::Upgrade),
            ("deployed", "1", None, Step::Upgrade),
            (
                "pending-install",
                "1",
                Some("wanted"),
                Step::UninstallAndInstall,
            ),
            ("failed", "1", Some("wanted"), Step::UninstallAndInstall),
            ("failed", "2", Some("wanted"), Step::Upgrade),
            ("pending-upgrade", "3", None, forget("3")),
            ("pending-rollback", "4", None, forget("4")),
            ("uninstalling", "2", None, Step::UninstallAndInstall),
            ("something-new", "2", None, Step::Upgrade),
        ] {
            assert_eq!(
                step(status, version, digest),
                expected,
                "{status} {version}"
            );
        }
    }

    #[test]
    fn statuses_are_spelled_as_helm_does() {
        for text in [
            "deployed",
            "failed",
            "pending-install",
            "pending-rollback",
            "pending-upgrade",
            "superseded",
            "uninstalled",
            "uninstalling",
            "unknown",
        ] {
            assert_eq!(text.parse::<Status>().unwrap().to_string(), text);
        }
        assert!("Deployed".parse::<Status>().is_err());
    }
}
