//! The secrets of a client, two at most, so that they can be rotated without an outage.

use actix_web::web::{self, ServiceConfig};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::{
    ADMIN, ClientRejection, Response, SECRET,
    rules::{known, parsed},
};
use crate::uaa::{
    caller::{Call, Caller, json_answer},
    directory::{Registration, now},
};

const MOST: usize = 2;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/oauth/clients/{client}/secret").route(web::put().to(change_secret)),
    );
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SecretChange {
    secret: Option<SecretString>,
    old_secret: Option<SecretString>,
    #[serde(default)]
    change_mode: ChangeMode,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum ChangeMode {
    #[default]
    Update,
    Add,
    Delete,
}

async fn change_secret(call: Call) -> Response {
    call.caller.must_have_any(SECRET)?;
    let change: SecretChange = parsed(&call.body)?;
    let mut directory = call.uaa.directory();
    let mut client = known(&directory, &call.client)?.clone();
    may_change(&call.caller, &client, &change)?;
    client.change_secrets(&change)?;
    directory.keep(client);
    let message = match change.change_mode {
        ChangeMode::Update => "secret updated",
        ChangeMode::Add => "Secret is added",
        ChangeMode::Delete => "Secret is deleted",
    };
    Ok(json_answer(&json!({"status": "ok", "message": message})))
}

/// Administrators change any client's secret, other clients their own, of which they must show the old one.
fn may_change(
    caller: &Caller,
    client: &Registration,
    change: &SecretChange,
) -> Result<(), ClientRejection> {
    let refused = |text: &str| Err(ClientRejection::Invalid(text.to_owned()));
    let shown = change.old_secret.as_ref();
    match () {
        () if caller.has_any(ADMIN) => Ok(()),
        () if caller.client_id != client.id => {
            refused("Bad request. Not permitted to change another client's secret")
        }
        () if !shown.is_some_and(|secret| client.has_secret(secret.expose_secret())) => {
            refused("Previous secret is required and must be valid")
        }
        () => Ok(()),
    }
}

impl Registration {
    fn change_secrets(&mut self, change: &SecretChange) -> Result<(), ClientRejection> {
        let refused = |text: &str| Err(ClientRejection::Invalid(text.to_owned()));
        let sent = change.secret.clone().unwrap_or_default();
        match change.change_mode {
            ChangeMode::Update => {
                self.secrets.clear();
                if !sent.expose_secret().is_empty() {
                    self.secrets.push(sent.into());
                }
            }
            ChangeMode::Add if self.secrets.len() >= MOST => {
                return refused("client secret is either empty or client already has two secrets.");
            }
            ChangeMode::Add => self.secrets.push(sent.into()),
            ChangeMode::Delete if self.secrets.len() < MOST => {
                return refused("client secret is either empty or client has only one secret.");
            }
            ChangeMode::Delete => {
                self.secrets.remove(0);
            }
        }
        self.last_modified = now();
        Ok(())
    }
}
