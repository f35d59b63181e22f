//! A request, before it is sent.

use bytes::Bytes;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use super::Call;

/// When a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Repeating changes nothing: again after every transient failure, 502, 503 and 504 included.
    WhenTransient,
    /// It starts something: again only as long as no connection has come about.
    WhileUnsent,
}

/// A request that can be sent more than once.
#[derive(Clone)]
pub(crate) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) repeat: Repeat,
}

impl Request {
    pub(crate) fn new(method: Method, url: Url, repeat: Repeat) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            repeat,
        }
    }

    pub(crate) fn get(url: Url) -> Self {
        Self::new(Method::GET, url, Repeat::WhenTransient)
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
        .header(
            reqwest::header::CONTENT_TYPE,
            HeaderValue::from_static(content_type),
        )
    }

    /// Names the caller's request, if it has an id that fits into a header.
    pub(crate) fn request_id(self, header: HeaderName, call: &Call) -> Self {
        let id = call.request_id.as_deref();
        match id.and_then(|id| HeaderValue::from_str(id).ok()) {
            Some(id) => self.header(header, id),
            None => self,
        }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn path(&self) -> &str {
        self.url.path()
    }
}
