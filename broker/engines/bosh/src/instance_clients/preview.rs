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
    CfContext, ClientError, InstanceClient, InstanceClients,
    client::Origin,
    desired_client::{DesiredClient, client_id},
    ownership::Ownership,
    service::NO_SECRET,
};

/// A placeholder for a secret that is generated when needed, of the same length.
const PLACEHOLDER: &str = "secret-of-the-client-not-made-yet";

/// The client of an instance as an upgrade would have it.
#[derive(Debug)]
pub struct ClientPreview {
    /// The client for the adapter. A new secret is a placeholder.
    pub reported: UaaClient,
    /// The change of the client; `None` if it is as desired.
    pub change: Option<ChangeSort>,
}

impl InstanceClients {
    /// Reads the client, and returns what an upgrade would change. `None` if instances have no clients.
    pub async fn preview(
        &self,
        call: &Call,
        instance: &InstanceId,
        location: &CfContext,
        succeeded: Option<&ContextId>,
    ) -> Result<Option<ClientPreview>, ClientError> {
        let Some((administration, definition)) = self.in_use() else {
            return Ok(None);
        };
        let desired_client = self.desired_client(definition);
        let found = administration.client(call, &client_id(instance)).await;
        let Some(found) = found.map_err(ClientError::action("look up"))? else {
            let made = made_for(&desired_client, instance, location)?;
            return Ok(Some(ClientPreview {
                reported: made.for_adapter(),
                change: Some(ChangeSort::Added),
            }));
        };
        let ownership = Ownership::of(&found);
        if !ownership.belong_to(instance, &self.offering) {
            return Err(ClientError::Foreign);
        }
        let is_settled = succeeded.is_some_and(|succeeded| ownership.is_made_by(succeeded));
        let is_to_be_renewed = ownership.made_by.is_some() && !is_settled;
        let made_by = ownership.made_by.filter(|_| is_to_be_renewed);
        let wanted = desired_client.renewed(&found, location, made_by);
        let is_changed = is_to_be_renewed || !DesiredClient::is_met_by(&wanted, &found);
        let client = InstanceClient {
            instance: instance.clone(),
            registration: wanted,
            secret: is_to_be_renewed.then(|| placeholder(definition)).flatten(),
            // It is treated like an existing one; nothing is undone.
            origin: Origin::Made {
                operation: ContextId::random(),
            },
        };
        Ok(Some(ClientPreview {
            reported: client.for_adapter(),
            change: is_changed.then_some(ChangeSort::Changed),
        }))
    }
}

/// The client that the adapter would be given with an order. No UAA is called; the secret is a placeholder.
pub(crate) fn client_of_an_order(
    definition: &ClientDefinition,
    offering: &OfferingId,
    instance: &InstanceId,
    location: &CfContext,
) -> Result<UaaClient, ClientError> {
    let desired_client = DesiredClient {
        definition,
        offering,
    };
    Ok(made_for(&desired_client, instance, location)?.for_adapter())
}

fn made_for(
    desired_client: &DesiredClient<'_>,
    instance: &InstanceId,
    location: &CfContext,
) -> Result<InstanceClient, ClientError> {
    let operation = ContextId::random();
    Ok(InstanceClient {
        instance: instance.clone(),
        registration: desired_client.new_client(instance, location, operation.to_string())?,
        secret: placeholder(desired_client.definition),
        origin: Origin::Made { operation },
    })
}

/// The placeholder for a client's secret; a client of the grant `implicit` has none.
fn placeholder(definition: &ClientDefinition) -> Option<SecretString> {
    let secret = if definition.allow_public {
        NO_SECRET
    } else {
        PLACEHOLDER
    };
    (!definition.has_grant("implicit")).then(|| secret.into())
}
