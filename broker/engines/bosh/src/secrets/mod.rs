//! Secrets of service instances, in the Director's CredHub (`spec/contracts/broker-behaviour.md` §3.8).
//!
//! The secrets of an adapter's answer are stored in a folder of the instance, `/odb/OFFERING/DEPLOYMENT`, and its
//! manifest refers to them. The folder of an instance whose id has capitals names them, because CredHub ignores case.
//! For adapters that change an instance or create bindings, the broker resolves all references of the manifest.
//!
//! `resolution` reads the values behind a manifest's references.

mod resolution;

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::{protocol::ManifestText, secrets::Reference};
use odb_api_types::{
    code::Code,
    ids::{InstanceId, OfferingId},
};
use odb_clients::{
    FailureKind, InvalidText, ServiceError,
    credhub::{CredHub, CredentialId, CredentialName, CredentialValue, Removed, SecretJson},
    director::{Config, DeploymentName, Director},
    http::{Call, StatusCode},
};
use odb_core::credhub_names::{capitals, is_exactly_below};
use odb_redaction::Chain;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{error::Error, instance::deployment, reconciler::cleanup::CleanupError};

pub(crate) use resolution::Unanswered;

#[derive(Clone, Debug)]
pub(crate) struct InstanceSecrets {
    /// Absent where secure manifests are off.
    credhub: Option<CredHub>,
    offering: OfferingId,
}

impl InstanceSecrets {
    /// Without a CredHub nothing is kept, and nothing read.
    pub(crate) fn new(credhub: Option<CredHub>, offering: OfferingId) -> Self {
        Self { credhub, offering }
    }

    /// The folder of an instance. There is none for ids that CredHub has no letters for.
    ///
    /// The names of deployments begin with `service-instance_`, so that no other id has the folder of one with
    /// capitals.
    fn folder(&self, instance: &InstanceId) -> Result<CredentialName, InvalidText> {
        let offering = &self.offering;
        match capitals(instance.as_str()) {
            None => format!("/odb/{offering}/{}", deployment(instance)),
            Some(capitals) => format!("/odb/{offering}/service-instance-{capitals}_{instance}"),
        }
        .parse()
    }
}

/// Whether a variable of the Director is the target of a relative reference: it is in the deployment's own folder,
/// `/DIRECTOR/DEPLOYMENT`, and does not only have the same name elsewhere.
fn is_relative_name_of(
    reference: &Reference<'_>,
    variable: &str,
    deployment: &DeploymentName,
) -> bool {
    let director = variable
        .strip_suffix(reference.root())
        .and_then(|start| start.strip_suffix('/'))
        .and_then(|start| start.strip_suffix(deployment.as_str()))
        .and_then(|start| start.strip_suffix('/'))
        .and_then(|start| start.strip_prefix('/'));
    director.is_some_and(|director| !director.is_empty() && !director.contains('/'))
}

/// Whether a text is a reference and nothing else.
pub fn is_reference(text: &str) -> bool {
    Reference::read(text.trim()).is_some()
}

/// Whether there is a reference somewhere in a text.
pub fn has_reference(text: &str) -> bool {
    Reference::all_in(text).next().is_some()
}

/// The absolute names that a manifest refers to, in lower case: complete names, and the part before their members.
fn used_in(manifest: &str) -> BTreeSet<String> {
    Reference::all_in(manifest)
        .filter(Reference::is_absolute)
        .flat_map(|reference| [reference.name(), reference.root()])
        .map(str::to_ascii_lowercase)
        .collect()
}

#[derive(Debug)]
pub(crate) struct NewSecret {
    pub(super) name: CredentialName,
    pub(super) value: CredentialValue,
    previous: Option<CredentialId>,
}

/// The previous state of a secret. Operation records hold it: no secret, only its path and id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreviousSecret {
    pub(super) name: CredentialName,
    /// The version that was the latest; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<CredentialId>,
}

