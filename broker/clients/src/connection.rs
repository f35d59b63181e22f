//! How a request to a service is authenticated, sent, and its answer sorted; the same for all services.

use std::{ops::Deref, sync::Arc};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use url::{Url, form_urlencoded};

use crate::{
    http::{
        Call, ClientError, HttpClient, Limits, Request, Response, Service, StatusCode,
        TransportError, Trust, UnreadableResponse, address,
    },
    service_error::{FailureKind, RequestName, Result, ServiceError},
    uaa::TokenSource,
};

/// No client of a service can be had.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{}'s client cannot be set up", service.title())]
    Client {
        service: Service,
        #[source]
        source: ClientError,
    },
    #[error("{}'s information cannot be read", service.title())]
    Info {
        service: Service,
        #[source]
        source: ServiceError,
    },
    /// The credentials are of a kind that this Director refuses.
    #[error(
        "the Director's users are in `{director}`, but the credentials are for `{credentials}`"
    )]
    OtherAuthentication {
        /// `basic` or `uaa`, as the Director says.
        director: String,
        /// `basic` or `uaa`, as configured.
        credentials: &'static str,
    },
    #[error("the address of UAA that {} gives cannot be used", service.title())]
    UaaAddress {
        service: Service,
        #[source]
        source: ClientError,
    },
    #[error("the credentials for {} cannot be sent in a header", service.title())]
    UnsendableCredentials { service: Service },
}

pub(crate) struct Protocol {
    pub(crate) service: Service,
    /// The header for the id of the request that a call is part of.
    pub(crate) request_id: Option<HeaderName>,
    pub(crate) asks_for_json: bool,
    /// The statuses that are no errors.
    pub(crate) accepts: fn(StatusCode) -> bool,
    /// Which answers a new token may change.
    pub(crate) refuses_token: fn(&Response) -> bool,
    pub(crate) rejection: fn(&Response) -> FailureKind,
    /// What errors show of a request's address.
    pub(crate) shown: Shown,
}

pub(crate) enum Shown {
    Path,
    HostAndPath,
    HostPathAndQuery,
    Address,
}

/// The credentials for calls to a service.
#[derive(Clone)]
pub(crate) enum Identity {
    Anonymous,
    Basic(HeaderValue),
    Token(TokenSource),
}

/// A server and the credentials for calls to it.
#[derive(Clone)]
pub(crate) struct Connection {
    protocol: &'static Protocol,
    http: HttpClient,
    server: Url,
    identity: Identity,
}

impl Connection {
    pub(crate) fn new(
        protocol: &'static Protocol,
        server: Url,
        trust: &Trust,
        identity: Identity,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let http = HttpClient::new(trust, limits)?;
        Ok(Self::on(protocol, server, http).with(identity))
    }

    /// Over the connections of another client.
    pub(crate) fn on(protocol: &'static Protocol, server: Url, http: HttpClient) -> Self {
        Self {
            protocol,
            http: http.of(protocol.service),
            server,
            identity: Identity::Anonymous,
        }
    }

    pub(crate) fn with(self, identity: Identity) -> Self {
        Self { identity, ..self }
    }

    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(crate) fn server(&self) -> &Url {
        &self.server
    }

    pub(crate) fn tokens(&self) -> Option<&TokenSource> {
        match &self.identity {
            Identity::Token(tokens) => Some(tokens),
            Identity::Anonymous | Identity::Basic(_) => None,
        }
    }

