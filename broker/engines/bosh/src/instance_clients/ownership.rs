//! The metadata by which the broker recognises a client. A UAA stores unknown members.
//!
//! Empty means absent: a UAA keeps members that an update does not contain.

use odb_api_types::ids::{InstanceId, OfferingId};
use odb_clients::{director::ContextId, uaa::ClientRegistration};
use serde_json::{Map, Value};

/// The offering whose broker owns the client.
const OFFERING: &str = "odb_offering";
/// The space of the instance: an upgrade may come without one.
const SPACE: &str = "odb_space";
/// The operation that created the client, until it is known to have succeeded. Until then only the broker has the
/// secret.
const MADE_BY: &str = "odb_made_by";

/// The marks of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) offering: Option<String>,
    pub(super) space: Option<String>,
    pub(super) made_by: Option<String>,
}

impl Ownership {
    pub(super) fn of(client: &ClientRegistration) -> Self {
        let text = |mark: &str| {
            let text = client.additional.get(mark)?.as_str()?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        Self {
            offering: text(OFFERING),
            space: text(SPACE),
            made_by: text(MADE_BY),
        }
    }

    pub(super) fn into_members(self) -> Map<String, Value> {
        let text = |text: Option<String>| Value::from(text.unwrap_or_default());
        Map::from_iter([
            (OFFERING.to_owned(), text(self.offering)),
            (SPACE.to_owned(), text(self.space)),
            (MADE_BY.to_owned(), text(self.made_by)),
        ])
    }

    pub(super) fn is_made_by(&self, operation: &ContextId) -> bool {
        self.made_by.as_deref() == Some(operation.as_str())
    }

    /// Whether the broker may change and delete the client. Clients of the Go broker have no metadata; then the id must
    /// be one that only a Cloud Controller assigns. Otherwise a user could name any client of the UAA as an instance
    /// and have it deleted.
    pub(super) fn belong_to(&self, instance: &InstanceId, offering: &OfferingId) -> bool {
        match &self.offering {
            Some(marked) => marked == offering.as_str(),
            None => uuid::Uuid::try_parse(instance.as_str()).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_metadata_is_own_only_under_an_id_of_the_cloud_controller() {
        let offering: OfferingId = "ours".to_owned().into();
        let belong = |instance: &str, offering_mark: Option<&str>| {
            let ownership = Ownership {
                offering: offering_mark.map(str::to_owned),
                ..Ownership::default()
            };
            let instance = InstanceId::try_from(instance.to_owned()).unwrap();
            ownership.belong_to(&instance, &offering)
        };
        let guid = "b1f2c3d4-0f0c-4c55-8a5b-6f1f6a9c2d21";
        assert!(belong(guid, None));
        assert!(belong("my-instance", Some("ours")));
        assert!(!belong("cf", None));
        assert!(!belong(guid, Some("theirs")));
    }
}
