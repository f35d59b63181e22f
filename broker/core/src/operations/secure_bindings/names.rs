//! The names of a binding's entries in the runtime CredHub.

use odb_api_types::ids::{BindingId, InstanceId, OfferingId};
use odb_clients::credhub::CredentialName;

use crate::credhub_names::{capitals, is_exactly_below};

/// A permission is for a path, which may be shorter than a name (`spec/contracts/platform-apis.md` §2.4).
const LONGEST_PATH: usize = 255;

#[derive(Clone, Debug)]
pub(in crate::operations) struct BindingNames {
    /// The credentials. Of ids without capitals the name is the Go broker's.
    pub(super) credentials: CredentialName,
    pub(super) record: CredentialName,
    /// Where the Go broker has the credentials of ids with capitals.
    pub(super) previous_credentials: Option<CredentialName>,
}

impl BindingNames {
    /// `None` if the ids cannot be part of a name in CredHub.
    pub(in crate::operations) fn new(
        service: &OfferingId,
        instance: &InstanceId,
        binding: &BindingId,
    ) -> Option<Self> {
        let (own_instance, own_binding) = (part(instance.as_str()), part(binding.as_str()));
        let name = |what: &str| {
            let name = format!("/c/{service}/{own_instance}/{own_binding}/{what}");
            let name = CredentialName::try_from(name).ok()?;
            (name.as_str().len() <= LONGEST_PATH).then_some(name)
        };
        let credentials = name("credentials")?;
        let previous = format!("/c/{service}/{instance}/{binding}/credentials").parse();
        Some(Self {
            previous_credentials: previous.ok().filter(|previous| *previous != credentials),
            credentials,
            record: name("record")?,
        })
    }

    pub(super) fn around(found: &CredentialName) -> Option<Self> {
        let (binding, _) = found.as_str().rsplit_once('/')?;
        let name = |what: &str| format!("{binding}/{what}").parse().ok();
        Some(Self {
            credentials: name("credentials")?,
            record: name("record")?,
            previous_credentials: None,
        })
    }

    pub(in crate::operations) fn reference(&self) -> &str {
        self.credentials.as_str()
    }
}

/// The folders in which there may be bindings of an instance: its own, and that of the Go broker.
pub(super) fn folders(service: &OfferingId, instance: &InstanceId) -> Vec<CredentialName> {
    let mut names = vec![part(instance.as_str()), instance.as_str().to_owned()];
    names.dedup();
    let folders = names.into_iter();
    folders
        .filter_map(|name| format!("/c/{service}/{name}").parse().ok())
        .collect()
}

/// Whether the credential belongs to a binding in one of the folders. A name that differs in case may belong to another
/// instance.
pub(super) fn is_in_one_of(folders: &[CredentialName], name: &CredentialName) -> bool {
    folders.iter().any(|folder| is_exactly_below(name, folder))
}

/// An id as part of a name. No id has a colon.
fn part(id: &str) -> String {
    match capitals(id) {
        None => id.to_owned(),
        Some(capitals) => format!("{id}:{capitals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(instance: &str, binding: &str) -> Option<BindingNames> {
        let service = OfferingId::from("service".to_owned());
        BindingNames::new(
            &service,
            &instance.to_owned().try_into().unwrap(),
            &binding.to_owned().try_into().unwrap(),
        )
    }

    #[test]
    fn credentials_are_where_the_go_broker_has_them() {
        let names = names("i-1", "b_2").unwrap();
        assert_eq!(names.reference(), "/c/service/i-1/b_2/credentials");
    }

    #[test]
    fn ids_that_differ_in_case_keep_their_credentials_apart() {
        let reference = |instance, binding| names(instance, binding).unwrap().credentials;
        let all = [
            reference("case-x", "b"),
            reference("CASE-X", "b"),
            reference("Case-X", "b"),
            reference("case-x", "B"),
        ];
        assert_eq!(all[1].as_str(), "/c/service/CASE-X:f4/b/credentials");
        assert_eq!(all[3].as_str(), "/c/service/case-x/B:8/credentials");
        for (index, name) in all.iter().enumerate() {
            let mut others = all[index + 1..].iter();
            assert!(
                !others.any(|other| other.as_str().eq_ignore_ascii_case(name.as_str())),
                "{name}"
            );
        }
    }

    #[test]
    fn an_instance_has_what_is_in_its_folders_in_its_own_letters() {
        let service = OfferingId::from("service".to_owned());
        let of = |instance: &str| {
            let folders = folders(&service, &instance.to_owned().try_into().unwrap());
            let all = [
                "/c/service/case-x/b/credentials",
                "/c/service/CASE-X/b/credentials",
                "/c/service/CASE-X:f4/b/record",
                "/c/service/case-xy/b/credentials",
            ];
            let mut all = all.to_vec();
            all.retain(|name| is_in_one_of(&folders, &name.parse().unwrap()));
            all
        };
        assert_eq!(of("case-x"), ["/c/service/case-x/b/credentials"]);
        assert_eq!(
            of("CASE-X"),
            [
                "/c/service/CASE-X/b/credentials",
                "/c/service/CASE-X:f4/b/record"
            ]
        );
    }

    #[test]
    fn ids_that_no_name_can_have_are_refused() {
        let long = "x".repeat(120);
        for (instance, binding) in [("a~b", "b"), ("a", "~"), (&*long, &*long)] {
            assert!(names(instance, binding).is_none());
        }
    }
}