    pub(crate) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        address::on(&self.server, segments, query)
    }

    /// The page that a link names, on the server that this client calls: links carry the external domain, which need
    /// not be reachable from here.
    pub(crate) fn page(&self, link: &str) -> Option<Url> {
        let link = self.server.join(link).ok()?;
        let mut url = self.server.clone();
        url.set_path(link.path());
        url.set_query(link.query());
        Some(url)
    }

    /// The pauses between two polls of a long operation. They grow and do not end.
    pub(crate) fn pauses(&self) -> ExponentialBackoff {
        let limits = self.http.limits();
        ExponentialBuilder::default()
            .with_min_delay(limits.first_pause)
            .with_max_delay(limits.longest_pause)
            .without_max_times()
            .build()
    }

    /// Reads something as JSON. Safe to repeat, so it is repeated.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T> {
        self.read_at(call, self.address(segments, query)).await
    }

    pub(crate) async fn read_at<T: DeserializeOwned>(&self, call: &Call, url: Url) -> Result<T> {
        self.send(call, Request::get(url)).await?.json()
    }

    /// Reads something that needs no credentials.
    pub(crate) async fn read_anonymously<T: DeserializeOwned>(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<T> {
        self.send_as(call, Request::get(url), &Identity::Anonymous)
            .await?
            .json()
    }

    /// Sends a request and converts rejections to errors.
    pub(crate) async fn send(&self, call: &Call, request: Request) -> Result<Answered> {
        self.send_as(call, request, &self.identity).await
    }

    async fn send_as(
        &self,
        call: &Call,
        request: Request,
        identity: &Identity,
    ) -> Result<Answered> {
        let name = self.name(&request);
        let failed = |kind| ServiceError::of(Arc::clone(&name), kind);
        let mut request = match &self.protocol.request_id {
            Some(header) => request.request_id(header.clone(), call),
            None => request,
        };
        if self.protocol.asks_for_json {
            request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
        }
        // Boxed, for it is large and at the bottom of everything that asks.
        let answer = match identity {
            Identity::Anonymous => Box::pin(self.http.send(call, &request)).await,
            Identity::Basic(header) => {
                let request = request.header(AUTHORIZATION, header.clone());
                Box::pin(self.http.send(call, &request)).await
            }
            Identity::Token(tokens) => {
                Box::pin(self.send_with_token(call, &request, tokens, &failed)).await?
            }
        };
        match answer {
            Ok(answer) if (self.protocol.accepts)(answer.status()) => Ok(Answered { name, answer }),
            Ok(answer) => Err(failed((self.protocol.rejection)(&answer))),
            Err(TransportError::OutOfTime { sent }) => Err(failed(FailureKind::OutOfTime { sent })),
            Err(source) => Err(failed(FailureKind::NoResponse { source })),
        }
    }

    /// If the server rejects the token, the request has had no effect. The client sends it once more with a new token.
    async fn send_with_token(
        &self,
        call: &Call,
        request: &Request,
        tokens: &TokenSource,
        failed: &impl Fn(FailureKind) -> ServiceError,
    ) -> Result<Result<Response, TransportError>> {
        let without_token = |source: ServiceError| {
            failed(if source.is_timeout() {
                FailureKind::OutOfTime { sent: false }
            } else {
                FailureKind::NoToken {
                    source: Box::new(source),
                }
            })
        };
        let attempt = async || {
            let token = tokens.token(call).await?;
            let request = request.clone().header(AUTHORIZATION, token.header());
            Ok((token, self.http.send(call, &request).await))
        };
        let (token, answer) = attempt().await.map_err(without_token)?;
        match &answer {
            Ok(rejection) if (self.protocol.refuses_token)(rejection) => tokens.invalidate(&token),
            _ => return Ok(answer),
        }
        let (_, answer) = attempt().await.map_err(without_token)?;
        Ok(answer)
    }

    /// The name of a request in errors.
    fn name(&self, request: &Request) -> Arc<RequestName> {
        let url = request.url();
        let mut path = url.path().to_owned();
        match self.protocol.shown {
            Shown::Path | Shown::HostAndPath => {}
            Shown::HostPathAndQuery => {
                let query = form_urlencoded::parse(url.query().unwrap_or_default().as_bytes());
                for (position, (key, value)) in query.enumerate() {
                    path.push(if position == 0 { '?' } else { '&' });
                    path.extend([&*key, "=", &*value]);
                }
            }
            Shown::Address => {
                let mut url = url.clone();
                url.set_query(None);
                path = url.into();
            }
        }
        let host = match self.protocol.shown {
            Shown::HostAndPath | Shown::HostPathAndQuery => {
                Some(url.host_str().unwrap_or_default().to_owned())
            }
            Shown::Path | Shown::Address => None,
        };
        Arc::new(RequestName {
            service: self.protocol.service,
            host,
            method: request.method().clone(),
            path,
        })
    }

    /// The failure of something that takes more than one request.
    pub(crate) fn failure(&self, path: impl Into<String>, kind: FailureKind) -> ServiceError {
        ServiceError::new(self.protocol.service, reqwest::Method::GET, path, kind)
    }
}

/// An answer that is no error.
pub(crate) struct Answered {
    name: Arc<RequestName>,
    answer: Response,
}

impl Deref for Answered {
    type Target = Response;

    fn deref(&self) -> &Response {
        &self.answer
    }
}

impl Answered {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        self.understood(self.answer.json())
    }

    pub(crate) fn each_of_json<T: DeserializeOwned>(&self, take: impl FnMut(T)) -> Result<()> {
        self.understood(self.answer.each_of_json(take))
    }

    pub(crate) fn understood<T>(&self, read: Result<T, UnreadableResponse>) -> Result<T> {
        read.map_err(|source| {
            ServiceError::of(
                Arc::clone(&self.name),
                FailureKind::NotUnderstood { source },
            )
        })
    }

    /// The answer lacks a required member.
    pub(crate) fn lacks(&self, missing: &'static str) -> ServiceError {
        let source = UnreadableResponse::Missing { missing };
        ServiceError::of(
            Arc::clone(&self.name),
            FailureKind::NotUnderstood { source },
        )
    }
}

/// A rejection of which only the body is known.
pub(crate) fn refused(answer: &Response) -> FailureKind {
    FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: String::new(),
        description: answer.error_text(),
    }
}

/// 401: the token is bad or has expired.
pub(crate) fn is_unauthorized(answer: &Response) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED
}

pub(crate) fn is_success(status: StatusCode) -> bool {
    status.is_success()
}
