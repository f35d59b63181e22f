//! Makes, changes, restores and deletes clients.

use std::sync::Arc;

use odb_api_types::ids::{InstanceId, OfferingId};
use odb_clients::{
    ServiceError,
    director::ContextId,
    http::{Call, StatusCode},
    uaa::{ClientAdministration, ClientRegistration, ClientRights, NewClient},
};
use odb_config::ClientDefinition;
use odb_redaction::Chain;
use secrecy::SecretString;

use super::{
    CfContext, ClientError, InstanceClient,
    client::{Before, Origin},
    desired_client::{DesiredClient, as_it_was, client_id},
    ownership::Ownership,
    secret,
};

/// How often a client is created whose id is taken by an unneeded one, or whose creation was not answered.
const ATTEMPTS: u32 = 3;

/// The secret of a public client, as in the Go broker.
pub(super) const NO_SECRET: &str = "-";

/// The UAA clients of service instances. Cheap to clone.
#[derive(Clone, Debug)]
pub struct InstanceClients {
    pub(super) administration: Option<ClientAdministration>,
    definition: Option<Arc<ClientDefinition>>,
    pub(super) offering: OfferingId,
}

impl InstanceClients {
    /// Clients by this definition. Without a definition clients are only deleted; without a client that may administer
    /// them there are none.
    pub fn new(
        administration: Option<ClientAdministration>,
        definition: Option<ClientDefinition>,
        offering: OfferingId,
    ) -> Self {
        Self {
            administration,
            definition: definition.map(Arc::new),
            offering,
        }
    }

    /// Whether instances have clients today.
    pub fn are_defined(&self) -> bool {
        self.in_use().is_some()
    }

    /// Creates the client of a new instance, and replaces one of an earlier attempt.
    pub async fn make(
        &self,
        call: &Call,
        instance: &InstanceId,
        location: &CfContext,
        operation: &ContextId,
    ) -> Result<Option<InstanceClient>, ClientError> {
        let Some((administration, definition)) = self.in_use() else {
            return Ok(None);
        };
        let desired_client = self.desired_client(definition);
        let registration = desired_client.new_client(instance, location, operation.to_string())?;
        let client = NewClient {
            registration,
            secret: secret_of(definition)?,
        };
        let registration = self
            .register(administration, call, instance, &client, operation)
            .await?;
        tracing::info!("the UAA client of the instance has been created");
        Ok(Some(InstanceClient {
            instance: instance.clone(),
            registration,
            secret: client.secret,
            origin: Origin::Made {
                operation: operation.clone(),
            },
        }))
    }

    /// The client of an existing instance. A missing one is created; one whose secret may be unknown, because the
    /// operation that gave it is not known to have succeeded, [gets another](Self::renew). `succeeded` is the last
    /// operation that is known to have succeeded.
    pub async fn find_or_make(
        &self,
        call: &Call,
        instance: &InstanceId,
        location: &CfContext,
        operation: &ContextId,
        succeeded: Option<&ContextId>,
    ) -> Result<Option<InstanceClient>, ClientError> {
        let Some((administration, definition)) = self.in_use() else {
            return Ok(None);
        };
        let found = administration.client(call, &client_id(instance)).await;
        let Some(found) = found.map_err(ClientError::action("look up"))? else {
            return self.make(call, instance, location, operation).await;
        };
        let ownership = Ownership::of(&found);
        if !ownership.belong_to(instance, &self.offering) {
            return Err(ClientError::Foreign);
        }
        let is_settled = succeeded.is_some_and(|succeeded| ownership.is_made_by(succeeded));
        let is_to_be_renewed = ownership.made_by.is_some() && !is_settled;
        Ok(Some(InstanceClient {
            instance: instance.clone(),
            registration: found.clone(),
            secret: if is_to_be_renewed {
                secret_of(definition)?
            } else {
                None
            },
            origin: Origin::Found {
                before: Before {
                    registration: Box::new(found),
                    is_changed: false,
                },
                renewed_by: is_to_be_renewed.then(|| operation.clone()),
            },
        }))
    }

    /// Updates an existing client to the current definition.
    pub async fn bring_up_to_date(
        &self,
        call: &Call,
        client: &mut InstanceClient,
        location: &CfContext,
    ) -> Result<(), ClientError> {
        let (Some((administration, definition)), Origin::Found { renewed_by, .. }) =
            (self.in_use(), &client.origin)
        else {
            return Ok(());
        };
        // A client that gets no new secret has its secret stored, even if that was not recorded.
        let unsettled = Ownership::of(&client.registration).made_by;
        let made_by = unsettled.filter(|_| renewed_by.is_some());
        let wanted =
            self.desired_client(definition)
                .renewed(&client.registration, location, made_by);
        self.change(administration, call, client, wanted).await
    }

    /// Lets browsers be sent to the dashboard. Without one the client stays as it is.
    pub async fn redirect_to(
        &self,
        call: &Call,
        client: &mut InstanceClient,
        dashboard: Option<&str>,
    ) -> Result<(), ClientError> {
        let (Some(administration), Some(dashboard)) = (&self.administration, dashboard) else {
            return Ok(());
        };
        let mut wanted = client.registration.clone();
        wanted.redirect_uri = vec![dashboard.to_owned()];
        wanted.additional = Ownership::of(&wanted).into_members();
        self.change(administration, call, client, wanted).await
    }

