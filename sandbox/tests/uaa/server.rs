//! A UAA of a test's own.

use std::{collections::BTreeSet, net::TcpListener, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use odb_sandbox::{
    certificates::CertificateAuthority,
    serve::Servers,
    store::Store,
    uaa::{Client, DEFAULT_GROUPS, Grant, TokenLives, Uaa, UaaRole, UaaSettings, User},
};
use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, HeaderName},
};
use serde_json::Value;
use tokio::runtime::Handle;
use uuid::Uuid;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const ADMIN: (&str, &str) = ("admin", "admin-secret");
pub(crate) const BROKER: (&str, &str) = ("odb", "s3cr%25t%2B");
pub(crate) const CF: (&str, &str) = ("cf", "");

pub(crate) struct Server {
    pub(crate) uaa: Uaa,
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    servers: Servers,
}

pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::at(
            TcpListener::bind("127.0.0.1:0").unwrap(),
            &Store::in_memory(),
        )
    }

    /// A UAA with this store, at an address that may have been another's before.
    pub(crate) fn at(listener: TcpListener, store: &Store) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let uaa = Uaa::new(settings(&url), UaaRole::CloudFoundry, store).unwrap();
        let mut servers = Servers::new(Handle::current());
        let served = uaa.clone();
        servers
            .http("a test's UAA", listener, move |app| served.configure(app))
            .unwrap();
        let tls = CertificateAuthority::new("tests").unwrap().client_tls();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.unwrap())
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        Self {
            uaa,
            url,
            http,
            servers,
        }
    }

    pub(crate) async fn stop(self) {
        self.servers.stop().await;
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Asks for a token.
    pub(crate) async fn token(
        &self,
        basic: Option<(&str, &str)>,
        form: &[(&str, &str)],
    ) -> Response {
        self.form("/oauth/token", basic, form).await
    }

    pub(crate) async fn form(
        &self,
        path: &str,
        basic: Option<(&str, &str)>,
        form: &[(&str, &str)],
    ) -> Response {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        let mut request = self
            .request(Method::POST, path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.finish());
        if let Some((id, secret)) = basic {
            request = request.basic_auth(id, Some(secret));
        }
        Response::to(request).await
    }

    /// The access token of a client.
    pub(crate) async fn client_token(&self, client: (&str, &str)) -> String {
        let form = [("grant_type", "client_credentials")];
        self.token(Some(client), &form).await.access_token()
    }

    /// The answer to a user who logs in as with the cf command line.
    pub(crate) async fn log_in(&self, user: &str, password: &str) -> Response {
        let form = [
            ("grant_type", "password"),
            ("username", user),
            ("password", password),
        ];
        self.token(Some(CF), &form).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Response {
        Response::to(self.request(Method::GET, path).bearer_auth(token)).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> Response {
        self.send(Method::POST, path, token, body).await
    }

    pub(crate) async fn put(&self, path: &str, token: &str, body: &Value) -> Response {
        self.send(Method::PUT, path, token, body).await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Response {
        self.send(Method::DELETE, path, token, &Value::Null).await
    }

    async fn send(&self, method: Method, path: &str, token: &str, body: &Value) -> Response {
        let request = self
            .request(method, path)
            .bearer_auth(token)
            .header("Content-Type", "application/json")
            .body(body.to_string());
        Response::to(request).await
    }
}

impl Response {
    pub(crate) async fn to(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        Self {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        }
    }

    pub(crate) fn header(&self, name: impl TryInto<HeaderName>) -> &str {
        let name = name.try_into().ok().unwrap();
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn access_token(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.body["access_token"].as_str().unwrap().to_owned()
    }

    /// Status and code of an error.
    pub(crate) fn rejection(&self) -> (u16, &str) {
        (
            self.status.as_u16(),
            self.body["error"].as_str().unwrap_or_default(),
        )
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        let object = self.body.as_object().unwrap();
        object.keys().map(String::as_str).collect()
    }
}

/// Header (0) or claims (1) of a token.
pub(crate) fn decoded(token: &str, part: usize) -> Value {
    let part = token.split('.').nth(part).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

pub(crate) fn texts(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn settings(url: &str) -> UaaSettings {
    odb_sandbox::rsa_keys::keep_in(concat!(env!("CARGO_TARGET_TMPDIR"), "/rsa-keys").into());
    let client =
        |id: &str, secret: &str, grants: &[Grant], scopes: &[&str], authorities: &[&str]| Client {
            id: id.into(),
            secret: secret.into(),
            grants: grants.iter().copied().collect(),
            scopes: texts(scopes),
            authorities: texts(authorities),
        };
    let service = |id: &str, secret: &str, authorities: &[&str]| {
        client(
            id,
            secret,
            &[Grant::ClientCredentials],
            &["uaa.none"],
            authorities,
        )
    };
    let user = |name: &str, groups: &[&str]| User {
        id: Uuid::new_v4(),
        name: name.into(),
        password: "password".into(),
        groups: &texts(&DEFAULT_GROUPS) | &texts(groups),
    };
    UaaSettings {
        url: url.to_owned(),
        lives: TokenLives {
            access: Duration::from_mins(20),
            refresh: Duration::from_hours(1),
        },
        clients: vec![
            service(
                ADMIN.0,
                ADMIN.1,
                &[
                    "uaa.admin",
                    "clients.admin",
                    "clients.read",
                    "scim.read",
                    "scim.write",
                    "password.write",
                    "tokens.revoke",
                ],
            ),
            service(
                BROKER.0,
                "s3cr%t+",
                &["cloud_controller.admin", "clients.read"],
            ),
            service(
                "writer",
                "w",
                &["clients.read", "clients.write", "clients.secret"],
            ),
            service("resource", "r", &["uaa.resource"]),
            client(
                "cf",
                "",
                &[Grant::Password, Grant::RefreshToken],
                &[
                    "cloud_controller.read",
                    "cloud_controller.write",
                    "openid",
                    "scim.read",
                    "scim.write",
                    "password.write",
                    "scim.me",
                ],
                &["uaa.none"],
            ),
        ],
        users: vec![
            user(
                "operator",
                &["scim.read", "scim.write", "cloud_controller.admin"],
            ),
            user("developer", &[]),
        ],
    }
}
