//! Under which names the runtime CredHub keeps what belongs to a binding.

use odb_platform::credhub::CredentialName;

use crate::ids::{BindingId, InstanceId, OfferingId};

/// A permission is for a path, which may be shorter than a name (`spec/contracts/platform-apis.md` §2.4).
const LONGEST_PATH: usize = 255;

/// The names of one binding.
#[derive(Clone, Debug)]
pub(in crate::operations) struct BindingNames {
    /// The credentials. The name is the Go broker's.
    pub(super) credentials: CredentialName,
    /// What is remembered of the binding.
    pub(super) record: CredentialName,
}

/// Names in CredHub have fewer characters than ids, and less room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the ids of service instance and binding cannot be part of a name in CredHub: they are too long together, or have a `~`"
)]
pub struct UnstorableIds;

impl BindingNames {
    /// The names of a binding.
    pub(in crate::operations) fn new(
        service: &OfferingId,
        instance: &InstanceId,
        binding: &BindingId,
    ) -> Result<Self, UnstorableIds> {
        let name = |what: &str| {
            let name = format!("/c/{service}/{instance}/{binding}/{what}");
            let name = CredentialName::try_from(name).map_err(|_| UnstorableIds)?;
            if name.as_str().len() > LONGEST_PATH {
                return Err(UnstorableIds);
            }
            Ok(name)
        };
        Ok(Self {
            credentials: name("credentials")?,
            record: name("record")?,
        })
    }

    /// What the platform gets in the place of credentials.
    pub(in crate::operations) fn reference(&self) -> &str {
        self.credentials.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(instance: &str, binding: &str) -> Result<BindingNames, UnstorableIds> {
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
    fn ids_that_no_name_can_have_are_refused() {
        let long = "x".repeat(120);
        for (instance, binding) in [("a~b", "b"), ("a", "~"), (&*long, &*long)] {
            assert_eq!(names(instance, binding).unwrap_err(), UnstorableIds);
        }
    }
}
