//! What becomes of the clients: one or many, all or none.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::{
    ClientBody, ClientRefusal,
    rules::{self, Mode, check},
};
use crate::uaa::{
    caller::Caller,
    directory::{Directory, Registration, StoredSecret, now},
};

/// Changes that are not made yet. Each sees those before it.
pub(super) struct Changes<'a> {
    directory: &'a mut Directory,
    caller: &'a Caller,
    /// The clients as they will be; those that will be gone are nothing.
    pending: BTreeMap<String, Option<Registration>>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(directory: &'a mut Directory, caller: &'a Caller) -> Self {
        Self {
            directory,
            caller,
            pending: BTreeMap::new(),
        }
    }

    /// The client as it will be.
    pub(super) fn client(&self, id: &str) -> Result<&Registration, ClientRefusal> {
        let client = match self.pending.get(id) {
            Some(pending) => pending.as_ref(),
            None => self.directory.clients.get(id),
        };
        client.ok_or_else(|| ClientRefusal::NotFound(id.to_owned()))
    }

    pub(super) fn create(&mut self, body: ClientBody) -> Result<Registration, ClientRefusal> {
        let id = body.id().to_owned();
        let secret = body
            .client_secret
            .filter(|secret| !secret.expose_secret().is_empty());
        let mut client = Registration {
            id: id.clone(),
            secrets: secret.into_iter().map(StoredSecret::from).collect(),
            scopes: body.scope,
            grants: rules::grants(&body.authorized_grant_types)?,
            redirect_uris: body.redirect_uri,
            autoapprove: body.autoapprove,
            authorities: body.authorities,
            access_token_validity: body.access_token_validity,
            refresh_token_validity: body.refresh_token_validity,
            additional: Map::new(),
            last_modified: now(),
            metadata: None,
        };
        merge(&mut client.additional, body.additional);
        let client = check(client, Mode::Create, self.caller, self.directory)?;
        if self.client(&id).is_ok() {
            return Err(ClientRefusal::Exists(id));
        }
        Ok(self.keep(client))
    }

    /// What is not sent, or sent empty, stays as it is; so does the secret.
    pub(super) fn update(&mut self, body: ClientBody) -> Result<Registration, ClientRefusal> {
        let mut client = self.client(body.id())?.clone();
        if !body.scope.is_empty() {
            client.scopes = body.scope;
        }
        if !body.authorized_grant_types.is_empty() {
            client.grants = rules::grants(&body.authorized_grant_types)?;
        }
        if !body.redirect_uri.is_empty() {
            client.redirect_uris = body.redirect_uri;
        }
        if !body.authorities.is_empty() {
            client.authorities = body.authorities;
        }
        client.autoapprove = body.autoapprove.or(client.autoapprove);
        client.access_token_validity = body.access_token_validity.or(client.access_token_validity);
        client.refresh_token_validity = body
            .refresh_token_validity
            .or(client.refresh_token_validity);
        merge(&mut client.additional, body.additional);
        client.last_modified = now();
        let client = check(client, Mode::Modify, self.caller, self.directory)?;
        Ok(self.keep(client))
    }

    pub(super) fn delete(&mut self, id: &str) -> Result<Registration, ClientRefusal> {
        let client = self.client(id)?.clone();
        self.pending.insert(id.to_owned(), None);
        Ok(client)
    }

    /// Takes a changed client as it is.
    pub(super) fn keep(&mut self, client: Registration) -> Registration {
        self.pending.insert(client.id.clone(), Some(client.clone()));
        client
    }

    /// Makes the changes. Dropping them instead leaves everything as it was.
    pub(super) fn make(self) {
        for (id, client) in self.pending {
            if let Some(client) = client {
                self.directory.clients.insert(id, client);
            } else {
                self.directory.clients.remove(&id);
                self.directory
                    .revocable_tokens
                    .retain(|_, token| token.client_id != id);
            }
        }
        self.directory.save();
    }
}

/// What is null is forgotten, and so is a client's being public when it is no more.
fn merge(additional: &mut Map<String, Value>, sent: Map<String, Value>) {
    for (name, value) in sent {
        let is_off = name == "allowpublic" && (value == false || value == "false");
        if value.is_null() || is_off {
            additional.shift_remove(&name);
        } else {
            additional.insert(name, value);
        }
    }
}