impl InstanceSecrets {
    /// Determines which secrets of an answer to store, and their previous versions. Nothing is written yet.
    ///
    /// A secret without a placeholder is left out, and one with the stored value is not written again. Without secure
    /// manifests the manifest is unchanged.
    pub(crate) async fn prepare(
        &self,
        call: &Call,
        instance: &InstanceId,
        manifest: ManifestText,
        secrets: Option<&Map<String, Value>>,
    ) -> Result<(ManifestText, Vec<NewSecret>), Error> {
        let Some(credhub) = &self.credhub else {
            return Ok((manifest, Vec::new()));
        };
        let wanted = self.wanted(instance, manifest.as_str(), secrets)?;
        if wanted.is_empty() {
            return Ok((manifest, Vec::new()));
        }
        let mut text = manifest.into_string();
        let mut new = Vec::new();
        for (placeholder, name, value) in wanted {
            text = text.replace(&placeholder, &format!("(({name}))"));
            let previous = credhub
                .latest(call, &name)
                .await
                .map_err(Error::credhub("look up a secret of the adapter"))?;
            if previous
                .as_ref()
                .is_some_and(|previous| previous.value.is_known_to_equal(&value))
            {
                continue;
            }
            new.push(NewSecret {
                name,
                value,
                previous: previous.map(|previous| previous.id),
            });
        }
        Ok((text.into(), new))
    }

    /// The placeholders of a manifest, each with its path and its value.
    pub(crate) fn wanted(
        &self,
        instance: &InstanceId,
        manifest: &str,
        secrets: Option<&Map<String, Value>>,
    ) -> Result<Vec<(String, CredentialName, CredentialValue)>, Error> {
        let placeholders: BTreeSet<_> = Reference::all_in(manifest)
            .filter_map(|reference| Some((reference.placeholder()?, reference.text())))
            .collect();
        let mut names = BTreeMap::new();
        for &(name, _) in &placeholders {
            let other = names.insert(name.to_ascii_lowercase(), name);
            if let Some(other) = other.filter(|other| *other != name) {
                return Err(Error::SecretsSameButForCase {
                    one: other.to_owned(),
                    other: name.to_owned(),
                });
            }
        }
        placeholders
            .into_iter()
            .map(|(name, placeholder)| {
                let missing = || Error::SecretMissing {
                    name: name.to_owned(),
                };
                let value = secrets.and_then(|all| all.get(name)).ok_or_else(missing)?;
                let path = self.path(instance, name)?;
                let value = credential(name, value)?;
                Ok((placeholder.to_owned(), path, value))
            })
            .collect()
    }

    fn path(&self, instance: &InstanceId, name: &str) -> Result<CredentialName, Error> {
        let path: CredentialName = format!("{}/{name}", self.folder(instance)?).parse()?;
        let may_be_referred_to =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
        if !path.as_str().bytes().all(may_be_referred_to) {
            return Err(Error::SecretUnreferable { path: path.into() });
        }
        Ok(path)
    }
}

impl PreviousSecret {
    /// The secrets that a deployed manifest does not refer to, or that existed before: secrets in use are never
    /// deleted.
    pub(crate) fn not_in_use(all: &[Self], manifest: &str) -> Vec<Self> {
        let used = used_in(manifest);
        let in_use = |name: &CredentialName| used.contains(&name.as_str().to_ascii_lowercase());
        let kept = all
            .iter()
            .filter(|previous| previous.version.is_some() || !in_use(&previous.name));
        kept.cloned().collect()
    }
}

impl NewSecret {
    pub(crate) fn path(&self) -> &str {
        self.name.as_str()
    }

    pub(crate) fn is_first(&self) -> bool {
        self.previous.is_none()
    }

    pub(crate) fn previous(&self) -> PreviousSecret {
        PreviousSecret {
            name: self.name.clone(),
            version: self.previous.clone(),
        }
    }
}

