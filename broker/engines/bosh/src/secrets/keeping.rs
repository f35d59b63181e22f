//! Writing, putting back, pruning, removing.

use odb_api_types::{code::Code, ids::InstanceId};
use odb_clients::{
    FailureKind, ServiceError,
    credhub::{CredHub, CredentialId, CredentialName, Removed},
    director::{Config, Director},
    http::{Call, StatusCode},
};
use odb_core::credhub_names::is_exactly_below;
use odb_redaction::Chain;

use super::{InstanceSecrets, NewSecret, PreviousSecret, used_in};
use crate::{error::Error, instance::deployment, reconciler::cleanup::CleanupError};

impl InstanceSecrets {
    pub(crate) fn are_kept(&self) -> bool {
        self.credhub.is_some()
    }

    /// Writes secrets. Those written before a failure stay for [`put_back`](Self::put_back).
    pub(crate) async fn write(&self, call: &Call, secrets: &[NewSecret]) -> Result<(), Error> {
        let Some(credhub) = &self.credhub else {
            return Ok(());
        };
        for secret in secrets {
            credhub
                .put(call, &secret.name, &secret.value)
                .await
                .map_err(Error::credhub("write a secret of the adapter"))?;
        }
        Ok(())
    }

    /// Restores the secrets from before an operation that was not submitted. Safe to repeat.
    ///
    /// A credential that seemed absent is only deleted if it has one version: older versions show that it existed.
    pub(crate) async fn put_back(
        &self,
        call: &Call,
        instance: &InstanceId,
        previous: &[PreviousSecret],
    ) -> Result<(), ServiceError> {
        let (Some(credhub), Ok(folder)) = (&self.credhub, self.folder(instance)) else {
            return Ok(());
        };
        for PreviousSecret { name, version } in previous {
            if !is_exactly_below(name, &folder) {
                tracing::warn!(code = %Code::CleanUp, credential = %name, "a secret of another instance is not put back");
                continue;
            }
            let versions = credhub.newest(call, name, 2).await?;
            match (version, versions.as_slice()) {
                (_, []) => {}
                (Some(previous), [latest, ..]) if latest.id == *previous => {}
                (Some(previous), _) => write_again(credhub, call, name, previous).await?,
                (None, [_]) => {
                    credhub.delete(call, name).await?;
                }
                (None, _) => {
                    tracing::warn!(
                        code = %Code::CleanUp,
                        credential = %name,
                        "a secret has versions of which nothing was known: it is not deleted"
                    );
                }
            }
        }
        Ok(())
    }

    /// The secrets of an instance to which its deployed manifest does not refer.
    pub(crate) async fn unused(
        &self,
        call: &Call,
        instance: &InstanceId,
        manifest: &str,
    ) -> Result<Vec<CredentialName>, ServiceError> {
        let (Some(credhub), Ok(folder)) = (&self.credhub, self.folder(instance)) else {
            return Ok(Vec::new());
        };
        let mut names = credhub.names_below(call, &folder).await?;
        let used = used_in(manifest);
        names.retain(|name| {
            is_exactly_below(name, &folder) && !used.contains(&name.as_str().to_ascii_lowercase())
        });
        Ok(names)
    }

    /// Deletes secrets without references. Those that a config of the instance refers to stay.
    pub(crate) async fn prune(
        &self,
        call: &Call,
        unused: &[CredentialName],
        configs: &[Config],
    ) -> Result<(), ServiceError> {
        let Some(credhub) = &self.credhub else {
            return Ok(());
        };
        let mentioned = |name: &CredentialName| {
            let name = name.as_str().to_ascii_lowercase();
            let mut texts = configs.iter().map(|config| &config.content);
            texts.any(|text| text.to_ascii_lowercase().contains(&name))
        };
        for name in unused.iter().filter(|name| !mentioned(name)) {
            credhub.delete(call, name).await?;
            tracing::info!(credential = %name, "deleted a secret that the instance no longer uses");
        }
        Ok(())
    }

