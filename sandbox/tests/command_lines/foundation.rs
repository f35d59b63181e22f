//! The servers of a complete foundation, called with all rights.

use std::{path::Path, time::Duration};

use odb_sandbox::{
    cpi::Processes,
    foundation::{Foundation, FoundationSettings, Persistence, UpOptions},
};
use reqwest::{Certificate, Method, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::Value;
use tempfile::TempDir;
use url::form_urlencoded;

const TIMEOUT: Duration = Duration::from_secs(30);
const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/sandbox");

pub(crate) struct Servers {
    foundation: Foundation,
    http: reqwest::Client,
    /// By the first word of a request: where the server is, and the token for it.
    by_word: Vec<(&'static str, String, String)>,
    _folder: TempDir,
}

impl Servers {
    pub(crate) async fn start() -> Self {
        rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        odb_sandbox::rsa_keys::keep_in(concat!(env!("CARGO_TARGET_TMPDIR"), "/rsa-keys").into());
        let options = UpOptions {
            state: folder.path().join("state"),
            jobs: vec![Path::new(MANIFESTS).join("jobs")],
            net: None,
            processes: Processes::None,
            job_user: None,
            persistence: Persistence::Forgotten,
        };
        let settings =
            FoundationSettings::load(&Path::new(MANIFESTS).join("foundation.yml")).unwrap();
        let foundation = Foundation::start(settings, options).await.unwrap();
        let description = foundation.description();
        let authority = std::fs::read(&description.ca_certificate).unwrap();
        let http = reqwest::Client::builder()
            .tls_certs_only([Certificate::from_pem(&authority).unwrap()])
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let (director, cloud) = (&description.director, &description.cloud_controller);
        let credhub = director.credhub.clone().unwrap();
        let client = |access: &odb_sandbox::foundation::ClientAccess| {
            (access.id.clone(), access.secret.expose_secret().to_owned())
        };
        let user = &cloud.admin_user;
        let as_user = [
            ("grant_type", "password"),
            ("username", &user.name),
            ("password", user.password.expose_secret()),
        ];
        let as_client = [("grant_type", "client_credentials")];
        let public = ("cf".to_owned(), String::new());
        let admin = token(
            &http,
            &director.uaa_url,
            &client(&director.admin_client),
            &as_client,
        )
        .await;
        let administrator = token(
            &http,
            &credhub.uaa_url,
            &client(&credhub.admin_client),
            &as_client,
        )
        .await;
        let person = token(&http, &cloud.uaa_url, &public, &as_user).await;
        let by_word = vec![
            ("cc", cloud.url.clone(), person.clone()),
            ("cf-uaa", cloud.uaa_url.clone(), person),
            ("director", director.url.clone(), admin),
            ("credhub", credhub.url.clone(), administrator),
        ];
        Self {
            http,
            by_word,
            foundation,
            _folder: folder,
        }
    }

    pub(crate) async fn stop(self) {
        self.foundation.stop().await;
    }

    /// Whether a request meets a route, whatever it is answered there. A request is written `server METHOD path`, and
    /// with the media type of a body where the route depends on it.
    pub(crate) async fn knows(&self, request: &str) -> bool {
        let mut words = request.split_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let (server, method, path, media) = (word(), word(), word(), word());
        let (_, url, token) = self
            .by_word
            .iter()
            .find(|(name, ..)| *name == server)
            .unwrap_or_else(|| panic!("no server in `{request}`"));
        let method: Method = method.parse().unwrap();
        let request = self
            .http
            .request(method, format!("{url}{path}"))
            .bearer_auth(token);
        let request = if media.is_empty() {
            request.header("Content-Type", "application/json")
        } else {
            request.header("Content-Type", media)
        };
        let answer = request.body("{}").send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        let unknown = match server {
            "cc" => text.contains("Unknown request"),
            "director" => text.starts_with("Not Found: ") || text.starts_with("Endpoint '"),
            _ => text.is_empty(),
        };
        !(status == 404 && unknown) && status != 405
    }
}

async fn token(
    http: &reqwest::Client,
    uaa: &str,
    (id, secret): &(String, String),
    form: &[(&str, &str)],
) -> String {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let request: RequestBuilder = http
        .post(format!("{uaa}/oauth/token"))
        .basic_auth(id, Some(secret))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(body);
    let answer = request.send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["access_token"].as_str().unwrap().to_owned()
}
