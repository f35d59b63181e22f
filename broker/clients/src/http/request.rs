//! A request, before it is sent.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::Call;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name or the password cannot be sent in a header")]
pub struct UnsendableCredentials;

/// The value of `Authorization` for a name and a password.
///
/// # Errors
///
/// The encoded value does not fit into a header.
pub fn basic_authorization(
    username: &str,
    password: &SecretString,
) -> Result<HeaderValue, UnsendableCredentials> {
    let credentials = format!("{username}:{}", password.expose_secret());
    let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut value = HeaderValue::try_from(value).map_err(|_| UnsendableCredentials)?;
    value.set_sensitive(true);
    Ok(value)
}

/// When a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Repeating changes nothing: again after every transient failure, 502, 503 and 504 included.
    WhenTransient,
    /// It starts something: retried only if no connection was established.
    WhileUnsent,
}

/// A request that can be sent more than once.
#[derive(Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) repeat: Repeat,
}

impl Request {
    pub fn new(method: Method, url: Url, repeat: Repeat) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            repeat,
        }
    }

    /// A request that only reads.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Repeat::WhenTransient)
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    #[must_use]
    pub fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
        .header(
            reqwest::header::CONTENT_TYPE,
            HeaderValue::from_static(content_type),
        )
    }

    #[must_use]
    pub fn json(self, body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("bodies are made of texts, lists and raw JSON");
        self.body("application/json", body)
    }

    /// Names the caller's request, if it has an id that fits into a header.
    #[must_use]
    pub fn request_id(self, header: HeaderName, call: &Call) -> Self {
        let id = call.request_id.as_deref();
        match id.and_then(|id| HeaderValue::from_str(id).ok()) {
            Some(id) => self.header(header, id),
            None => self,
        }
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn path(&self) -> &str {
        self.url.path()
    }
}

/// The body may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}
