//! The values behind the references of a manifest.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use odb_adapter_sdk::{protocol::Secrets, secrets::Reference};
use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    credhub::{CredHub, Credential, CredentialId, CredentialName, CredentialValue},
    director::{DeploymentName, Director, Variable},
    http::Call,
};
use odb_redaction::Chain;

use super::{InstanceSecrets, is_relative_name_of};
use crate::{error::Error, instance::Instance};

const MOST_REPORTED: usize = 16;
const AT_ONCE: usize = 4;
/// How many versions of a credential are searched first for the newest that a deployment uses.
const VERSIONS: usize = 20;
/// How many times as many for an older one.
const MORE_VERSIONS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// Everything fails: an adapter that misses an existing secret would generate a new one.
    IsFatal,
    /// It is left out, as one that means nothing.
    IsLeftOut,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Location {
    /// In one of these versions, the newest.
    Version(CredentialName, BTreeSet<String>),
    Latest(CredentialName),
}

/// A source, and the members to follow in its value.
struct Sought<'m> {
    location: Location,
    members: Vec<&'m str>,
}

type Values = BTreeMap<Location, Result<Option<CredentialValue>, ServiceError>>;

impl InstanceSecrets {
    /// The values of a manifest's references, for an adapter that creates or deletes bindings. Unreadable ones are left
    /// out, in time for the adapter, which knows what it needs.
    pub(crate) async fn resolve_for_binding(
        &self,
        instance: Instance<'_>,
        manifest: &str,
    ) -> Option<Secrets> {
        let call = Call {
            deadline: instance
                .call
                .deadline
                .within(instance.call.deadline.remaining() / 2),
            ..instance.call.clone()
        };
        let instance = Instance {
            call: &call,
            ..instance
        };
        let resolved = self
            .resolve(instance, manifest, Unanswered::IsLeftOut)
            .await;
        resolved.unwrap_or_else(|error| {
            tracing::warn!(code = %Code::CredHub, error = %Chain(&error), "the adapter runs without secrets");
            None
        })
    }

    /// The values of a deployed manifest's references, by reference; `None` without secure manifests.
    ///
    /// Unknown references are left out, and their names are logged.
    pub(crate) async fn resolve(
        &self,
        instance: Instance<'_>,
        manifest: &str,
        unanswered: Unanswered,
    ) -> Result<Option<Secrets>, Error> {
        let Some(credhub) = &self.credhub else {
            return Ok(None);
        };
        let (call, director) = (instance.call, instance.director());
        let deployment = &instance.name();
        let references: BTreeSet<_> = Reference::all_in(manifest)
            .filter(|reference| reference.placeholder().is_none())
            .collect();
        if references.is_empty() {
            return Ok(Some(Secrets::default()));
        }
        let variables = match (director.variables(call, deployment).await, unanswered) {
            (Ok(variables), _) => variables,
            (Err(error), Unanswered::IsFatal) => return Err(Error::Variables(error)),
            (Err(error), Unanswered::IsLeftOut) => {
                tracing::warn!(code = %Code::Director, error = %Chain(&error), "the variables of the deployment are not known");
                Vec::new()
            }
        };
        let is_listed = |reference: &Reference<'_>| {
            listed(reference, &variables, deployment).is_some() || reference.is_absolute()
        };
        let folder = if references.iter().all(is_listed) {
            None
        } else {
            folder_of_deployment(call, director, deployment).await
        };
        let sought: Vec<Vec<Sought<'_>>> = references
            .iter()
            .map(|reference| locations(reference, &variables, deployment, folder.as_deref()))
            .collect();
        let mut values = Values::new();
        // What is missing under the first name may exist under the second.
        for attempt in 0..2 {
            let missing: BTreeSet<Location> = sought
                .iter()
                .filter(|sought| value_of(sought, &values).is_none())
                .filter_map(|sought| Some(sought.get(attempt)?.location.clone()))
                .filter(|location| !values.contains_key(location))
                .collect();
            values.extend(read_all(credhub, call, missing).await);
        }
        gather(&references, &sought, &values, unanswered)
    }
}

