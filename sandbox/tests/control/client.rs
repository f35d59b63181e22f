//! A client of everything that a foundation serves.

use std::{fs, path::Path};

use odb_sandbox::foundation::{CloudControllerAccess, DirectorAccess};
use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use secrecy::ExposeSecret;
use serde_json::Value;

/// Trusts one authority. Its connections are its own.
pub(crate) struct Client(reqwest::Client);

/// An answer, read to its end.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn new(authority: &Path) -> Self {
        let mut roots = RootCertStore::empty();
        let pem = fs::read(authority).unwrap();
        roots
            .add(CertificateDer::from_pem_slice(&pem).unwrap())
            .unwrap();
        let tls = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy();
        Self(client.build().unwrap())
    }

    pub(crate) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.0.request(method, url)
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Response, reqwest::Error> {
        send(self.request(Method::GET, url)).await
    }

    pub(crate) async fn post(&self, url: &str, body: &Value) -> Response {
        let request = self.request(Method::POST, url);
        let request = request.header("Content-Type", "application/json");
        send(request.body(body.to_string())).await.unwrap()
    }

    /// A token of the Director's administrator.
    pub(crate) async fn token(&self, director: &DirectorAccess) -> String {
        let client = &director.admin_client;
        let request = self
            .request(Method::POST, &format!("{}/oauth/token", director.uaa_url))
            .basic_auth(&client.id, Some(client.secret.expose_secret()))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body("grant_type=client_credentials");
        let answer = send(request).await.unwrap().json();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    /// A token of the Cloud Controller's administrator.
    pub(crate) async fn admin_token(&self, cloud_controller: &CloudControllerAccess) -> String {
        let admin = &cloud_controller.admin_user;
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "password")
            .append_pair("username", &admin.name)
            .append_pair("password", admin.password.expose_secret())
            .finish();
        let url = format!("{}/oauth/token", cloud_controller.uaa_url);
        let request = self
            .request(Method::POST, &url)
            .basic_auth("cf", Some(""))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form);
        let answer = send(request).await.unwrap().json();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn delete(&self, url: &str) -> Response {
        send(self.request(Method::DELETE, url)).await.unwrap()
    }
}

/// Sends a request and reads the answer to its end.
pub(crate) async fn send(request: RequestBuilder) -> Result<Response, reqwest::Error> {
    let response = request.send().await?;
    Ok(Response {
        status: response.status(),
        headers: response.headers().clone(),
        body: response.text().await?,
    })
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The causes of an error in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
