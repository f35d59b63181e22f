//! Secret rotation: a client whose secret may never have been stored gets another one, and keeps the old one until the
//! new one is stored, because the instance may use it.

use odb_api_types::ids::InstanceId;
use odb_clients::{
    FailureKind, ServiceError,
    director::ContextId,
    http::{Call, StatusCode},
    uaa::{ClientAdministration, ClientRegistration, NewClient, SecretChange},
};
use odb_redaction::Chain;
use secrecy::SecretString;

use super::{
    ClientError, InstanceClient, InstanceClients, Origin,
    desired_client::{Ownership, client_id},
    service::look_up,
};

impl InstanceClients {
    /// Gives a client the secret that its adapter has received, if that is another one.
    ///
    /// This is the last step that may fail: with the right to change secrets, the broker adds one to that which the
    /// instance may be using. Without that right, it has to replace the client.
    pub(crate) async fn renew(
        &self,
        call: &Call,
        client: &mut InstanceClient,
    ) -> Result<(), ClientError> {
        let Origin::Found {
            renewed_by: Some(operation),
            ..
        } = &client.origin
        else {
            return Ok(());
        };
        let (Some(administration), operation) = (&self.administration, operation.clone()) else {
            return Ok(());
        };
        let wanted = marked(&client.registration, Some(&operation));
        self.change(administration, call, client, wanted).await?;
        let Some(secret) = client.secret.clone() else {
            return Ok(());
        };
        match add_secret(administration, call, &client.registration, &secret).await {
            Ok(()) => {
                tracing::info!(
                    "the UAA client of the instance has a new secret: it is not known whether the former one has arrived"
                );
                Ok(())
            }
            Err(
                rejection @ ServiceError {
                    kind: FailureKind::Refused { .. },
                    ..
                },
            ) if !rejection.is_transient() => {
                tracing::info!(error = %Chain(&rejection), "the UAA client of the instance is recreated: its secret may not be changed");
                self.replace(administration, call, client, &operation).await
            }
            Err(error) => Err(ClientError::action("change the secret of")(error)),
        }
    }

    /// The operation that gave the client its secret has succeeded, so the secret is in use. The previous one is
    /// deleted.
    pub(crate) async fn settle(
        &self,
        call: &Call,
        instance: &InstanceId,
        operation: &ContextId,
        is_renewed: bool,
    ) -> Result<(), ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(());
        };
        let id = client_id(instance);
        let found = look_up(administration, call, instance).await?;
        let Some(client) = found.filter(|found| Ownership::of(found).is_made_by(operation)) else {
            return Ok(());
        };
        if is_renewed {
            let deleted = administration
                .change_secret(call, &id, &SecretChange::DeleteOlder)
                .await;
            match deleted {
                Err(error) if !is_final_rejection(&error) => {
                    return Err(ClientError::action("change the secret of")(error));
                }
                // The only one is not deleted.
                Ok(()) | Err(_) => {}
            }
        }
        let settled = administration.update(call, &marked(&client, None)).await;
        settled.map_err(ClientError::action("change"))?;
        Ok(())
    }

    async fn replace(
        &self,
        administration: &ClientAdministration,
        call: &Call,
        client: &mut InstanceClient,
        operation: &ContextId,
    ) -> Result<(), ClientError> {
        let deleted = administration
            .delete(call, &client.registration.client_id)
            .await;
        deleted.map_err(ClientError::action("delete"))?;
        let new = NewClient {
            registration: marked(&client.registration, Some(operation)),
            secret: client.secret.clone(),
        };
        client.registration = self
            .register(administration, call, &client.instance, &new, operation)
            .await?;
        Ok(())
    }
}

/// Adds a secret. If there are two already, an earlier operation has failed, too: the older one is deleted.
async fn add_secret(
    administration: &ClientAdministration,
    call: &Call,
    client: &ClientRegistration,
    secret: &SecretString,
) -> Result<(), ServiceError> {
    let change = async |change| {
        let changed = administration.change_secret(call, &client.client_id, &change);
        changed.await
    };
    let add = || SecretChange::Add(secret.clone());
    match change(add()).await {
        Err(error)
            if is_final_rejection(&error) && error.status() != Some(StatusCode::FORBIDDEN) => {}
        added => return added,
    }
    match change(SecretChange::DeleteOlder).await {
        Ok(()) => change(add()).await,
        // There was none to which one could be added.
        Err(error) if is_final_rejection(&error) => {
            change(SecretChange::Replace(secret.clone())).await
        }
        failed => failed,
    }
}

fn is_final_rejection(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::Refused { .. }) && !error.is_transient()
}

/// The same client as created by this operation; `None` if its secret is deployed. It has only the broker's own
/// members, because a UAA keeps the others.
fn marked(client: &ClientRegistration, made_by: Option<&ContextId>) -> ClientRegistration {
    let ownership = Ownership {
        made_by: made_by.map(ToString::to_string),
        ..Ownership::of(client)
    };
    ClientRegistration {
        additional: ownership.into_members(),
        ..client.clone()
    }
}
