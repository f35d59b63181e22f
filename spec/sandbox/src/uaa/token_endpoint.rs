//! `POST /oauth/token` (`spec/contracts/platform-apis.md`, "Token endpoint").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{self, Bytes, Data, ServiceConfig},
};
use serde::Serialize;
use url::form_urlencoded;

use super::{
    Uaa,
    claims::Claims,
    client_authentication::{Form, authenticated},
    directory::{Client, Grant},
    refusal::{JSON, Refusal},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/oauth/token")
            .route(web::post().to(token))
            .route(web::route().to(async || Err::<HttpResponse, _>(Refusal::MethodNotAllowed))),
    );
}

async fn token(uaa: Data<Uaa>, request: HttpRequest, body: Bytes) -> Result<HttpResponse, Refusal> {
    let form = form(&request, &body);
    let client = authenticated(&uaa.0.directory, &request, &form)?;
    let granted = match grant(client, &form)? {
        Grant::ClientCredentials => uaa.for_client(client, &form)?,
        Grant::Password => uaa.for_password(client, &form)?,
        Grant::RefreshToken => uaa.for_refresh_token(client, &form)?,
    };
    let answer = uaa.answer(granted).map_err(Refusal::NotSigned)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::PRAGMA, "no-cache"))
        .insert_header((header::CONTENT_TYPE, JSON))
        .json(answer))
}

/// The parameters: those of the body win over those of the query.
fn form(request: &HttpRequest, body: &[u8]) -> Form {
    let query = form_urlencoded::parse(request.query_string().as_bytes()).into_owned();
    query
        .chain(form_urlencoded::parse(body).into_owned())
        .collect()
}

fn grant(client: &Client, form: &Form) -> Result<Grant, Refusal> {
    let name = form.get("grant_type").ok_or(Refusal::GrantMissing)?;
    let known = [
        Grant::ClientCredentials,
        Grant::Password,
        Grant::RefreshToken,
    ];
    let grant = known.into_iter().find(|grant| grant.name() == name);
    let grant = grant.ok_or_else(|| Refusal::GrantUnknown(name.clone()))?;
    if client.grants.contains(&grant) {
        Ok(grant)
    } else {
        Err(Refusal::GrantNotRegistered(grant.name()))
    }
}

/// A token about to be signed.
struct Granted {
    access: Claims,
    refresh: Refresh,
}

enum Refresh {
    None,
    New,
    Same(String),
}

impl Uaa {
    fn for_client(&self, client: &Client, form: &Form) -> Result<Granted, Refusal> {
        let scopes = narrowed(&client.authorities, form)?;
        let access = Claims::for_client(&self.0.url, client, scopes, self.0.lives);
        Ok(Granted {
            access,
            refresh: Refresh::None,
        })
    }

    fn for_password(&self, client: &Client, form: &Form) -> Result<Granted, Refusal> {
        let given = |name: &'static str| form.get(name).ok_or(Refusal::ParameterMissing(name));
        let user = self
            .0
            .directory
            .user(given("username")?, given("password")?)
            .ok_or(Refusal::BadCredentials)?;
        let scopes = narrowed(&client.scopes_for(user), form)?;
        if scopes.is_empty() {
            return Err(Refusal::NoScopeLeft);
        }
        let refresh = if client.grants.contains(&Grant::RefreshToken) {
            Refresh::New
        } else {
            Refresh::None
        };
        Ok(Granted {
            access: Claims::for_user(&self.0.url, client, user, scopes, self.0.lives),
            refresh,
        })
    }

    fn for_refresh_token(&self, client: &Client, form: &Form) -> Result<Granted, Refusal> {
        let token = form
            .get("refresh_token")
            .ok_or(Refusal::ParameterMissing("refresh_token"))?;
        let claims: Claims = self
            .0
            .verifier
            .claims(token)
            .map_err(|_| Refusal::BadRefreshToken)?;
        if !claims.jti.ends_with("-r") {
            return Err(Refusal::BadRefreshToken);
        }
        if claims.client_id != client.id {
            return Err(Refusal::RefreshTokenOfAnother);
        }
        let user = claims
            .user
            .as_ref()
            .and_then(|user| self.0.directory.known_user(&user.user_name));
        let scopes = narrowed(&claims.scope, form)?;
        Ok(Granted {
            access: Claims::for_user(
                &self.0.url,
                client,
                user.ok_or(Refusal::BadRefreshToken)?,
                scopes,
                self.0.lives,
            ),
            refresh: Refresh::Same(token.clone()),
        })
    }

    fn answer(&self, granted: Granted) -> Result<Answer, super::SignerError> {
        let Granted { access, refresh } = granted;
        let refresh_token = match refresh {
            Refresh::None => None,
            Refresh::New => Some(
                self.0
                    .signer
                    .sign(&access.clone().into_refresh(self.0.lives))?,
            ),
            Refresh::Same(token) => Some(token),
        };
        Ok(Answer {
            access_token: self.0.signer.sign(&access)?,
            token_type: "bearer",
            refresh_token,
            expires_in: access.expires_in(),
            scope: access
                .scope
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            jti: access.jti,
        })
    }
}

/// What was asked for, if all of it is allowed; everything allowed when nothing was asked for.
fn narrowed(allowed: &BTreeSet<String>, form: &Form) -> Result<BTreeSet<String>, Refusal> {
    let asked: BTreeSet<String> = form
        .get("scope")
        .into_iter()
        .flat_map(|scope| scope.split_whitespace())
        .map(str::to_owned)
        .collect();
    if asked.is_empty() {
        return Ok(allowed.clone());
    }
    match asked.difference(allowed).next() {
        None => Ok(asked),
        Some(refused) => Err(Refusal::ScopeNotAllowed {
            asked: refused.clone(),
            allowed: allowed.clone(),
        }),
    }
}

#[derive(Serialize)]
struct Answer {
    access_token: String,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    expires_in: i64,
    scope: String,
    jti: String,
}