fn credential(name: &str, value: &Value) -> Result<CredentialValue, Error> {
    let found = match value {
        Value::String(text) if !text.is_empty() => {
            return Ok(CredentialValue::Text(text.as_str().into()));
        }
        Value::Object(object) => {
            return Ok(CredentialValue::Json(SecretJson::from(object.clone())));
        }
        Value::String(_) => "empty",
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list",
    };
    Err(Error::SecretKind {
        name: name.to_owned(),
        found,
    })
}

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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_a_reference_has_one_or_neither() {
        for (text, is_one, has_one) in [
            ("((pw))", true, true),
            (" ((!/a/b.c)) ", true, true),
            ("https://((host)):25555", false, true),
            ("((a))((b))", false, true),
            ("(( odd ))", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (is_reference(text), has_reference(text)),
                (is_one, has_one),
                "{text}"
            );
        }
    }

    #[test]
    fn a_relative_name_means_the_deployments_own_variable_and_no_other_of_that_name() {
        let deployment = "service-instance_i".parse().unwrap();
        let reference = Reference::read("((pw.member))").unwrap();
        assert!(is_relative_name_of(
            &reference,
            "/bosh/service-instance_i/pw",
            &deployment
        ));
        for foreign in [
            "/bosh/service-instance_j/pw",
            "/bosh/other-service-instance_i/pw",
            "/odb/offering/service-instance_i/pw",
            "/service-instance_i/pw",
            "/bosh/service-instance_i/other-pw",
            "/bosh/service-instance_i/x/pw",
            "/pw",
        ] {
            assert!(
                !is_relative_name_of(&reference, foreign, &deployment),
                "{foreign}"
            );
        }
    }

    #[test]
    fn a_secret_is_used_by_reference_to_itself_and_to_a_part_of_it_in_any_case() {
        let used = used_in("a: ((/odb/O/d/one))\nb: ((!/odb/o/d/two.user))\nc: ((three))\n");
        for name in ["/odb/o/d/one", "/odb/o/d/two"] {
            assert!(used.contains(name), "{used:?}");
        }
        assert!(!used.contains("three"));
    }

    fn wanted(manifest: &str, secrets: Value) -> Result<Vec<String>, Error> {
        let kept = InstanceSecrets::new(None, "offering".to_owned().into());
        let instance = InstanceId::try_from("i".to_owned()).unwrap();
        let Value::Object(secrets) = secrets else {
            panic!("secrets are an object");
        };
        let wanted = kept.wanted(&instance, manifest, Some(&secrets))?;
        Ok(wanted
            .into_iter()
            .map(|(_, path, value)| format!("{path} {value:?}"))
            .collect())
    }

    #[test]
    fn what_the_manifest_asks_for_is_kept_in_the_instances_folder_and_nothing_else() {
        let manifest = "a: ((odb_secret:token))\nb: ((odb_secret:db/login))\nc: ((odb_secret:token))\nd: ((other))\n";
        let secrets = json!({"token": "hunter2", "db/login": {"user": "u"}, "unused": 1});
        assert_eq!(
            wanted(manifest, secrets).unwrap(),
            [
                "/odb/offering/service-instance_i/db/login Json([REDACTED])",
                "/odb/offering/service-instance_i/token Text([REDACTED])",
            ]
        );
    }

    #[test]
    fn ids_that_differ_in_case_keep_their_secrets_apart() {
        let kept = InstanceSecrets::new(None, "offering".to_owned().into());
        let path = |instance: &str| {
            let instance = InstanceId::try_from(instance.to_owned()).unwrap();
            kept.path(&instance, "Token").unwrap()
        };
        let (small, large) = (path("case-x"), path("CASE-X"));
        assert_eq!(
            small.as_str(),
            "/odb/offering/service-instance_case-x/Token"
        );
        assert_eq!(
            large.as_str(),
            "/odb/offering/service-instance-f4_CASE-X/Token"
        );
        assert!(!large.as_str().eq_ignore_ascii_case(path("CAsE-X").as_str()));
    }

    #[test]
    fn a_secret_that_cannot_be_kept_is_reported_by_its_name_and_never_by_its_value() {
        for (manifest, secrets, reported) in [
            (
                "((odb_secret:a))",
                json!({"b": "hunter2"}),
                "no secret of that name",
            ),
            (
                "((odb_secret:Key)) ((odb_secret:key))",
                json!({"Key": "hunter2", "key": "hunter3"}),
                "`Key` and `key` differ in case only",
            ),
            ("((odb_secret:a))", json!({"a": ["hunter2"]}), "is a list"),
            ("((odb_secret:a))", json!({"a": ""}), "is empty"),
            (
                "((odb_secret:a.b))",
                json!({"a.b": "hunter2"}),
                "no manifest can refer",
            ),
            (
                "((odb_secret:../x))",
                json!({"../x": "hunter2"}),
                "cannot store the adapter's secret",
            ),
            (
                "((odb_secret:))",
                json!({"": "hunter2"}),
                "cannot store the adapter's secret",
            ),
        ] {
            let error = wanted(manifest, secrets).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains(reported), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

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
