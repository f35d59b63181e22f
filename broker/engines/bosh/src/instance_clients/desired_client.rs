//! The UAA client that an instance should have, with the metadata by which the broker recognises it.

use std::collections::BTreeSet;

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId};
use odb_clients::{
    director::ContextId,
    uaa::{ClientId, ClientRegistration},
};
use odb_config::ClientDefinition;
use serde_json::{Map, Value};

use super::ClientError;

/// The operator's placeholder for the space of an instance.
const SPACE: &str = "ODB_SPACE_GUID";

/// Clients of some grants need an address from the beginning, and the dashboard's is not known yet.
const PLACEHOLDER: &str = "https://placeholder.example.com";

/// The authority of clients without authorities. UAA ignores an empty list.
const NOTHING: &str = "uaa.none";

/// UAA adds this grant to clients that have one of two others.
const ADDED: &str = "refresh_token";

/// The offering whose broker owns the client.
const OWN_OFFERING: &str = "odb_offering";
/// The space of the instance: an upgrade may come without one.
const OWN_SPACE: &str = "odb_space";
/// The operation that created the client, until it is known to have succeeded. Until then only the broker has the
/// secret.
const MADE_BY: &str = "odb_made_by";

/// The Cloud Foundry context of an instance, as far as the request names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CfContext {
    pub(crate) space: Option<String>,
    pub(crate) name: Option<String>,
}

