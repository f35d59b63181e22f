//! The rules for registering a client (`spec/contracts/platform-apis.md`, "Clients").
//!
//! How a request changes a client.
//!
//! A client as it is sent.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};
use url::Url;

use super::{ADMIN, ClientRejection};
use crate::uaa::{
    caller::{Caller, joined},
    directory::{Directory, Grant, NOTHING, Registration, StoredSecret, now},
};

const RESERVED: &str = "uaa";

/// Whether a client is new, which it is not when it is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Create,
    Modify,
}

/// The grants with these names, and those that come with them.
pub(super) fn grants(names: &BTreeSet<String>) -> Result<BTreeSet<Grant>, ClientRejection> {
    let known = || joined(Grant::ALL.map(Grant::name), ", ");
    let mut grants = BTreeSet::new();
    for name in names {
        let grant = Grant::named(&name.to_lowercase()).ok_or_else(|| {
            invalid(format!(
                "{name} is not an allowed grant type. Must be one of: [{}]",
                known()
            ))
        })?;
        grants.insert(grant);
    }
    if grants.contains(&Grant::Password) || grants.contains(&Grant::AuthorizationCode) {
        grants.insert(Grant::RefreshToken);
    }
    Ok(grants)
}

/// Checks a client that is to be kept, and fills in what a client without scopes or authorities gets.
pub(super) fn check(
    mut client: Registration,
    mode: Mode,
    caller: &Caller,
    directory: &Directory,
) -> Result<Registration, ClientRejection> {
    check_id(&client.id)?;
    if client.grants.is_empty() {
        return Err(invalid(format!(
            "An authorized grant type must be provided. Must be one of: [{}]",
            joined(Grant::ALL.map(Grant::name), ", ")
        )));
    }
    check_redirects(&client)?;
    if !caller.has_any(ADMIN) {
        check_rights(&client, caller, directory)?;
    }
    check_secret(&client, mode)?;
    for rights in [&mut client.scopes, &mut client.authorities] {
        if rights.is_empty() {
            rights.insert(NOTHING.to_owned());
        }
    }
    Ok(client)
}

fn check_id(id: &str) -> Result<(), ClientRejection> {
    match id {
        "" => Err(invalid("client_id cannot be blank".to_owned())),
        RESERVED => Err(invalid(format!(
            "Not allowed: {RESERVED} is a reserved client_id"
        ))),
        _ if id.contains(['/', '\\']) => Err(invalid(format!(
            "The client_id {id} contains an invalid character"
        ))),
        _ => Ok(()),
    }
}

fn check_redirects(client: &Registration) -> Result<(), ClientRejection> {
    let with_browser = [Grant::AuthorizationCode, Grant::Implicit];
    for grant in with_browser {
        if client.grants.contains(&grant) && client.redirect_uris.is_empty() {
            return Err(invalid(format!(
                "{} grant type must have at least one redirect URL.",
                grant.name()
            )));
        }
    }
    for uri in &client.redirect_uris {
        // `*` matches any text in a path or a host.
        if Url::parse(&uri.replace('*', "x")).is_err() {
            return Err(invalid(format!(
                "One of the redirect_uri is invalid: {uri}"
            )));
        }
    }
    Ok(())
}

/// A caller who may write clients without administering them may not give away more than it has.
fn check_rights(
    client: &Registration,
    caller: &Caller,
    directory: &Directory,
) -> Result<(), ClientRejection> {
    if client.grants.contains(&Grant::Password) {
        return Err(invalid(
            "password is not an allowed grant type for non-admin caller.".to_owned(),
        ));
    }
    if client.grants.contains(&Grant::Implicit) && client.grants.contains(&Grant::AuthorizationCode)
    {
        return Err(invalid(
            "Not allowed: implicit grant type is not allowed together with authorization_code"
                .to_owned(),
        ));
    }
    let own = directory.clients.get(&caller.client_id);
    let own = own.map(|own| own.scopes.clone()).unwrap_or_default();
    let prefixes = [format!("{}.", caller.client_id), format!("{}.", client.id)];
    for scope in &client.scopes {
        let is_named_after = prefixes.iter().any(|prefix| scope.starts_with(prefix));
        if !is_named_after && !own.contains(scope) {
            return Err(invalid(format!(
                "{scope} is not an allowed scope for caller={}. Must have prefix in [{}] or be one of: [{}]",
                caller.client_id,
                joined(&prefixes, ","),
                joined(&own, ", "),
            )));
        }
    }
    let mut given = vec![NOTHING];
    if client.grants.contains(&Grant::ClientCredentials) {
        given.push("uaa.resource");
    }
    match client
        .authorities
        .iter()
        .find(|authority| !given.contains(&authority.as_str()))
    {
        None => Ok(()),
        Some(authority) => Err(invalid(format!(
            "{authority} is not an allowed authority for caller={}. Must be one of: [{}]",
            caller.client_id,
            joined(given, ", "),
        ))),
    }
}

fn check_secret(client: &Registration, mode: Mode) -> Result<(), ClientRejection> {
    if client.grants.contains(&Grant::Implicit) && !client.secrets.is_empty() {
        return Err(invalid(
            "Implicit grant should not have a client_secret".to_owned(),
        ));
    }
    let needs_secret = client.grants.contains(&Grant::ClientCredentials);
    if mode == Mode::Create && needs_secret && client.secrets.is_empty() {
        return Err(invalid(
            "Client secret is required for client_credentials grant type".to_owned(),
        ));
    }
    Ok(())
}

fn invalid(text: String) -> ClientRejection {
    ClientRejection::Invalid(text)
}

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
        grants: grants(&body.authorized_grant_types)?,
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
        client.grants = grants(&body.authorized_grant_types)?;
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

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ClientBody {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<SecretString>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) scope: BTreeSet<String>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) authorized_grant_types: BTreeSet<String>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) redirect_uri: BTreeSet<String>,
    #[serde(default, deserialize_with = "approvals")]
    pub(super) autoapprove: Option<BTreeSet<String>>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) authorities: BTreeSet<String>,
    pub(super) access_token_validity: Option<i64>,
    pub(super) refresh_token_validity: Option<i64>,
    /// Taken and not looked at: a UAA finds out by itself whom a token is for, and when a client was modified.
    #[serde(rename = "resource_ids")]
    _resource_ids: Option<Value>,
    #[serde(rename = "lastModified")]
    _last_modified: Option<Value>,
    #[serde(rename = "approvals_deleted")]
    _approvals_deleted: Option<Value>,
    #[serde(flatten)]
    pub(super) additional: Map<String, Value>,
}

impl ClientBody {
    pub(super) fn id(&self) -> &str {
        self.client_id.as_deref().unwrap_or_default()
    }
}

pub(super) fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ClientRejection> {
    serde_json::from_slice(body).map_err(|_| ClientRejection::Unreadable)
}

/// A list, a text with commas, or nothing.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        List(BTreeSet<String>),
        Row(String),
    }
    Ok(match Option::deserialize(deserializer)? {
        None => BTreeSet::new(),
        Some(Texts::List(list)) => list,
        Some(Texts::Row(row)) => row
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// The scopes that a user need not approve of: a list, or `true` for all.
fn approvals<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeSet<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Approvals {
        All(bool),
        List(BTreeSet<String>),
        One(String),
    }
    let approvals: Option<Approvals> = Option::deserialize(deserializer)?;
    Ok(approvals.map(|approvals| match approvals {
        Approvals::All(all) => BTreeSet::from([all.to_string()]),
        Approvals::List(list) => list,
        Approvals::One(one) => BTreeSet::from([one]),
    }))
}