fn gather(
    references: &BTreeSet<Reference<'_>>,
    sought: &[Vec<Sought<'_>>],
    values: &Values,
    unanswered: Unanswered,
) -> Result<Option<Secrets>, Error> {
    let mut secrets = Secrets::default();
    let (mut unread, mut unresolved) = (Vec::new(), Vec::new());
    let mut first_failure = None;
    for (reference, sought) in references.iter().zip(sought) {
        if let Some(value) = value_of(sought, values) {
            secrets.insert(reference.text(), value.as_text().clone());
            continue;
        }
        let mut failures = sought
            .iter()
            .filter_map(|sought| values.get(&sought.location)?.as_ref().err());
        match (failures.next(), unanswered) {
            (None, _) => unresolved.push(reference.text()),
            (Some(error), Unanswered::IsFatal) => {
                return Err(Error::Reference {
                    reference: reference.text().to_owned(),
                    source: error.clone(),
                });
            }
            (Some(error), Unanswered::IsLeftOut) => {
                first_failure.get_or_insert(error);
                unread.push(reference.text());
            }
        }
    }
    if let Some(error) = first_failure {
        tracing::warn!(
            code = %Code::CredHub,
            references = in_short(&unread),
            error = %Chain(error),
            "the adapter runs without the secrets of these references: they could not be read"
        );
    }
    if !unresolved.is_empty() {
        tracing::warn!(
            code = %Code::UnresolvedSecret,
            references = in_short(&unresolved),
            "the adapter runs without the secrets of these references: they do not exist, or the broker has no permission to read them"
        );
    }
    Ok(Some(secrets))
}

fn in_short(references: &[&str]) -> String {
    let reported = references[..references.len().min(MOST_REPORTED)].join(" ");
    match references.len().saturating_sub(MOST_REPORTED) {
        0 => reported,
        more => format!("{reported} and {more} more"),
    }
}

fn value_of(sought: &[Sought<'_>], values: &Values) -> Option<CredentialValue> {
    sought.iter().find_map(|sought| {
        let value = values.get(&sought.location)?.as_ref().ok()?.clone()?;
        sought
            .members
            .iter()
            .try_fold(value, |value, member| value.member(member))
    })
}

/// The possible sources of a reference's value, in the order of the search.
fn locations<'m>(
    reference: &Reference<'m>,
    variables: &[Variable],
    deployment: &DeploymentName,
    folder: Option<&str>,
) -> Vec<Sought<'m>> {
    let members: Vec<_> = reference.members().collect();
    if let Some(location) = listed(reference, variables, deployment) {
        let has_whole_name = location.0.as_str() == reference.name();
        return vec![Sought {
            location: Location::Version(location.0, location.1),
            members: if has_whole_name { Vec::new() } else { members },
        }];
    }
    let root = if reference.is_absolute() {
        Some(reference.root().to_owned())
    } else {
        folder.map(|folder| format!("{folder}/{}", reference.root()))
    };
    let is_whole = members.is_empty();
    let latest = |name: &str, members| {
        let name = name.parse().ok()?;
        Some(Sought {
            location: Location::Latest(name),
            members,
        })
    };
    let in_root = root.and_then(|root| latest(&root, members));
    // BOSH takes a dot for the way to a member; CredHub's own names may have some.
    let whole = (reference.is_absolute() && !is_whole)
        .then(|| latest(reference.name(), Vec::new()))
        .flatten();
    in_root.into_iter().chain(whole).collect()
}

/// The versions of the Director's variable that a reference means.
fn listed(
    reference: &Reference<'_>,
    variables: &[Variable],
    deployment: &DeploymentName,
) -> Option<(CredentialName, BTreeSet<String>)> {
    let ids_of = |means: &dyn Fn(&str) -> bool| {
        let mut found = variables.iter().filter(|variable| means(&variable.name));
        let first = found.next()?;
        let same = found.filter(|variable| variable.name == first.name);
        let ids = same.map(|variable| variable.id.clone());
        let ids = std::iter::once(first.id.clone()).chain(ids).collect();
        Some((first.name.parse().ok()?, ids))
    };
    if !reference.is_absolute() {
        return ids_of(&|name| is_relative_name_of(reference, name, deployment));
    }
    ids_of(&|name| name == reference.name()).or_else(|| ids_of(&|name| name == reference.root()))
}

