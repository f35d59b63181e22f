//! The Open Service Broker API.

mod binding;
mod catalog;
mod instance;

use actix_web::{
    Error, ResponseError, Scope,
    body::MessageBody,
    dev::{HttpServiceFactory, ServiceRequest, ServiceResponse},
    http::{StatusCode, header::HeaderMap},
    middleware::{Next, from_fn},
    web,
};
use odb_api_types::code::Code;

use super::{
    edge::{no_such_path, resource},
    error::ApiError,
};

pub(super) use catalog::Catalog;

pub(super) fn scope() -> impl HttpServiceFactory {
    let (get, put, patch, delete) = (web::get, web::put, web::patch, web::delete);
    let routes = [
        resource("/catalog", "GET", [get().to(catalog::catalog)]),
        resource(
            "/service_instances/{instance}",
            "GET, PUT, PATCH, DELETE",
            [
                put().to(instance::provision),
                patch().to(instance::update),
                delete().to(instance::deprovision),
                get().to(instance::fetch),
            ],
        ),
        resource(
            "/service_instances/{instance}/last_operation",
            "GET",
            [get().to(instance::last_operation)],
        ),
        resource(
            "/service_instances/{instance}/service_bindings/{binding}",
            "GET, PUT, DELETE",
            [
                put().to(binding::bind),
                delete().to(binding::unbind),
                get().to(binding::fetch),
            ],
        ),
        resource(
            "/service_instances/{instance}/service_bindings/{binding}/last_operation",
            "GET",
            [get().to(binding::last_operation)],
        ),
    ];
    let routes = routes.into_iter().fold(web::scope("/v2"), Scope::service);
    routes
        .default_service(web::to(no_such_path))
        .wrap(from_fn(require_version))
}

/// Checks the API version of the platform (Open Service Broker API 2.17, "API Version Header"). Any 2.x will do: minor
/// versions only add.
async fn require_version(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    match check_version(request.headers()) {
        Ok(()) => next
            .call(request)
            .await
            .map(ServiceResponse::map_into_boxed_body),
        Err(why) => {
            let error = ApiError::new(StatusCode::PRECONDITION_FAILED, Code::ApiVersion, why);
            Ok(request.into_response(error.error_response()))
        }
    }
}

fn check_version(headers: &HeaderMap) -> Result<(), &'static str> {
    const WRONG: &str =
        "The header X-Broker-API-Version has to be 2 followed by a minor version, such as 2.17.";
    let version = headers
        .get("x-broker-api-version")
        .ok_or("The header X-Broker-API-Version is missing; this broker supports versions 2.x.")?;
    let (major, minor) = version
        .to_str()
        .ok()
        .and_then(|text| text.split_once('.'))
        .ok_or(WRONG)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if major == "2" && is_number(minor) {
        Ok(())
    } else {
        Err(WRONG)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn any_minor_version_of_2_is_supported() {
        let check = |version: &'static str| {
            let request = TestRequest::get().insert_header(("x-broker-api-version", version));
            check_version(request.to_http_request().headers())
        };
        for version in ["2.0", "2.13", "2.17", "2.99"] {
            assert_eq!(check(version), Ok(()), "{version}");
        }
        let wrong = "The header X-Broker-API-Version has to be 2 followed by a minor version, such as 2.17.";
        for version in ["3.0", "2", "two", "", "2.", ".17", "2.x", "12.1"] {
            assert_eq!(check(version), Err(wrong), "{version}");
        }
        assert_eq!(
            check_version(&HeaderMap::new()),
            Err("The header X-Broker-API-Version is missing; this broker supports versions 2.x.")
        );
    }
}