impl CfContext {
    /// The values of a request; requests of older platforms have the space beside the context.
    pub(crate) fn of(request: &RequestParameters) -> Self {
        let context = request.fields().get("context");
        let text = |value: Option<&Value>| {
            let text = value?.as_str()?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let in_context = |name: &str| text(context.and_then(|context| context.get(name)));
        Self {
            space: in_context("space_guid").or_else(|| text(request.fields().get("space_guid"))),
            name: in_context("instance_name"),
        }
    }
}

/// The metadata by which the broker recognises a client; a UAA stores unknown members. Empty means absent: a UAA keeps
/// members that an update does not contain.
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
            offering: text(OWN_OFFERING),
            space: text(OWN_SPACE),
            made_by: text(MADE_BY),
        }
    }

    pub(super) fn into_members(self) -> Map<String, Value> {
        let text = |text: Option<String>| Value::from(text.unwrap_or_default());
        Map::from_iter([
            (OWN_OFFERING.to_owned(), text(self.offering)),
            (OWN_SPACE.to_owned(), text(self.space)),
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

#[derive(Clone, Copy, Debug)]
pub(super) struct DesiredClient<'a> {
    pub(super) definition: &'a ClientDefinition,
    pub(super) offering: &'a OfferingId,
}

impl DesiredClient<'_> {
    pub(super) fn new_client(
        &self,
        instance: &InstanceId,
        location: &CfContext,
        made_by: String,
    ) -> Result<ClientRegistration, ClientError> {
        let definition = self.definition;
        let space = location.space.as_deref();
        let filled = |list: &[String]| filled_in(list, space).ok_or(ClientError::SpaceUnknown);
        let needs_address = ["implicit", "authorization_code"]
            .into_iter()
            .any(|grant| definition.has_grant(grant));
        let ownership = Ownership {
            offering: Some(self.offering.as_str().to_owned()),
            space: location.space.clone(),
            made_by: Some(made_by),
        };
        Ok(ClientRegistration {
            client_id: client_id(instance),
            name: definition.name.clone().or_else(|| location.name.clone()),
            scope: filled(&definition.scopes)?,
            resource_ids: filled(&definition.resource_ids)?,
            authorities: filled(&definition.authorities)?,
            authorized_grant_types: definition.authorized_grant_types.clone(),
            redirect_uri: if needs_address {
                vec![PLACEHOLDER.to_owned()]
            } else {
                Vec::new()
            },
            allow_public: definition.allow_public,
            additional: ownership.into_members(),
        })
    }

    /// The desired version of an existing client. Values that the definition does not have, or that need the unknown
    /// space, stay as they are; so does the name without a new one.
    pub(super) fn renewed(
        &self,
        found: &ClientRegistration,
        location: &CfContext,
        made_by: Option<String>,
    ) -> ClientRegistration {
        let definition = self.definition;
        let previous = Ownership::of(found);
        let space = location.space.clone().or(previous.space);
        let filled = |list: &[String], found: &[String]| {
            filled_in(list, space.as_deref()).unwrap_or_else(|| found.to_vec())
        };
        let rights = |list: &[String], found: &[String]| {
            if list.is_empty() {
                vec![NOTHING.to_owned()]
            } else {
                filled(list, found)
            }
        };
        let name = definition.name.clone().or_else(|| location.name.clone());
        let ownership = Ownership {
            offering: Some(self.offering.as_str().to_owned()),
            space: space.clone(),
            made_by,
        };
        ClientRegistration {
            client_id: found.client_id.clone(),
            name: name.or_else(|| found.name.clone()),
            scope: rights(&definition.scopes, &found.scope),
            resource_ids: filled(&definition.resource_ids, &found.resource_ids),
            authorities: rights(&definition.authorities, &found.authorities),
            authorized_grant_types: definition.authorized_grant_types.clone(),
            redirect_uri: found.redirect_uri.clone(),
            allow_public: definition.allow_public,
            additional: ownership.into_members(),
        }
    }

    /// Whether a client already has the wanted attributes. Lists are sets; resource ids are ignored, because UAA stores
    /// others than it receives.
    pub(super) fn is_met_by(wanted: &ClientRegistration, found: &ClientRegistration) -> bool {
        same(&wanted.scope, &found.scope)
            && same(&wanted.authorities, &found.authorities)
            && same(&wanted.redirect_uri, &found.redirect_uri)
            && same_grants(
                &wanted.authorized_grant_types,
                &found.authorized_grant_types,
            )
            && wanted.allow_public == found.allow_public
            && wanted.name == found.name
            && Ownership::of(wanted) == Ownership::of(found)
    }
}

/// A client as it was, to be sent: lists that were empty cannot be emptied again, but a name can.
pub(super) fn as_it_was(before: &ClientRegistration) -> ClientRegistration {
    let or_nothing = |list: &[String]| {
        if list.is_empty() {
            vec![NOTHING.to_owned()]
        } else {
            list.to_vec()
        }
    };
    ClientRegistration {
        name: Some(before.name.clone().unwrap_or_default()),
        scope: or_nothing(&before.scope),
        authorities: or_nothing(&before.authorities),
        additional: Ownership::of(before).into_members(),
        ..before.clone()
    }
}

/// The client of an instance has the instance's id.
pub(super) fn client_id(instance: &InstanceId) -> ClientId {
    ClientId::try_from(instance.as_str().to_owned())
        .expect("an id that travels fits into an address")
}

/// `None` where the space is needed and not known.
fn filled_in(list: &[String], space: Option<&str>) -> Option<Vec<String>> {
    list.iter()
        .map(|text| match space {
            _ if !text.contains(SPACE) => Some(text.clone()),
            Some(space) => Some(text.replace(SPACE, space)),
            None => None,
        })
        .collect()
}

fn same(one: &[String], other: &[String]) -> bool {
    one.iter().collect::<BTreeSet<_>>() == other.iter().collect::<BTreeSet<_>>()
}

fn same_grants(wanted: &[String], found: &[String]) -> bool {
    let added = |grant: &&String| *grant == ADDED;
    let without = |grants: &[String]| {
        let grants = grants.iter().filter(|grant| !added(grant));
        grants.cloned().collect::<BTreeSet<_>>()
    };
    let asks_for_it = wanted.iter().any(|grant| grant == ADDED);
    without(wanted) == without(found) && (!asks_for_it || found.iter().any(|grant| grant == ADDED))
}

#[cfg(test)]
mod tests;
