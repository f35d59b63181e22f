//! The control API of a foundation, from outside.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use reqwest::{Method, StatusCode};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use url::Url;

use crate::foundation::{Description, DescriptionError};

const CALL_LIMIT: Duration = Duration::from_mins(2);
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Which foundation is meant.
#[derive(Clone, Debug, Args)]
pub(super) struct RemoteArgs {
    /// The `foundation.json` that `odb-sandbox up` wrote.
    #[arg(
        long,
        global = true,
        env = "ODB_FOUNDATION",
        value_name = "FILE",
        default_value = "foundation.json"
    )]
    pub(super) foundation: PathBuf,

    /// The control API, such as `http://127.80.3.1:9100`, instead of the file.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "foundation")]
    pub(super) control: Option<Url>,
}

/// The control API of one foundation.
pub(super) struct Remote {
    base: Url,
    client: reqwest::Client,
}

/// The control API returned an error.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteError {
    #[error("could not find out where the foundation is")]
    Description(#[source] DescriptionError),
    #[error("`{0}` is not the address of a control API")]
    Address(String),
    #[error("could not set up a client")]
    Client(#[source] reqwest::Error),
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
    #[error("the control API at `{base}` does not answer; is the sandbox running?")]
    NoResponse {
        base: Url,
        #[source]
        source: reqwest::Error,
    },
    #[error("{message}")]
    Refused { message: String },
    #[error("the control API answered something else than expected, with status {status}")]
    NotUnderstood {
        status: StatusCode,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer of the control API is longer than {BODY_LIMIT} bytes")]
    TooLong,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: String,
}

impl RemoteArgs {
    pub(super) fn remote(&self) -> Result<Remote, RemoteError> {
        if let Some(control) = &self.control {
            return Remote::new(control.clone());
        }
        let description = Description::read(&self.foundation).map_err(RemoteError::Description)?;
        Remote::of(&description)
    }
}

impl Remote {
    pub(super) fn of(description: &Description) -> Result<Self, RemoteError> {
        let control = &description.control;
        let base = control
            .parse()
            .map_err(|_| RemoteError::Address(control.clone()))?;
        Self::new(base)
    }

    fn new(base: Url) -> Result<Self, RemoteError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(no_tls().map_err(RemoteError::Tls)?)
            // The sandbox lives on the loopback net, where no proxy can reach it.
            .no_proxy()
            .timeout(CALL_LIMIT)
            .build()
            .map_err(RemoteError::Client)?;
        Ok(Self { base, client })
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.call(Method::DELETE, path, None).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, RemoteError> {
        self.call(Method::POST, path, Some(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, RemoteError> {
        let url = self.base.join(path);
        let url = url.map_err(|_| RemoteError::Address(path.to_owned()))?;
        let mut request = self.client.request(method, url);
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        let (status, body) = self.exchange(request).await?;
        if status.is_success() {
            return serde_json::from_slice(&body)
                .map_err(|source| RemoteError::NotUnderstood { status, source });
        }
        match serde_json::from_slice::<ErrorBody>(&body) {
            Ok(ErrorBody { error: message }) => Err(RemoteError::Refused { message }),
            Err(source) => Err(RemoteError::NotUnderstood { status, source }),
        }
    }

    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<(StatusCode, Vec<u8>), RemoteError> {
        let no_answer = |source: reqwest::Error| RemoteError::NoResponse {
            base: self.base.clone(),
            source: source.without_url(),
        };
        let mut response = request.send().await.map_err(no_answer)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
            if body.len() + chunk.len() > BODY_LIMIT {
                return Err(RemoteError::TooLong);
            }
            body.extend(chunk);
        }
        Ok((response.status(), body))
    }
}

/// The control API is plain HTTP, but the client requires a TLS configuration.
fn no_tls() -> Result<ClientConfig, rustls::Error> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into());
    Ok(config
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}
