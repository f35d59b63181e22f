//! The HTTP API.
//!
//! | module | contents |
//! | --- | --- |
//! | [`information`] | public information |
//! | [`data`] | `/api/v1/data`: get, find, delete |
//! | [`set`] | `/api/v1/data`: set; generate and regenerate |
//! | [`permissions_v1`], [`permissions_v2`] | permissions by credential, and by path and actor |
//! | [`view`] | the form of answers |

mod data;
mod information;
mod permissions_v1;
mod permissions_v2;
mod set;
mod view;

use actix_web::{
    HttpResponse, ResponseError,
    http::StatusCode,
    web::{self, ServiceConfig},
};
use serde_json::json;

use super::{Rejection, Session};

const JSON: &str = "application/json;charset=UTF-8";

/// Mounts every route. An unknown path authenticates the caller before it answers 404.
pub(super) fn routes(app: &mut ServiceConfig) {
    information::routes(app);
    app.service(
        web::scope("/api")
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
                api.service(resource("/v1/regenerate", web::post().to(set::regenerate)));
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
