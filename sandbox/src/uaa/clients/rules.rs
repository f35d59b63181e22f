//! The rules for registering a client (`spec/contracts/platform-apis.md`, "Clients").

use std::collections::BTreeSet;

use url::Url;

use super::{ADMIN, ClientRejection};
use crate::uaa::{
    answer::joined,
    caller::Caller,
    directory::{Directory, Grant, NOTHING, Registration},
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
