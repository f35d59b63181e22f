//! The grants of a client (`spec/contracts/platform-apis.md`, "Token endpoint").
//!
//! `/oauth/token` (`spec/contracts/platform-apis.md`, "Token endpoint").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{self, Bytes, Data, ServiceConfig},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    claims::{Claims, InvalidToken, Purpose, token_id},
    client_authentication::{AuthenticatedClient, Form, Rejection, authenticated},
};
use crate::uaa::{
    Uaa,
    caller::JSON,
    directory::{Account, Grant, Registration},
};

pub(super) struct Granted {
    access: Claims,
    refresh: Refresh,
}

enum Refresh {
    None,
    New,
    Same(String),
}

#[derive(Serialize)]
pub(super) struct Response {
    access_token: String,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    expires_in: i64,
    scope: String,
    jti: String,
}

impl Uaa {
    pub(super) fn for_client(
        &self,
        client: &AuthenticatedClient,
        form: &Form,
    ) -> Result<Granted, Rejection> {
        let scopes = narrowed(&client.client.authorities, form)?;
        Ok(Granted {
            access: Claims::for_client(self.url(), client, scopes, self.lives()),
            refresh: Refresh::None,
        })
    }

    pub(super) fn for_password(
        &self,
        client: &AuthenticatedClient,
        form: &Form,
    ) -> Result<Granted, Rejection> {
        if form.get("passcode").is_some() {
            // No client can have one: it would come from the page of an external identity provider.
            return Err(Rejection::BadCredentials);
        }
        let given = |name: &'static str| form.get(name).ok_or(Rejection::ParameterMissing(name));
        let (name, password) = (given("username")?, given("password")?);
        origin_is_known(form)?;
        let user = self.logged_in(name, password)?;
        let scopes = narrowed(&client.client.scopes_for(&user), form)?;
        if scopes.is_empty() {
            return Err(Rejection::NoScopeLeft);
        }
        let refresh = if client.client.grants.contains(&Grant::RefreshToken) {
            Refresh::New
        } else {
            Refresh::None
        };
        Ok(Granted {
            access: Claims::for_user(self.url(), client, &user, scopes, self.lives()),
            refresh,
        })
    }

    fn logged_in(&self, name: &str, password: &str) -> Result<Account, Rejection> {
        let directory = self.directory();
        directory
            .user_named(name)
            .filter(|user| user.password.is(password))
            .cloned()
            .ok_or(Rejection::BadCredentials)
    }

    pub(super) fn for_refresh_token(
        &self,
        client: &AuthenticatedClient,
        form: &Form,
    ) -> Result<Granted, Rejection> {
        let token = form
            .get("refresh_token")
            .ok_or(Rejection::ParameterMissing("refresh_token"))?;
        let shown = self
            .validated(token, Purpose::Refresh)
            .map_err(Rejection::BadRefreshToken)?;
        if shown.client_id != client.client.id {
            return Err(Rejection::RefreshTokenOfAnother(shown.client_id));
        }
        let user = shown
            .user
            .as_ref()
            .and_then(|user| self.directory().users.get(&user.user_id).cloned())
            .ok_or(Rejection::BadRefreshToken(InvalidToken::UnknownUser))?;
        let asked = asked(form);
        if !asked.is_subset(&shown.scope) {
            return Err(Rejection::ScopeNotNarrowed {
                asked,
                allowed: shown.scope,
            });
        }
        let scopes = if asked.is_empty() {
            shown.scope.clone()
        } else {
            asked
        };
        Ok(Granted {
            access: Claims::for_user(self.url(), client, &user, scopes, self.lives()),
            refresh: Refresh::Same(token.to_owned()),
        })
    }

