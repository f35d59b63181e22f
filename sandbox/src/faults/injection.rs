//! The effect of faults on a request and its answer.
//!
//! A second hold on a connection.

use std::{
    any::Any,
    net::{Shutdown, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::{
    Error, HttpMessage, HttpRequest, HttpResponse,
    body::{self, BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{CONTENT_TYPE, HeaderValue},
    middleware::Next,
    rt::{net::TcpStream as AsyncTcpStream, time::sleep},
    web::Bytes,
};
use futures_util::StreamExt;

use super::{
    body::Meagre,
    effect::{Effect, FaultResponse, Moment},
    fault::ServerName,
    table::Faults,
};
use crate::calls::ConnectionCut;

/// Passes a request to the server, unless a fault intercepts it.
pub(crate) async fn inject(
    faults: Faults,
    server: ServerName,
    mut request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let effects = faults.strike(server, request.head());
    if effects.is_empty() {
        return next.call(request).await;
    }
    for (id, effect) in &effects {
        match effect {
            Effect::Delay {
                duration,
                moment: Moment::Before,
            } => sleep(*duration).await,
            Effect::Hold {
                moment: Moment::Before,
            } => faults.hold(*id).await,
            Effect::Answer(answer) if answer.moment == Moment::Before => {
                // A request that is not passed on must be read here.
                let mut payload = request.take_payload();
                while let Some(Ok(_)) = payload.next().await {}
                return Ok(request.into_response(other(answer)));
            }
            Effect::Drop {
                moment: Moment::Before,
            } => {
                cut(request.request());
                return Ok(request.into_response(HttpResponse::InternalServerError().finish()));
            }
            _ => {}
        }
    }
    let mut response = next.call(request).await?;
    for (id, effect) in effects {
        if let Effect::Hold {
            moment: Moment::After,
        } = effect
        {
            faults.hold(id).await;
        }
        response = spoil(response, effect).await;
    }
    Ok(response)
}

async fn spoil(response: ServiceResponse, effect: Effect) -> ServiceResponse {
    match effect {
        Effect::Delay {
            duration,
            moment: Moment::After,
        } => {
            sleep(duration).await;
            response
        }
        Effect::Answer(answer) if answer.moment == Moment::After => {
            response.into_response(other(&answer))
        }
        Effect::Drop {
            moment: Moment::After,
        } => {
            cut(response.request());
            response
        }
        Effect::Truncate { bytes } => {
            with_body(response, |announced, whole| {
                Meagre::truncated(announced, &whole, bytes).boxed()
            })
            .await
        }
        Effect::Slow { bytes_per_second } => {
            with_body(response, |announced, whole| {
                Meagre::slow(announced, whole, bytes_per_second).boxed()
            })
            .await
        }
        Effect::ContentType { value } => {
            let mut response = response;
            if let Ok(value) = HeaderValue::from_str(value.as_str()) {
                response.headers_mut().insert(CONTENT_TYPE, value);
            }
            response
        }
        Effect::Delay { .. }
        | Effect::Hold { .. }
        | Effect::Answer(_)
        | Effect::Drop { .. }
        | Effect::Certificate { .. } => response,
    }
}

/// Replaces a complete body by another one.
async fn with_body(
    response: ServiceResponse,
    other: impl FnOnce(BodySize, Bytes) -> BoxBody,
) -> ServiceResponse {
    let (request, response) = response.into_parts();
    let (response, body) = response.into_parts();
    let announced = body.size();
    // A body that ends in an error by itself is as short as that.
    let whole = body::to_bytes(body).await.unwrap_or_default();
    ServiceResponse::new(request, response.set_body(other(announced, whole)))
}

fn other(answer: &FaultResponse) -> HttpResponse {
    let mut response = HttpResponse::build(answer.status.code());
    for (name, value) in &answer.headers {
        response.insert_header((name.as_str(), value.as_str()));
    }
    response.body(answer.body.clone())
}

fn cut(request: &HttpRequest) {
    if let Some(connection) = request.conn_data::<Connection>() {
        connection.cut();
        request.extensions_mut().insert(ConnectionCut);
    } else {
        tracing::warn!("there is no hold on a connection that is to be dropped");
    }
}

/// A connection that a server has accepted. It is closed when the server has let go of it and so have all of these.
#[derive(Clone, Debug)]
pub(crate) struct Connection(Arc<TcpStream>);

impl Connection {
    /// Takes hold of what a server has accepted, TLS or not.
    pub(crate) fn of(stream: &dyn Any) -> Option<Self> {
        let socket = socket(stream)?;
        // Without a free descriptor, the connection is still served; it cannot be cut.
        let second = socket.try_clone_to_owned().ok()?;
        Some(Self(Arc::new(second.into())))
    }

    /// Ends it in both directions immediately. No further byte of the server arrives, not even the end of the TLS
    /// session.
    pub(super) fn cut(&self) {
        // It may be gone already, which is as good.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn socket(stream: &dyn Any) -> Option<BorrowedFd<'_>> {
    let tls = stream.downcast_ref::<TlsStream<AsyncTcpStream>>();
    tls.map(|tls| tls.get_ref().0)
        .or_else(|| stream.downcast_ref())
        .map(AsFd::as_fd)
}
