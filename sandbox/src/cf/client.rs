//! The Cloud Controller: trust, tokens, calls, lists, changes, errors.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION},
};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use thiserror::Error;
use url::{Url, form_urlencoded};

use super::{
    arguments::Identity,
    foundation::{Foundation, User},
};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const CALL_LIMIT: Duration = Duration::from_secs(30);
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// 5,000 resources where a page has the usual 50.
const PAGE_LIMIT: usize = 100;
/// The credentials of the cf command line at the UAA: client `cf` with an empty secret.
const CF_CLIENT: &str = "Basic Y2Y6";

/// One user's connection to the Cloud Controller. It makes one call at a time.
pub(super) struct Client {
    http: reqwest::Client,
    cloud_controller: Url,
    uaa: Url,
    user: User,
    /// The guid of the space in which services are ordered.
    pub(super) space: String,
    token: Option<SecretString>,
}

/// The result of a change request.
#[derive(Debug)]
pub(super) enum Change {
    Done,
    /// The Cloud Controller works on it, with a job at this address.
    Started(String),
}

/// All pages of a list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) resources: Vec<Value>,
    included: Vec<Value>,
}

/// A query: names and values as they are meant, encoded on the way out.
pub(super) type Query<'a> = &'a [(&'a str, &'a str)];

/// A body with the parameters for a broker, which pass letter by letter.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(flatten)]
    members: &'a Value,
}

#[derive(Deserialize)]
struct Token {
    access_token: SecretString,
}

/// An answer, read to its end.
struct Response {
    method: Method,
    path: String,
    status: StatusCode,
    location: Option<String>,
    body: Vec<u8>,
}