    /// Rolls back the client of an operation that was not submitted: a new client is deleted, a changed one is
    /// restored. An additional secret stays, because it is unknown to every user of the client.
    pub async fn undo(&self, call: &Call, client: &InstanceClient) -> Result<(), ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(());
        };
        match &client.origin {
            Origin::Made { operation } => {
                self.unmake(call, &client.instance, operation).await?;
            }
            Origin::Found { before, .. } if before.is_changed => {
                let before = as_it_was(&before.registration);
                let restored = administration.update(call, &before).await;
                restored.map_err(ClientError::action("restore"))?;
            }
            Origin::Found { .. } => {}
        }
        Ok(())
    }

    /// Deletes the client that this operation created. Returns whether it existed.
    pub async fn unmake(
        &self,
        call: &Call,
        instance: &InstanceId,
        operation: &ContextId,
    ) -> Result<bool, ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(false);
        };
        let id = client_id(instance);
        let found = administration.client(call, &id).await;
        let found = found.map_err(ClientError::action("look up"))?;
        let is_its_own = found.is_some_and(|found| Ownership::of(&found).is_made_by(operation));
        if is_its_own {
            let deleted = administration.delete(call, &id).await;
            deleted.map_err(ClientError::action("delete"))?;
            tracing::info!("the UAA client of the instance has been rolled back");
        }
        Ok(is_its_own)
    }

    /// Deletes the client of a deleted instance. Safe to repeat.
    ///
    /// A foreign client stays. Without a definition the broker's rights may not suffice, or UAA may not answer: the
    /// instance may never have had a client, so an error is only logged.
    pub async fn delete(&self, call: &Call, instance: &InstanceId) -> Result<(), ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(());
        };
        if self.definition.is_some() {
            return self.remove(administration, call, instance).await;
        }
        if let Ok(ClientRights::Lacking) = administration.rights(call).await {
            return Ok(());
        }
        if let Err(error) = self.remove(administration, call, instance).await {
            tracing::warn!(
                error = %Chain(&error),
                "cannot read whether the instance has a UAA client; if it has one, it remains"
            );
        }
        Ok(())
    }

    async fn remove(
        &self,
        administration: &ClientAdministration,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), ClientError> {
        let id = client_id(instance);
        let found = administration.client(call, &id).await;
        let Some(found) = found.map_err(ClientError::action("look up"))? else {
            return Ok(());
        };
        if !Ownership::of(&found).belong_to(instance, &self.offering) {
            tracing::warn!(
                "a UAA client with the instance's id belongs to another owner and stays"
            );
            return Ok(());
        }
        let deleted = administration.delete(call, &id).await;
        deleted.map_err(ClientError::action("delete"))?;
        tracing::info!("the UAA client of the instance has been deleted");
        Ok(())
    }

    /// Registers a client. Without an answer, the metadata shows whether it was registered.
    pub(super) async fn register(
        &self,
        administration: &ClientAdministration,
        call: &Call,
        instance: &InstanceId,
        client: &NewClient,
        operation: &ContextId,
    ) -> Result<ClientRegistration, ClientError> {
        let id = &client.registration.client_id;
        // An earlier attempt may arrive while, or after, later ones fail.
        let mut lost = None;
        for _ in 0..ATTEMPTS {
            match administration.create(call, client).await {
                Ok(registered) => return Ok(registered),
                Err(taken) if taken.status() == Some(StatusCode::CONFLICT) => {}
                Err(source) => {
                    if source.may_have_taken_effect() {
                        tracing::warn!(error = %Chain(&source), "looking whether the UAA client of the instance has been created");
                        lost = Some(source);
                    } else if let Some(lost) = lost {
                        return Err(unconfirmed(lost));
                    } else {
                        return Err(ClientError::action("create")(source));
                    }
                }
            }
            let failed = |activity, source| match &lost {
                Some(lost) => unconfirmed(lost.clone()),
                None => ClientError::action(activity)(source),
            };
            let found = administration.client(call, id).await;
            let Some(found) = found.map_err(|source| failed("look up", source))? else {
                continue;
            };
            let ownership = Ownership::of(&found);
            if ownership.is_made_by(operation) {
                return Ok(found);
            }
            if !ownership.belong_to(instance, &self.offering) {
                return Err(ClientError::Foreign);
            }
            // An earlier attempt has left it, and its secret is unknown.
            let deleted = administration.delete(call, id).await;
            deleted.map_err(|source| failed("delete", source))?;
        }
        Err(ClientError::Unsteady)
    }

    pub(super) async fn change(
        &self,
        administration: &ClientAdministration,
        call: &Call,
        client: &mut InstanceClient,
        wanted: ClientRegistration,
    ) -> Result<(), ClientError> {
        if DesiredClient::is_met_by(&wanted, &client.registration) {
            return Ok(());
        }
        // The request may have taken effect, whatever the answer.
        if let Origin::Found { before, .. } = &mut client.origin {
            before.is_changed = true;
        }
        let changed = administration.update(call, &wanted).await;
        client.registration = changed.map_err(ClientError::action("change"))?;
        Ok(())
    }

    pub(super) fn in_use(&self) -> Option<(&ClientAdministration, &ClientDefinition)> {
        Some((self.administration.as_ref()?, self.definition.as_deref()?))
    }

    pub(super) fn desired_client<'a>(
        &'a self,
        definition: &'a ClientDefinition,
    ) -> DesiredClient<'a> {
        DesiredClient {
            definition,
            offering: &self.offering,
        }
    }
}

fn unconfirmed(source: ServiceError) -> ClientError {
    ClientError::Unconfirmed {
        source: Box::new(source),
    }
}

/// A client of the grant `implicit` must not have a secret; a public client has an empty one.
fn secret_of(definition: &ClientDefinition) -> Result<Option<SecretString>, ClientError> {
    if definition.has_grant("implicit") {
        Ok(None)
    } else if definition.allow_public {
        Ok(Some(NO_SECRET.into()))
    } else {
        Ok(Some(secret::random()?))
    }
}
