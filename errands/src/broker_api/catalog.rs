//! The catalog of a broker, as the platform reads it.

use std::time::Duration;

use odb_clients::http::{
    Call, HttpClient, Limits, Request, Response, TransportError, Trust, Url, basic_authorization,
    header::AUTHORIZATION,
};
use secrecy::SecretString;

use super::API_VERSION;

/// `GET /v2/catalog`, without repetitions.
pub(crate) struct CatalogRequest {
    http: HttpClient,
    request: Request,
}

impl CatalogRequest {
    pub(crate) fn new(
        url: Url,
        trust: &Trust,
        username: &str,
        password: &SecretString,
        attempt: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let usual = Limits::default();
        let limits = Limits {
            attempt: attempt.unwrap_or(usual.attempt),
            attempts: 1,
            ..usual
        };
        let (version, value) = API_VERSION;
        Ok(Self {
            http: HttpClient::new(trust, limits)?,
            request: Request::get(url)
                .header(AUTHORIZATION, basic_authorization(username, password)?)
                .header(version, value),
        })
    }

    pub(crate) async fn send(&self, call: &Call) -> Result<Response, TransportError> {
        self.http.send(call, &self.request).await
    }
}
