//! Makes, changes, restores and deletes clients.

use std::sync::Arc;

use odb_adapter_sdk::protocol::UaaClient;
use odb_api_types::ids::{InstanceId, OfferingId};
use odb_clients::{
    ServiceError,
    director::ContextId,
    http::{Call, StatusCode},
    uaa::{ClientAdministration, ClientRegistration, ClientRights, NewClient},
};
use odb_config::ClientDefinition;
use odb_redaction::Chain;
use secrecy::{SecretString, zeroize::Zeroize};

use super::{
    CfContext, ClientError, InstanceClient, Origin,
    desired_client::{DesiredClient, Ownership, as_it_was, client_id},
};

/// How often a client is created whose id is taken by an unneeded one, or whose creation was not answered.
const ATTEMPTS: u32 = 3;

/// The secret of a public client, as in the Go broker.
const NO_SECRET: &str = "-";

/// A placeholder for a secret that is generated when needed, of the same length.
const PLACEHOLDER: &str = "secret-of-the-client-not-made-yet";

/// The length of secrets, as with the Go broker; 190 bits.
const LENGTH: usize = 32;

const CHARACTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

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
    pub(crate) fn are_defined(&self) -> bool {
        self.in_use().is_some()
    }

    /// Creates the client of a new instance, and replaces one of an earlier attempt.
    pub(crate) async fn make(
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
        let secret = secret_of(definition, random_secret)?;
        let mut client = new_client(
            &desired_client,
            instance,
            location,
            operation.clone(),
            secret,
        )?;
        let new = NewClient {
            registration: client.registration,
            secret: client.secret.clone(),
        };
        client.registration = self
            .register(administration, call, instance, &new, operation)
            .await?;
        tracing::info!("the UAA client of the instance has been created");
        Ok(Some(client))
    }

    /// The client of an existing instance. A missing one is created; one whose secret may be unknown, because the
    /// operation that gave it is not known to have succeeded, [gets another](Self::renew). `succeeded` is the last
    /// operation that is known to have succeeded.
    pub(crate) async fn find_or_make(
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
        let Some(found) = look_up(administration, call, instance).await? else {
            return self.make(call, instance, location, operation).await;
        };
        let mut client = self.existing(instance, found, operation, succeeded)?;
        if client.is_renewed() {
            client.secret = secret_of(definition, random_secret)?;
        }
        Ok(Some(client))
    }

    /// Reads the client, and returns it as an upgrade would have it. Nothing is changed, and a new secret is a
    /// placeholder. `None` if instances have no clients.
    pub(crate) async fn preview(
        &self,
        call: &Call,
        instance: &InstanceId,
        location: &CfContext,
        succeeded: Option<&ContextId>,
    ) -> Result<Option<InstanceClient>, ClientError> {
        let Some((administration, definition)) = self.in_use() else {
            return Ok(None);
        };
        let Some(found) = look_up(administration, call, instance).await? else {
            let desired_client = self.desired_client(definition);
            let (operation, secret) = (
                ContextId::random(),
                secret_of(definition, || Ok(PLACEHOLDER.into()))?,
            );
            let client = new_client(&desired_client, instance, location, operation, secret)?;
            return Ok(Some(client));
        };
        let mut client = self.existing(instance, found, &ContextId::random(), succeeded)?;
        let wanted = self.wanted(definition, &client, location);
        client.is_changed_by(&wanted);
        client.registration = wanted;
        if client.is_renewed() {
            client.secret = secret_of(definition, || Ok(PLACEHOLDER.into()))?;
        }
        Ok(Some(client))
    }

    /// A client that was there. It gets another secret if the operation that gave it the current one is not known to
    /// have succeeded.
    fn existing(
        &self,
        instance: &InstanceId,
        found: ClientRegistration,
        operation: &ContextId,
        succeeded: Option<&ContextId>,
    ) -> Result<InstanceClient, ClientError> {
        let ownership = Ownership::of(&found);
        if !ownership.belong_to(instance, &self.offering) {
            return Err(ClientError::Foreign);
        }
        let is_settled = succeeded.is_some_and(|succeeded| ownership.is_made_by(succeeded));
        let is_to_be_renewed = ownership.made_by.is_some() && !is_settled;
        Ok(InstanceClient {
            instance: instance.clone(),
            registration: found.clone(),
            secret: None,
            origin: Origin::Found {
                before: Box::new(found),
                is_changed: false,
                renewed_by: is_to_be_renewed.then(|| operation.clone()),
            },
        })
    }

    fn wanted(
        &self,
        definition: &ClientDefinition,
        client: &InstanceClient,
        location: &CfContext,
    ) -> ClientRegistration {
        // A client that gets no new secret has its secret stored, even if that was not recorded.
        let unsettled = Ownership::of(&client.registration).made_by;
        let made_by = unsettled.filter(|_| client.is_renewed());
        let desired_client = self.desired_client(definition);
        desired_client.renewed(&client.registration, location, made_by)
    }

    pub(crate) async fn bring_up_to_date(
        &self,
        call: &Call,
        client: &mut InstanceClient,
        location: &CfContext,
    ) -> Result<(), ClientError> {
        let (Some((administration, definition)), Origin::Found { .. }) =
            (self.in_use(), &client.origin)
        else {
            return Ok(());
        };
        let wanted = self.wanted(definition, client, location);
        self.change(administration, call, client, wanted).await
    }

    /// Lets browsers be sent to the dashboard. Without one the client stays as it is.
    pub(crate) async fn redirect_to(
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
    pub(crate) async fn undo(
        &self,
        call: &Call,
        client: &InstanceClient,
    ) -> Result<(), ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(());
        };
        match &client.origin {
            Origin::Made { operation } => {
                self.unmake(call, &client.instance, operation).await?;
            }
            Origin::Found {
                before,
                is_changed: true,
                ..
            } => {
                let restored = administration.update(call, &as_it_was(before)).await;
                restored.map_err(ClientError::action("restore"))?;
            }
            Origin::Found { .. } => {}
        }
        Ok(())
    }

    /// Deletes the client that this operation created. Returns whether it existed.
    pub(crate) async fn unmake(
        &self,
        call: &Call,
        instance: &InstanceId,
        operation: &ContextId,
    ) -> Result<bool, ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(false);
        };
        let found = look_up(administration, call, instance).await?;
        let is_its_own = found.is_some_and(|found| Ownership::of(&found).is_made_by(operation));
        if is_its_own {
            let deleted = administration.delete(call, &client_id(instance)).await;
            deleted.map_err(ClientError::action("delete"))?;
            tracing::info!("the UAA client of the instance has been rolled back");
        }
        Ok(is_its_own)
    }

    /// Deletes the client of a deleted instance. Safe to repeat.
    ///
    /// A foreign client stays. Without a definition the broker's rights may not suffice, or UAA may not answer: the
    /// instance may never have had a client, so an error is only logged.
    pub(crate) async fn delete(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), ClientError> {
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
        let Some(found) = look_up(administration, call, instance).await? else {
            return Ok(());
        };
        if !Ownership::of(&found).belong_to(instance, &self.offering) {
            tracing::warn!(
                "a UAA client with the instance's id belongs to another owner and stays"
            );
            return Ok(());
        }
        let deleted = administration.delete(call, &client_id(instance)).await;
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
        if client.is_changed_by(&wanted) {
            let changed = administration.update(call, &wanted).await;
            client.registration = changed.map_err(ClientError::action("change"))?;
        }
        Ok(())
    }

    fn in_use(&self) -> Option<(&ClientAdministration, &ClientDefinition)> {
        Some((self.administration.as_ref()?, self.definition.as_deref()?))
    }

    fn desired_client<'a>(&'a self, definition: &'a ClientDefinition) -> DesiredClient<'a> {
        DesiredClient {
            definition,
            offering: &self.offering,
        }
    }
}