    /// Removes all secrets of an instance: its folder, and other credentials under its deployment's name, such as the
    /// Director's generated variables, as far as permitted. Safe to repeat.
    pub(crate) async fn remove_all(
        &self,
        call: &Call,
        director: &Director,
        instance: &InstanceId,
    ) -> Result<(), CleanupError> {
        let Some(credhub) = &self.credhub else {
            return Ok(());
        };
        match self
            .try_to_remove_all(credhub, call, director, instance)
            .await
        {
            // As with configs: missing rights are logged, and the instance is deleted in any case.
            Err(CleanupError::Service(
                error @ ServiceError {
                    kind:
                        FailureKind::Refused {
                            status: StatusCode::FORBIDDEN,
                            ..
                        },
                    ..
                },
            )) => {
                tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "some secrets remain: the broker has no permission to delete them");
                Ok(())
            }
            removed => removed,
        }
    }

    async fn try_to_remove_all(
        &self,
        credhub: &CredHub,
        call: &Call,
        director: &Director,
        instance: &InstanceId,
    ) -> Result<(), CleanupError> {
        let found = credhub.names_like(call, instance.as_str()).await?;
        let (own, mut others) = self.of_instance(instance, found);
        if !others.is_empty() && has_twin(call, director, instance).await? {
            tracing::warn!(
                code = %Code::CleanUp,
                credentials = others.len(),
                "credentials remain that a deployment shares whose name differs only in case"
            );
            others.clear();
        }
        for name in own.iter().chain(&others) {
            match credhub.delete(call, name).await? {
                Removed::Yes => {}
                Removed::WasAbsent => {
                    tracing::debug!(credential = %name, "a credential of the instance does not exist, or the broker has no permission to delete it");
                }
            }
        }
        Ok(())
    }

    /// The credentials in the folder of the instance, and those of other clients for its deployment. CredHub ignores
    /// case, so the latter may belong to another instance. Other credentials do not belong to the instance, because
    /// short ids are part of many names.
    fn of_instance(
        &self,
        instance: &InstanceId,
        found: Vec<CredentialName>,
    ) -> (Vec<CredentialName>, Vec<CredentialName>) {
        let folder = self.folder(instance).ok();
        let is_own = |name: &CredentialName| {
            let mut folders = folder.iter();
            folders.any(|folder| is_exactly_below(name, folder))
        };
        let (own, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_own);
        let deployment = deployment(instance);
        let offering = format!("/odb/{}/", self.offering);
        others.retain(|name| {
            // Here another id, perhaps one that is just being ordered, has its own secrets.
            let is_of_brokers = name.as_str().starts_with(&offering);
            let is_exact = || {
                name.as_str()
                    .split('/')
                    .any(|part| part == deployment.as_str())
            };
            is_in_folder_named(name, deployment.as_str()) && (!is_of_brokers || is_exact())
        });
        (own, others)
    }
}

/// Whether the Director has a deployment whose name differs only in case: CredHub does not distinguish the variables of
/// both.
async fn has_twin(
    call: &Call,
    director: &Director,
    instance: &InstanceId,
) -> Result<bool, CleanupError> {
    let own = deployment(instance);
    let deployments = director.deployments(call).await?;
    Ok(deployments.iter().any(|other| {
        let name = other.as_str();
        name != own.as_str() && name.eq_ignore_ascii_case(own.as_str())
    }))
}

/// Whether one of the folders above has this name.
fn is_in_folder_named(name: &CredentialName, folder: &str) -> bool {
    let mut parts = name.as_str().split('/').rev();
    parts.next();
    parts.any(|part| part.eq_ignore_ascii_case(folder))
}

async fn write_again(
    credhub: &CredHub,
    call: &Call,
    name: &CredentialName,
    previous: &CredentialId,
) -> Result<(), ServiceError> {
    let Some(previous) = credhub.version_of(call, previous).await? else {
        tracing::warn!(code = %Code::CleanUp, credential = %name, "the previous value of a secret is lost: the new one remains");
        return Ok(());
    };
    credhub.put(call, name, &previous.value).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_its_own_folder_and_shares_only_what_others_keep_for_its_deployment() {
        let secrets = InstanceSecrets::new(None, "o".to_owned().into());
        let found = || {
            let all = [
                "/odb/o/service-instance_case-x/token",
                "/odb/o/service-instance-f4_CASE-X/token",
                "/odb/o/service-instance_CASE-X/from-before",
                "/bosh/service-instance_case-x/generated",
                "/c/o/case-x/b/credentials",
            ];
            all.iter().map(|name| name.parse().unwrap()).collect()
        };
        let of = |id: &str| {
            let (own, others) = secrets.of_instance(&id.to_owned().try_into().unwrap(), found());
            [own, others].map(|names| names.into_iter().map(String::from).collect::<Vec<_>>())
        };
        assert_eq!(
            of("case-x"),
            [
                vec!["/odb/o/service-instance_case-x/token"],
                vec!["/bosh/service-instance_case-x/generated"],
            ]
        );
        assert_eq!(
            of("CASE-X"),
            [
                vec!["/odb/o/service-instance-f4_CASE-X/token"],
                vec![
                    "/odb/o/service-instance_CASE-X/from-before",
                    "/bosh/service-instance_case-x/generated",
                ],
            ]
        );
    }

    #[test]
    fn only_what_has_the_deployment_for_a_folder_is_the_instances() {
        let is_in = |name: &str| is_in_folder_named(&name.parse().unwrap(), "service-instance_a");
        assert!(is_in("/odb/offering/service-instance_a/token"));
        assert!(is_in("/odb/offering/Service-Instance_A/db/login"));
        assert!(is_in("/bosh/service-instance_a/pw"));
        for foreign in [
            "/odb/offering/service-instance_ab/token",
            "/odb/offering/my-service-instance_a/token",
            "/c/service/a/binding/credentials",
            "/odb/service-instance_a",
            "/a/a",
        ] {
            assert!(!is_in(foreign), "{foreign}");
        }
    }
}