    pub(super) fn answer(
        &self,
        client: &AuthenticatedClient,
        granted: Granted,
    ) -> Result<Response, Rejection> {
        let Granted { access, refresh } = granted;
        let refresh_token = match refresh {
            Refresh::None => None,
            Refresh::New => {
                let claims = access.as_refresh(&client.client, self.lives());
                Some(self.handed_out(&claims)?)
            }
            Refresh::Same(token) => Some(token),
        };
        let has_id = access.user.is_some() && access.scope.contains("openid");
        let id_token = has_id.then(|| {
            let mut claims = access.as_id_token();
            claims.insert("jti".to_owned(), Value::String(token_id()));
            self.key().sign(&claims)
        });
        let scope: Vec<_> = access.scope.iter().map(String::as_str).collect();
        Ok(Response {
            access_token: self.handed_out(&access)?,
            token_type: "bearer",
            id_token: id_token.transpose().map_err(Rejection::NotSigned)?,
            refresh_token,
            expires_in: access.expires_in(),
            scope: scope.join(" "),
            jti: access.jti,
        })
    }

    fn handed_out(&self, claims: &Claims) -> Result<String, Rejection> {
        let token = self.key().sign(claims).map_err(Rejection::NotSigned)?;
        self.revocations().given_out(&claims.jti, &claims.client_id);
        Ok(token)
    }
}

impl Registration {
    /// The scopes that the client may have now, for itself or for a user.
    pub(super) fn allowed(&self, user: Option<&Account>) -> BTreeSet<String> {
        match user {
            Some(user) => self.scopes_for(user),
            None => self.authorities.clone(),
        }
    }
}

/// The `login_hint` may name an identity provider; there is only the one of the UAA itself.
fn origin_is_known(form: &Form) -> Result<(), Rejection> {
    let Some(hint) = form.get("login_hint") else {
        return Ok(());
    };
    let hint: Value = serde_json::from_str(hint).unwrap_or_default();
    match hint["origin"].as_str() {
        None | Some("uaa" | "") => Ok(()),
        Some(_) => Err(Rejection::UnknownOrigin),
    }
}

fn asked(form: &Form) -> BTreeSet<String> {
    form.get("scope")
        .into_iter()
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

/// The requested scopes, if all of them are allowed; without a request all allowed ones.
fn narrowed(allowed: &BTreeSet<String>, form: &Form) -> Result<BTreeSet<String>, Rejection> {
    let asked = asked(form);
    if asked.is_empty() {
        return Ok(allowed.clone());
    }
    match asked.difference(allowed).next() {
        None => Ok(asked),
        Some(refused) => Err(Rejection::ScopeNotAllowed {
            asked: refused.clone(),
            allowed: allowed.clone(),
        }),
    }
}

pub(in crate::uaa) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/oauth/token")
            .route(web::post().to(token))
            .route(web::get().to(token))
            .route(web::route().to(unsupported)),
    );
}

async fn unsupported(request: HttpRequest) -> Result<HttpResponse, Rejection> {
    Err(Rejection::MethodNotAllowed(request.method().to_string()))
}

async fn token(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let form = Form::of(&request, &body);
    let client = authenticated(&uaa.directory(), &request, &form)?;
    let granted = match grant(&client, &form)? {
        Grant::ClientCredentials => uaa.for_client(&client, &form)?,
        Grant::Password => uaa.for_password(&client, &form)?,
        Grant::RefreshToken => uaa.for_refresh_token(&client, &form)?,
        // They need a browser or another issuer, of which a sandbox has none.
        Grant::AuthorizationCode => return Err(Rejection::BadCode),
        other @ (Grant::Implicit
        | Grant::UserToken
        | Grant::JwtBearer
        | Grant::Saml2Bearer
        | Grant::TokenExchange) => return Err(Rejection::GrantUnknown(other.name().to_owned())),
    };
    let answer = uaa.answer(&client, granted)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::PRAGMA, "no-cache"))
        .insert_header((header::CONTENT_TYPE, JSON))
        .json(answer))
}

fn grant(client: &AuthenticatedClient, form: &Form) -> Result<Grant, Rejection> {
    let name = form
        .get("grant_type")
        .filter(|name| !name.is_empty())
        .ok_or(Rejection::GrantMissing)?;
    let grant = Grant::named(name).ok_or_else(|| Rejection::GrantUnknown(name.to_owned()))?;
    if client.client.grants.contains(&grant) {
        Ok(grant)
    } else {
        Err(Rejection::GrantNotRegistered(grant.name()))
    }
}