impl Client {
    /// Trusts only the foundation's certificate authority.
    pub(super) async fn new(
        foundation: &Foundation,
        identity: Identity,
    ) -> Result<Self, ClientError> {
        let build =
            |source: Box<dyn std::error::Error + Send + Sync>| ClientError::Build { source };
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let tls = rustls::ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .map_err(|source| build(source.into()))?
            .with_root_certificates(trust_roots(&foundation.ca_certificate).await?)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            // The sandbox lives on the loopback net, where no proxy can reach it.
            .no_proxy()
            .connect_timeout(CONNECT_LIMIT)
            .timeout(CALL_LIMIT)
            .user_agent(concat!("odb-sandbox-cf/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|source| build(source.into()))?;
        Ok(Self {
            http,
            cloud_controller: foundation.cloud_controller.url.clone(),
            uaa: foundation.cloud_controller.uaa_url.clone(),
            user: foundation.cloud_controller.user(identity).clone(),
            space: foundation.cloud_controller.space.guid.clone(),
            token: None,
        })
    }

    pub(super) fn user_name(&self) -> &str {
        &self.user.name
    }

    /// Reads one resource.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ClientError> {
        let url = self.url(path, &[]);
        self.get_url(url).await
    }

    /// Reads the first page of a list, for look-ups that want one hit.
    pub(super) async fn first_page(
        &mut self,
        path: &str,
        query: Query<'_>,
    ) -> Result<Listing, ClientError> {
        let url = self.url(path, query);
        let mut listing = Listing::default();
        listing.append(self.get_url(url).await?);
        Ok(listing)
    }

    /// Reads the resource behind a link.
    pub(super) async fn get_link<T: DeserializeOwned>(
        &mut self,
        href: &str,
    ) -> Result<T, ClientError> {
        let url = self.below_base(href);
        self.get_url(url).await
    }

    /// Reads all pages of a list.
    pub(super) async fn list(
        &mut self,
        path: &str,
        query: Query<'_>,
    ) -> Result<Listing, ClientError> {
        let mut listing = Listing::default();
        let mut url = self.url(path, query);
        for _ in 0..PAGE_LIMIT {
            let page: Value = self.get_url(url).await?;
            let next = page
                .pointer("/pagination/next/href")
                .and_then(Value::as_str);
            let next = next.map(|next| self.below_base(next));
            listing.append(page);
            match next {
                Some(next) => url = next,
                None => return Ok(listing),
            }
        }
        Err(ClientError::TooLong {
            path: path.to_owned(),
        })
    }

    /// Reads any path with its query, and returns the body unchanged.
    pub(super) async fn bytes(&mut self, path_and_query: &str) -> Result<Vec<u8>, ClientError> {
        let url = self.below_base(path_and_query);
        Ok(self.call(&Method::GET, url, None).await?.succeeded()?.body)
    }

    /// Makes something that is there at once, and reads what was made.
    pub(super) async fn make(&mut self, path: &str, body: &Value) -> Result<Value, ClientError> {
        let body = Some(body.to_string().into_bytes());
        let answer = self.call(&Method::POST, self.url(path, &[]), body).await?;
        answer.succeeded()?.json()
    }

    /// Asks for a change. Not repeated after a lost answer.
    pub(super) async fn change(
        &mut self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Change, ClientError> {
        self.change_with(method, path, body, None).await
    }

    pub(super) async fn change_with(
        &mut self,
        method: Method,
        path: &str,
        members: &Value,
        parameters: Option<&RawValue>,
    ) -> Result<Change, ClientError> {
        let body = Body {
            parameters,
            members,
        };
        let body =
            serde_json::to_vec(&body).map_err(|source| ClientError::Unwritable { source })?;
        self.send_change(method, self.url(path, &[]), Some(body))
            .await
    }

    /// Deletes a resource. The path may have a query.
    pub(super) async fn delete(&mut self, path: impl Display) -> Result<Change, ClientError> {
        let url = self.below_base(&path.to_string());
        self.send_change(Method::DELETE, url, None).await
    }

    async fn send_change(
        &mut self,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Change, ClientError> {
        let answer = self.call(&method, url, body).await?.succeeded()?;
        match (answer.status, answer.location) {
            (StatusCode::ACCEPTED, Some(job)) => Ok(Change::Started(job)),
            (StatusCode::ACCEPTED, None) => Err(ClientError::NoJob {
                method,
                path: answer.path,
            }),
            _ => Ok(Change::Done),
        }
    }

    /// Reads what is safe to read again: a lost answer is asked for twice more at once, as cf CLI v8 does.
    async fn get_url<T: DeserializeOwned>(&mut self, url: Url) -> Result<T, ClientError> {
        let mut repeats = 2;
        loop {
            let answer = self.call(&Method::GET, url.clone(), None).await;
            match answer.and_then(Response::succeeded) {
                Ok(answer) => return answer.json(),
                Err(error) if repeats == 0 || !error.is_transient() => return Err(error),
                Err(_) => repeats -= 1,
            }
        }
    }

    /// Makes one call. A token that has run out is replaced once: a call that was not let in has changed nothing.
    async fn call(
        &mut self,
        method: &Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Response, ClientError> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.log_in().await?,
        };
        let answer = self.send(method, url.clone(), body.clone(), &token).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            self.token = Some(token);
            return Ok(answer);
        }
        let token = self.log_in().await?;
        let answer = self.send(method, url, body, &token).await;
        self.token = Some(token);
        answer
    }

    async fn send(
        &self,
        method: &Method,
        url: Url,
        body: Option<Vec<u8>>,
        token: &SecretString,
    ) -> Result<Response, ClientError> {
        let mut request = self
            .http
            .request(method.clone(), url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("bearer {}", token.expose_secret()));
        if let Some(body) = body {
            request = request.body(body);
        }
        exchange(method, &url, request).await
    }

    /// Takes a token from the UAA with the password grant, as `cf auth` does.
    async fn log_in(&self) -> Result<SecretString, ClientError> {
        let mut url = self.uaa.clone();
        url.set_path("/oauth/token");
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "password")
            .append_pair("password", self.user.password.expose_secret())
            .append_pair("username", &self.user.name)
            .finish();
        let request = self
            .http
            .post(url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(AUTHORIZATION, CF_CLIENT)
            .body(form);
        let answer = exchange(&Method::POST, &url, request).await?;
        if !answer.status.is_success() {
            return Err(ClientError::LoginRefused {
                user: self.user.name.clone(),
                status: answer.status,
            });
        }
        Ok(answer.json::<Token>()?.access_token)
    }

    fn url(&self, path: &str, query: Query<'_>) -> Url {
        let mut url = self.cloud_controller.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Path and query of `href` below the configured address: links have the external domain, which may differ from the
    /// address in use.
    fn below_base(&self, href: &str) -> Url {
        let external = Url::parse(href).ok();
        let (path, query) = match &external {
            Some(url) => (url.path(), url.query()),
            None => href
                .split_once('?')
                .map_or((href, None), |(path, query)| (path, Some(query))),
        };
        let mut url = self.cloud_controller.clone();
        url.set_path(path);
        url.set_query(query);
        url
    }
}

impl Listing {
    fn append(&mut self, mut page: Value) {
        if let Value::Array(resources) = page["resources"].take() {
            self.resources.extend(resources);
        }
        self.included.push(page["included"].take());
    }

    /// The resource of a kind that came along under a guid, or the first one.
    pub(super) fn included(&self, kind: &str, guid: Option<&str>) -> Option<&Value> {
        let rows = self
            .included
            .iter()
            .filter_map(|included| included[kind].as_array());
        let mut rows = rows.flatten();
        rows.find(|row| guid.is_none_or(|guid| row["guid"] == guid))
    }
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

/// Sends a request and reads the complete answer, whatever its status.
async fn exchange(
    method: &Method,
    url: &Url,
    request: RequestBuilder,
) -> Result<Response, ClientError> {
    let no_answer = |source: reqwest::Error| ClientError::NoResponse {
        method: method.clone(),
        url: url.clone(),
        // The enclosing error reports the address.
        source: source.without_url(),
    };
    let mut response = request.send().await.map_err(no_answer)?;
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let mut answer = Response {
        method: method.clone(),
        path: url.path().to_owned(),
        status: response.status(),
        location: location.map(str::to_owned),
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

impl Response {
    fn json<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|source| ClientError::NotUnderstood {
            method: self.method,
            path: self.path,
            source,
        })
    }

    fn succeeded(self) -> Result<Self, ClientError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let errors = serde_json::from_slice::<Errors>(&self.body).ok();
        Err(ClientError::Refused {
            method: self.method,
            path: self.path,
            status: self.status,
            error: errors.and_then(|body| body.errors.into_iter().next()),
        })
    }
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<ApiError>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ApiError {
    pub(super) code: i64,
    pub(super) title: String,
    pub(super) detail: String,
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
    NoResponse {
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
    let status = status.as_u16();
    match error {
        Some(error) => format!("{} ({}, status {status})", error.detail, error.title),
        None => format!("{method} `{path}` was refused with status {status}"),
    }
}

impl ClientError {
    /// Whether the resource is not there, or not there for this user.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
    }

    /// Whether what was asked for is so already.
    pub(super) fn says_already(&self) -> bool {
        matches!(self, Self::Refused { error: Some(error), .. } if error.detail.contains(" already has "))
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::NoResponse { source, .. } => !source.is_timeout(),
            Self::Refused { status, .. } => status.is_server_error(),
            _ => false,
        }
    }
}
