//! `/oauth/token` (`spec/contracts/platform-apis.md`, "Token endpoint").

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, header},
    web::{self, Bytes, Data, ServiceConfig},
};

use super::{
    client_authentication::{AuthenticatedClient, Form, authenticated},
    rejection::Rejection,
};
use crate::uaa::{QueryParameters, Uaa, answer::JSON, directory::Grant};

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
    if uaa.query_parameters() == QueryParameters::Refused {
        if request.method() == Method::GET {
            return Err(Rejection::MethodNotAllowed("GET".to_owned()));
        }
        if !request.query_string().is_empty() {
            return Err(Rejection::QueryString);
        }
    }
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
