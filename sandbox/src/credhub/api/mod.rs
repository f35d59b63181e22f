//! The HTTP API.
//!
//! | module | contents |
//! | --- | --- |
//! | [`information`] | public information, and the read-only mode |
//! | [`data`] | `/api/v1/data`: get, find, delete |
//! | [`set`] | `/api/v1/data`: set; generate and regenerate |
//! | [`certificates`] | `/api/v1/certificates` |
//! | [`permissions_v1`], [`permissions_v2`] | permissions by credential, and by path and actor |
//! | [`data`] | `/api/v1/interpolate` |
//! | [`view`] | the form of answers |

mod certificates;
mod data;
mod information;
mod permissions_v1;
mod permissions_v2;
mod set;
mod view;

use actix_web::{
    Error, HttpResponse, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, StatusCode},
    middleware::{Next, from_fn},
    web::{self, Data, ServiceConfig},
};
use serde_json::json;

use super::{CredHub, Rejection, Session, Writing};

const JSON: &str = "application/json;charset=UTF-8";

/// Mounts every route. An unknown path authenticates the caller before it answers 404.
pub(super) fn routes(app: &mut ServiceConfig) {
    information::routes(app);
    app.service(
        web::scope("/api")
            .wrap(from_fn(guard))
            .configure(|api| {
                api.service(
                    web::resource(with_and_without_slash("/v1/data"))
                        .route(web::get().to(data::get_or_find))
                        .route(web::put().to(set::set))
                        .route(web::post().to(set::generate))
                        .route(web::delete().to(data::delete))
                        .default_service(web::to(no_method)),
                );
                api.service(resource("/v1/data/{id}", web::get().to(data::version)));
                api.service(resource(
                    "/v1/interpolate",
                    web::post().to(data::interpolate),
                ));
                api.service(resource("/v1/regenerate", web::post().to(set::regenerate)));
                api.service(resource(
                    "/v1/bulk-regenerate",
                    web::post().to(set::bulk_regenerate),
                ));
                certificates::routes(api);
                permissions_v1::routes(api);
                permissions_v2::routes(api);
            })
            .default_service(web::to(no_method)),
    );
    app.default_service(web::to(no_method));
}

fn resource(path: &str, route: actix_web::Route) -> actix_web::Resource {
    web::resource(with_and_without_slash(path))
        .route(route)
        .default_service(web::to(no_method))
}

/// A real server takes every path with a slash at its end, too, which `credhub export` sends (cloudfoundry/credhub,
/// pull request 906).
fn with_and_without_slash(path: &str) -> [String; 2] {
    [path.to_owned(), format!("{path}/")]
}

/// Methods that a real server does not handle.
async fn no_method(_: Session) -> HttpResponse {
    HttpResponse::NotFound().finish()
}

/// Rejects changes in read-only mode, after authentication.
async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let changes =
        request.method() != Method::GET && !request.path().starts_with("/api/v1/interpolate");
    let writing = request
        .app_data::<Data<CredHub>>()
        .map(|credhub| credhub.behaviour().writing);
    if changes && writing == Some(Writing::Refused) {
        request.extract::<Session>().await?;
        return Err(Rejection::ReadOnly.into());
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        if let Self::Internal(cause) = self {
            tracing::error!(%cause, "a CredHub could not do what it was asked");
        }
        HttpResponse::build(self.status())
            .content_type(JSON)
            .body(json!({"error": self.to_string()}).to_string())
    }
}
