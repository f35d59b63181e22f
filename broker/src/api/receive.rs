//! Reads the body of a request before anything else: complete, within a time limit and a size limit.

use std::rc::Rc;

use actix_http::h1;
use actix_web::{
    Error, HttpMessage, ResponseError,
    body::MessageBody,
    dev::{self, ServiceRequest, ServiceResponse},
    http::{StatusCode, header},
    middleware::Next,
    web::{Bytes, BytesMut, Data},
};
use futures_util::StreamExt;
use odb_api_types::code::Code;
use tokio::time::{Instant, timeout_at};

use super::{AppState, connection::Activity, endpoints, error::ApiError, incoming::MAX_BODY};

pub(super) async fn receive(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let body = request.take_payload();
    // This path is public and takes no body.
    if request.path() != endpoints::HEALTH {
        match read(&request, body).await {
            Ok(body) if body.is_empty() => {}
            Ok(body) => {
                if let Err(error) = check_type(&request) {
                    return Ok(request.into_response(error.error_response()));
                }
                let (_, mut payload) = h1::Payload::create(true);
                payload.unread_data(body);
                request.set_payload(payload.into());
            }
            Err(error) => {
                if let Some(activity) = request.conn_data::<Rc<Activity>>() {
                    activity.leave_unread(request.head());
                }
                return Ok(request.into_response(error.error_response()));
            }
        }
    }
    next.call(request)
        .await
        .map(ServiceResponse::map_into_boxed_body)
}

async fn read(request: &ServiceRequest, mut body: dev::Payload) -> Result<Bytes, ApiError> {
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .unwrap_or(0);
    if announced > MAX_BODY {
        return Err(ApiError::too_large(MAX_BODY));
    }
    let timeout = request
        .app_data::<Data<AppState>>()
        .map(|app| app.broker.timings.request_body)
        .unwrap_or_default();
    let end = Instant::now() + timeout;
    let mut read = BytesMut::new();
    loop {
        match timeout_at(end, body.next()).await {
            Ok(None) => return Ok(read.freeze()),
            Ok(Some(Ok(bytes))) if read.len() + bytes.len() <= MAX_BODY => {
                read.extend_from_slice(&bytes);
            }
            Ok(Some(Ok(_))) => return Err(ApiError::too_large(MAX_BODY)),
            Ok(Some(Err(_))) => {
                return Err(ApiError::malformed(
                    "The body of the request could not be read.",
                ));
            }
            Err(_) => {
                return Err(ApiError::new(
                    StatusCode::REQUEST_TIMEOUT,
                    Code::SlowClient,
                    "The request did not arrive in time.",
                ));
            }
        }
    }
}

/// A platform's body with another content type than JSON is rejected (`spec/contracts/osb-api.md`, G-11). A body
/// without one is accepted; so is every body for the management API, so that `curl` needs no header.
fn check_type(request: &ServiceRequest) -> Result<(), ApiError> {
    let is_json = |essence: &str| {
        essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json")
    };
    let is_a_platforms = request.match_info().as_str().starts_with("/v2/");
    match request.content_type() {
        _ if !is_a_platforms => Ok(()),
        "" => Ok(()),
        essence if is_json(essence.trim()) => Ok(()),
        _ => Err(ApiError::malformed(
            "The body of the request is not JSON by its Content-Type: give `application/json`, or none.",
        )),
    }
}