/// Where the Director keeps the variables of a deployment.
async fn folder_of_deployment(
    call: &Call,
    director: &Director,
    deployment: &DeploymentName,
) -> Option<String> {
    match director.info(call).await {
        Ok(info) => Some(format!("/{}/{deployment}", info.name)),
        Err(error) => {
            tracing::warn!(code = %Code::Director, error = %Chain(&error), "the name of the Director is not known");
            None
        }
    }
}

async fn read_all(credhub: &CredHub, call: &Call, locations: BTreeSet<Location>) -> Values {
    stream::iter(locations)
        .map(|location| async move {
            let value = read(credhub, call, &location).await;
            (location, value)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

async fn read(
    credhub: &CredHub,
    call: &Call,
    location: &Location,
) -> Result<Option<CredentialValue>, ServiceError> {
    let credential = match location {
        Location::Latest(name) => credhub.latest(call, name).await?,
        Location::Version(name, ids) if ids.len() > 1 => {
            newest_of(credhub, call, name, ids).await?
        }
        Location::Version(_, ids) => {
            let id = ids
                .first()
                .and_then(|id| CredentialId::try_from(id.clone()).ok());
            match id {
                Some(id) => credhub.version_of(call, &id).await?,
                None => None,
            }
        }
    };
    Ok(credential.map(|credential| credential.value))
}

/// The newest of some versions, however many there have been since.
async fn newest_of(
    credhub: &CredHub,
    call: &Call,
    name: &CredentialName,
    ids: &BTreeSet<String>,
) -> Result<Option<Credential>, ServiceError> {
    let mut most = VERSIONS;
    loop {
        let versions = credhub.newest(call, name, most).await?;
        let are_all = versions.len() < most;
        let mut versions = versions.into_iter();
        match versions.find(|version| ids.contains(version.id.as_str())) {
            None if !are_all => most = most.saturating_mul(MORE_VERSIONS),
            found => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> DeploymentName {
        "service-instance_i".parse().unwrap()
    }

    fn variable(name: &str, id: &str) -> Variable {
        Variable {
            id: id.to_owned(),
            name: name.to_owned(),
        }
    }

    fn reported(reference: &str, variables: &[Variable]) -> Vec<String> {
        let reference = Reference::read(reference).unwrap();
        let folder = Some("/bosh/service-instance_i");
        let sought = locations(&reference, variables, &deployment(), folder);
        let reported = sought.into_iter().map(|sought| {
            let location = match sought.location {
                Location::Version(_, ids) => ids.into_iter().collect::<Vec<_>>().join(","),
                Location::Latest(name) => name.to_string(),
            };
            format!("{location} {}", sought.members.join("."))
                .trim_end()
                .to_owned()
        });
        reported.collect()
    }

    #[test]
    fn a_reference_means_what_the_director_means_by_it() {
        let variables = [
            variable("/odb/o/service-instance_i/pw", "foreign"),
            variable("/bosh/service-instance_i/pw", "own"),
            variable("/bosh/service-instance_i/cert", "cert-1"),
            variable("/bosh/service-instance_i/cert", "cert-2"),
            variable("/shared/user", "user"),
        ];
        for (reference, expected) in [
            ("((pw))", vec!["own"]),
            ("((!pw))", vec!["own"]),
            ("((cert.ca))", vec!["cert-1,cert-2 ca"]),
            ("((cert.a.b))", vec!["cert-1,cert-2 a.b"]),
            ("((/shared/user))", vec!["user"]),
            ("((/shared/user.name))", vec!["user name"]),
            ("((/odb/o/service-instance_i/pw))", vec!["foreign"]),
            ("((other))", vec!["/bosh/service-instance_i/other"]),
            ("((/else/where))", vec!["/else/where"]),
            (
                "((/else/where.key))",
                vec!["/else/where key", "/else/where.key"],
            ),
        ] {
            assert_eq!(reported(reference, &variables), expected, "{reference}");
        }
    }

    #[test]
    fn of_many_references_the_first_are_named() {
        assert_eq!(in_short(&["((a))", "((b))"]), "((a)) ((b))");
        let many = in_short(&["((a))"; MOST_REPORTED + 3]);
        assert!(many.ends_with("((a)) and 3 more"), "{many}");
    }

    #[test]
    fn a_name_that_credhub_cannot_have_is_looked_for_nowhere() {
        assert_eq!(reported("((/a//b))", &[]), Vec::<String>::new());
        assert_eq!(reported("((/a/../b))", &[]), Vec::<String>::new());
    }
}
