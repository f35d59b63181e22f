//! How a request changes a client.

use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::{
    ClientBody, ClientRejection,
    rules::{self, Mode, check},
};
use crate::uaa::{
    caller::Caller,
    directory::{Directory, Registration, StoredSecret, now},
};

pub(super) fn created(
    directory: &Directory,
    caller: &Caller,
    body: ClientBody,
) -> Result<Registration, ClientRejection> {
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
    };
    merge(&mut client.additional, body.additional);
    let client = check(client, Mode::Create, caller, directory)?;
    if directory.clients.contains_key(&id) {
        return Err(ClientRejection::Exists(id));
    }
    Ok(client)
}

/// A client after an update. Missing or empty members stay unchanged; so does the secret.
pub(super) fn updated(
    directory: &Directory,
    caller: &Caller,
    body: ClientBody,
) -> Result<Registration, ClientRejection> {
    let mut client = known(directory, body.id())?.clone();
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
    check(client, Mode::Modify, caller, directory)
}

pub(super) fn known<'a>(
    directory: &'a Directory,
    id: &str,
) -> Result<&'a Registration, ClientRejection> {
    let client = directory.clients.get(id);
    client.ok_or_else(|| ClientRejection::NotFound(id.to_owned()))
}

/// A member that is null is removed; `allowpublic` is removed when it is false.
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