pub(super) async fn look_up(
    administration: &ClientAdministration,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<ClientRegistration>, ClientError> {
    let found = administration.client(call, &client_id(instance)).await;
    found.map_err(ClientError::action("look up"))
}

fn unconfirmed(source: ServiceError) -> ClientError {
    ClientError::Unconfirmed {
        source: Box::new(source),
    }
}

/// The secret of a client: one of the grant `implicit` must not have any, and a public client has an empty one.
fn secret_of(
    definition: &ClientDefinition,
    secret: impl FnOnce() -> Result<SecretString, ClientError>,
) -> Result<Option<SecretString>, ClientError> {
    if definition.has_grant("implicit") {
        Ok(None)
    } else if definition.allow_public {
        Ok(Some(NO_SECRET.into()))
    } else {
        secret().map(Some)
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
    let (operation, secret) = (
        ContextId::random(),
        secret_of(definition, || Ok(PLACEHOLDER.into()))?,
    );
    let client = new_client(&desired_client, instance, location, operation, secret)?;
    Ok(client.for_adapter())
}

fn new_client(
    desired_client: &DesiredClient<'_>,
    instance: &InstanceId,
    location: &CfContext,
    operation: ContextId,
    secret: Option<SecretString>,
) -> Result<InstanceClient, ClientError> {
    Ok(InstanceClient {
        instance: instance.clone(),
        registration: desired_client.new_client(instance, location, operation.to_string())?,
        secret,
        origin: Origin::Made { operation },
    })
}

fn random_secret() -> Result<SecretString, ClientError> {
    let mut secret = String::with_capacity(LENGTH);
    let mut bytes = [0; LENGTH];
    while secret.len() < LENGTH {
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| ClientError::NoRandomness)?;
        let left = LENGTH - secret.len();
        secret.extend(bytes.iter().copied().filter_map(character).take(left));
    }
    bytes.zeroize();
    Ok(secret.into())
}

/// Every character is as likely as any other: bytes beyond a multiple of their number have none.
fn character(byte: u8) -> Option<char> {
    let index = usize::from(byte >> 2);
    CHARACTERS.get(index).copied().map(char::from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn secrets_are_long_enough_of_letters_and_digits_and_never_the_same() {
        let secrets: BTreeSet<String> = (0..500)
            .map(|_| random_secret().unwrap().expose_secret().to_owned())
            .collect();

        assert_eq!(secrets.len(), 500);
        for secret in &secrets {
            assert_eq!(secret.len(), 32, "{secret}");
            assert!(
                secret.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{secret}"
            );
        }
        let used: BTreeSet<char> = secrets.iter().flat_map(|secret| secret.chars()).collect();
        assert_eq!(used.len(), 62, "every character comes up");
    }

    #[test]
    fn every_character_has_as_many_bytes_as_any_other() {
        let mut bytes = std::collections::BTreeMap::<char, usize>::new();
        for byte in 0..=u8::MAX {
            if let Some(character) = character(byte) {
                *bytes.entry(character).or_default() += 1;
            }
        }
        assert_eq!(bytes.len(), 62);
        assert!(bytes.values().all(|count| *count == 4), "{bytes:?}");
    }
}
