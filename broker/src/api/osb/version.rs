//! The API version of the platform (Open Service Broker API 2.17, "API Version Header").

use actix_web::{
    Error, HttpResponse, ResponseError,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{StatusCode, header::HeaderMap},
    middleware::Next,
};
use odb_api_types::code::Code;

use crate::api::error::ApiError;

/// Any 2.x will do: minor versions only add.
pub(super) async fn require(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    match check(request.headers()) {
        Ok(()) => next
            .call(request)
            .await
            .map(ServiceResponse::map_into_boxed_body),
        Err(why) => {
            let error = ApiError::new(StatusCode::PRECONDITION_FAILED, Code::ApiVersion, why);
            let response: HttpResponse = error.error_response();
            Ok(request.into_response(response))
        }
    }
}

fn check(headers: &HeaderMap) -> Result<(), &'static str> {
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
