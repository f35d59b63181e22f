//! The page for operators at `/ui`. It reads what the management API reads, through the same functions.
//!
//! | file | contents |
//! | --- | --- |
//! | `page` | what the page is configured to do, and what it keeps in memory |
//! | `answer`, `words` | rendering with the templates, headers, errors; values as people read them |
//! | `assets` | the stylesheet and the script |
//! | `latest` | the latest result of a costly read |
//! | `csrf` | the tokens of forms, and the origin of requests |
//! | `instances`, `instance`, `live` | the list, one instance, the events of its operation |
//! | `actions` | upgrade, cancel, delete |
//! | `rollouts`, `quotas`, `health`, `changes` | one view each |

mod actions;
mod answer;
mod assets;
mod changes;
mod csrf;
mod health;
mod instance;
mod instances;
mod latest;
mod live;
mod page;
mod quotas;
mod rollouts;
mod words;

use actix_web::{
    HttpResponse, Resource,
    http::header::{self, HeaderMap},
    middleware::from_fn,
    web::{self, ServiceConfig},
};

use crate::api::ApiError;

pub(crate) use actions::NothingToDo;
pub use page::Page;

const PREFIX: &str = "/ui";

/// Whether a path is one of the page. Only such paths are open to the page's own credentials.
pub(crate) fn is_page(path: &str) -> bool {
    path.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a browser requests a view without credentials, as it does before it learns that it needs them. That is no
/// attempt to guess a password.
pub(crate) fn awaits_challenge(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION)
}

pub(crate) fn serve(routes: &mut ServiceConfig) {
    let get = web::get;
    let views = [
        ("", get().to(instances::list)),
        ("/", get().to(instances::list)),
        ("/instances/{instance}", get().to(instance::show)),
        ("/instances/{instance}/changes", get().to(instance::changes)),
        ("/instances/{instance}/events", get().to(live::events)),
        ("/rollouts", get().to(rollouts::show)),
        ("/quotas", get().to(quotas::show)),
        ("/audit", get().to(changes::show)),
        ("/assets/{name}", get().to(assets::asset)),
    ];
    let actions = web::resource("/instances/{instance}/{action}")
        .route(get().to(actions::confirm))
        .route(web::post().to(actions::perform));
    let health = web::resource("/health")
        .route(get().to(health::show))
        .route(web::post().to(health::examine));
    let views = views.into_iter().map(|(path, route)| {
        let resource: Resource = web::resource(path).route(route);
        resource.default_service(web::to(other_method))
    });
    let scope = views.fold(web::scope(PREFIX), actix_web::Scope::service);
    routes.service(
        scope
            .service(health.default_service(web::to(no_such_method)))
            .service(actions.default_service(web::to(no_such_method)))
            .default_service(web::to(no_such_page))
            .wrap(from_fn(answer::secure)),
    );
}

async fn no_such_page() -> Result<HttpResponse, answer::PageError> {
    Err(ApiError::not_found("This page does not exist.").into())
}

async fn other_method() -> Result<HttpResponse, answer::PageError> {
    Err(ApiError::other_method("GET").into())
}

async fn no_such_method() -> Result<HttpResponse, answer::PageError> {
    Err(ApiError::other_method("GET, POST").into())
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn only_paths_of_the_page_are_open_to_its_credentials() {
        for (path, expected) in [
            ("/ui", true),
            ("/ui/", true),
            ("/ui/quotas", true),
            ("/uix", false),
            ("/%75i/quotas", false),
            ("/v2/catalog", false),
            ("/mgmt/ui/", false),
        ] {
            assert_eq!(is_page(path), expected, "{path}");
        }
    }
}
