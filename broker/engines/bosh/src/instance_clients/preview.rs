//! The client of an instance as an upgrade would have it. Nothing is changed.

use odb_adapter_sdk::protocol::UaaClient;
use odb_api_types::{
    ids::{InstanceId, OfferingId},
    management::ChangeSort,
};
use odb_clients::{director::ContextId, http::Call};
use odb_config::ClientDefinition;
use secrecy::SecretString;

use super::{
    CfContext, ClientFault, InstanceClient, InstanceClients,
    client::Origin,
    desired_client::{DesiredClient, client_id},
    marks::Marks,
    service::NO_SECRET,
};

/// Stands for a secret that is made when it is needed; as long as those are.
const PLACEHOLDER: &str = "secret-of-the-client-not-made-yet";

/// The client of an instance as an upgrade would have it.
#[derive(Debug)]
pub struct ClientPreview {
    /// What the adapter would be told. A new secret is a placeholder.
    pub told: UaaClient,
    /// What would happen to the client; absent where it is what it shall be.
    pub change: Option<ChangeSort>,
}

impl InstanceClients {
    /// Looks the client up, and tells what an upgrade would make of it. `None` where instances have none.
    pub async fn preview(
        &self,
        call: &Call,
        instance: &InstanceId,
        place: &CfContext,
        succeeded: Option<&ContextId>,
    ) -> Result<Option<ClientPreview>, ClientFault> {
        let Some((administration, definition)) = self.in_use() else {
            return Ok(None);
        };
        let desired_client = self.desired_client(definition);
        let found = administration.client(call, &client_id(instance)).await;
        let Some(found) = found.map_err(ClientFault::doing("look up"))? else {
            let made = made_for(&desired_client, instance, place)?;
            return Ok(Some(ClientPreview {
                told: made.for_adapter(),
                change: Some(ChangeSort::Added),
            }));
        };
        let marks = Marks::of(&found);
        if !marks.belong_to(instance, &self.offering) {
            return Err(ClientFault::Foreign);
        }
        let is_settled = succeeded.is_some_and(|succeeded| marks.is_made_by(succeeded));
        let is_to_be_renewed = marks.made_by.is_some() && !is_settled;
        let made_by = marks.made_by.filter(|_| is_to_be_renewed);
        let wanted = desired_client.renewed(&found, place, made_by);
        let is_changed = is_to_be_renewed || !DesiredClient::is_met_by(&wanted, &found);
        let client = InstanceClient {
            instance: instance.clone(),
            registration: wanted,
            secret: is_to_be_renewed.then(|| placeholder(definition)).flatten(),
            // It is told as one that was found is; nothing is undone.
            origin: Origin::Made {
                operation: ContextId::random(),
            },
        };
        Ok(Some(ClientPreview {
            told: client.for_adapter(),
            change: is_changed.then_some(ChangeSort::Changed),
        }))
    }
}

/// The client that the adapter would be given with an order. No UAA is called; the secret is a placeholder.
pub(crate) fn client_of_an_order(
    definition: &ClientDefinition,
    offering: &OfferingId,
    instance: &InstanceId,
    place: &CfContext,
) -> Result<UaaClient, ClientFault> {
    let desired_client = DesiredClient {
        definition,
        offering,
    };
    Ok(made_for(&desired_client, instance, place)?.for_adapter())
}

fn made_for(
    desired_client: &DesiredClient<'_>,
    instance: &InstanceId,
    place: &CfContext,
) -> Result<InstanceClient, ClientFault> {
    let operation = ContextId::random();
    Ok(InstanceClient {
        instance: instance.clone(),
        registration: desired_client.new_client(instance, place, operation.to_string())?,
        secret: placeholder(desired_client.definition),
        origin: Origin::Made { operation },
    })
}

/// What stands for the secret of a client; a client of the grant `implicit` has none.
fn placeholder(definition: &ClientDefinition) -> Option<SecretString> {
    let secret = if definition.allow_public {
        NO_SECRET
    } else {
        PLACEHOLDER
    };
    (!definition.has_grant("implicit")).then(|| secret.into())
}
