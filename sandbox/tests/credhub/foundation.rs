//! A complete foundation without processes, and clients of CredHub on either side.

use std::{path::Path, time::Duration};

use odb_sandbox::{
    cpi::Processes,
    foundation::{CredHubAccess, Foundation, FoundationSettings, Persistence, UpOptions},
};
use reqwest::{Certificate, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::Value;
use tempfile::TempDir;
use url::form_urlencoded;

use crate::client::Api;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/sandbox");

/// The access token that a form brings.
pub(crate) async fn access_token(request: RequestBuilder, form: &[(&str, &str)]) -> String {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(body).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["access_token"].as_str().unwrap().to_owned()
}

/// A running foundation.
pub(crate) struct Platform {
    pub(crate) foundation: Foundation,
    folder: TempDir,
}

impl Platform {
    /// The foundation that the project is delivered with.
    pub(crate) async fn start() -> Self {
        Self::with("", "").await
    }

    /// The same, and its administrator at the Director's CredHub.
    pub(crate) async fn with_admin() -> (Self, Api) {
        let platform = Self::start().await;
        let admin = platform.admin(&platform.bosh()).await;
        (platform, admin)
    }

    /// The same, with more said of the Director's side and of its CredHub.
    pub(crate) async fn with(director: &str, credhub: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::within(folder, director, credhub, Persistence::Forgotten).await
    }

    /// The same in a folder, of which the next start reads what this one leaves.
    pub(crate) async fn within(
        folder: TempDir,
        director: &str,
        credhub: &str,
        persistence: Persistence,
    ) -> Self {
        // All tests of one process share the provider; the first one installs it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let sample = std::fs::read_to_string(Path::new(MANIFESTS).join("foundation.yml")).unwrap();
        let text = sample
            .replacen("director:\n", &format!("director:\n{director}"), 1)
            .replacen("  credhub:\n", &format!("  credhub:\n{credhub}"), 1);
        let file = folder.path().join("foundation.yml");
        std::fs::write(&file, text).unwrap();
        odb_sandbox::rsa_keys::keep_in(concat!(env!("CARGO_TARGET_TMPDIR"), "/rsa-keys").into());
        let options = UpOptions {
            state: folder.path().join("state"),
            jobs: vec![Path::new(MANIFESTS).join("jobs")],
            net: None,
            processes: Processes::None,
            job_user: None,
            persistence,
        };
        let settings = FoundationSettings::load(&file).unwrap();
        let foundation = Foundation::start(settings, options).await.unwrap();
        Self { foundation, folder }
    }

    /// Stops it and gives its folder back.
    pub(crate) async fn stop(self) -> TempDir {
        self.foundation.stop().await;
        self.folder
    }

    /// How to get into the Director's CredHub.
    pub(crate) fn bosh(&self) -> CredHubAccess {
        let director = &self.foundation.description().director;
        director.credhub.clone().unwrap()
    }

    /// How to get into the CredHub that apps ask.
    pub(crate) fn runtime(&self) -> CredHubAccess {
        self.foundation
            .description()
            .cloud_controller
            .credhub
            .clone()
    }

    /// The broker's client at a CredHub.
    pub(crate) async fn broker(&self, access: &CredHubAccess) -> Api {
        let secret = access.client.secret.expose_secret();
        self.client(access, &access.client.id, secret).await
    }

    /// The client at a CredHub that may do everything.
    pub(crate) async fn admin(&self, access: &CredHubAccess) -> Api {
        let secret = access.admin_client.secret.expose_secret();
        self.client(access, &access.admin_client.id, secret).await
    }

    /// Any client at a CredHub.
    pub(crate) async fn client(&self, access: &CredHubAccess, id: &str, secret: &str) -> Api {
        let no_user = self.no_user(access);
        // As CredHub's client libraries do it: everything in the form.
        let form = [
            ("client_id", id),
            ("client_secret", secret),
            ("grant_type", "client_credentials"),
            ("response_type", "token"),
        ];
        let url = format!("{}/oauth/token", access.uaa_url);
        let token = access_token(no_user.http.post(url), &form).await;
        no_user.with_token(&token)
    }

    /// A caller without credentials.
    pub(crate) fn no_user(&self, access: &CredHubAccess) -> Api {
        Api::new(self.http(), &access.url)
    }

    fn http(&self) -> reqwest::Client {
        let authority = std::fs::read(&self.foundation.description().ca_certificate).unwrap();
        reqwest::Client::builder()
            .tls_certs_only([Certificate::from_pem(&authority).unwrap()])
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .unwrap()
    }
}
