//! One HTTP exchange with the foundation: trust, timeout, body limit, errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Method, Response, StatusCode};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::Url;

use super::wire::{ApiError, Errors};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const CALL_LIMIT: Duration = Duration::from_secs(30);
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// A client that trusts only the foundation's certificate authority.
pub(super) async fn http_client(ca_certificate: &Path) -> Result<reqwest::Client, ClientError> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|source| ClientError::Build {
            source: source.into(),
        })?
        .with_root_certificates(trust_roots(ca_certificate).await?)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        // The sandbox lives on the loopback net, where no proxy can reach it.
        .no_proxy()
        .connect_timeout(CONNECT_LIMIT)
        .timeout(CALL_LIMIT)
        .user_agent(concat!("odb-sandbox-cf/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|source| ClientError::Build {
            source: source.into(),
        })
}

async fn trust_roots(path: &Path) -> Result<rustls::RootCertStore, ClientError> {
    let unusable =
        |source: Box<dyn std::error::Error + Send + Sync>| ClientError::UnusableCertificate {
            path: path.to_owned(),
            source,
        };
    let pem = tokio::fs::read(path)
        .await
        .map_err(|source| ClientError::ReadCertificate {
            path: path.to_owned(),
            source,
        })?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        roots
            .add(certificate.map_err(|source| unusable(source.into()))?)
            .map_err(|source| unusable(source.into()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it holds no certificate".into()));
    }
    Ok(roots)
}

/// An answer, read to its end.
pub(super) struct Answer {
    method: Method,
    path: String,
    pub(super) status: StatusCode,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|source| ClientError::NotUnderstood {
            method: self.method,
            path: self.path,
            source,
        })
    }

    pub(super) fn refused(self) -> ClientError {
        let error = serde_json::from_slice::<Errors>(&self.body)
            .ok()
            .and_then(|body| body.errors.into_iter().next());
        ClientError::Refused {
            method: self.method,
            path: self.path,
            status: self.status,
            error,
        }
    }
}

/// Sends a request and reads the complete answer, whatever its status.
pub(super) async fn exchange(
    method: &Method,
    url: &Url,
    request: reqwest::RequestBuilder,
) -> Result<Answer, ClientError> {
    let no_answer = |source: reqwest::Error| ClientError::NoAnswer {
        method: method.clone(),
        url: url.clone(),
        // The enclosing error reports the address.
        source: source.without_url(),
    };
    let mut response = request.send().await.map_err(no_answer)?;
    let mut answer = Answer {
        method: method.clone(),
        path: url.path().to_owned(),
        status: response.status(),
        location: location(&response),
        body: Vec::new(),
    };
    while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
        if answer.body.len() + chunk.len() > BODY_LIMIT {
            return Err(ClientError::TooLarge {
                method: answer.method,
                path: answer.path,
            });
        }
        answer.body.extend_from_slice(&chunk);
    }
    Ok(answer)
}

fn location(response: &Response) -> Option<String> {
    response
        .headers()
        .get(LOCATION)?
        .to_str()
        .ok()
        .map(str::to_owned)
}

/// Why the Cloud Controller could not be asked, or did not do what it was asked.
#[derive(Debug, Error)]
pub(super) enum ClientError {
    #[error("could not read the certificate authority `{}`", path.display())]
    ReadCertificate {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{}` is not a certificate authority to trust", path.display())]
    UnusableCertificate {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("could not set up TLS")]
    Build {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("no answer to {method} `{url}`")]
    NoAnswer {
        method: Method,
        url: Url,
        #[source]
        source: reqwest::Error,
    },
    #[error("the UAA does not let `{user}` in (status {})", status.as_u16())]
    LoginRefused { user: String, status: StatusCode },
    #[error("{}", rejection(method, path, *status, error.as_ref()))]
    Refused {
        method: Method,
        path: String,
        status: StatusCode,
        error: Option<ApiError>,
    },
    #[error("the answer to {method} `{path}` makes no sense")]
    NotUnderstood {
        method: Method,
        path: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("the request could not be written as JSON")]
    Unwritable {
        #[source]
        source: serde_json::Error,
    },
    #[error("the list `{path}` has too many pages")]
    TooLong { path: String },
    #[error("the answer to {method} `{path}` is larger than {BODY_LIMIT} bytes")]
    TooLarge { method: Method, path: String },
    #[error("{method} `{path}` was accepted without a job to follow")]
    NoJob { method: Method, path: String },
}

/// The Cloud Controller's own message, if there is one: it is written for the user.
fn rejection(method: &Method, path: &str, status: StatusCode, error: Option<&ApiError>) -> String {
    match error {
        Some(error) => format!(
            "{} ({}, status {})",
            error.detail,
            error.title,
            status.as_u16()
        ),
        None => format!(
            "{method} `{path}` was refused with status {}",
            status.as_u16()
        ),
    }
}

impl ClientError {
    /// True when the resource is not there, or not there for this user.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }
        )
    }

    /// True when what was asked for is so already.
    pub(super) fn says_already(&self) -> bool {
        match self {
            Self::Refused {
                error: Some(error), ..
            } => error.detail.contains(" already has "),
            _ => false,
        }
    }

    /// Whether a retry may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => !source.is_timeout(),
            Self::Refused { status, .. } => status.is_server_error(),
            Self::ReadCertificate { .. }
            | Self::UnusableCertificate { .. }
            | Self::Build { .. }
            | Self::LoginRefused { .. }
            | Self::Unwritable { .. }
            | Self::NotUnderstood { .. }
            | Self::TooLong { .. }
            | Self::TooLarge { .. }
            | Self::NoJob { .. } => false,
        }
    }
}
