//! The clients of the Cloud Controller's UAA, or of the Director's, as its administrator sees them
//! (`spec/contracts/platform-apis.md` §1.5).

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::foundation::{Client, CloudControllerAccess, DirectorAccess};

#[derive(Clone, Debug)]
pub struct UaaClients {
    http: reqwest::Client,
    url: String,
    administrator: Client,
}

impl UaaClients {
    pub(crate) fn new(http: reqwest::Client, access: &CloudControllerAccess) -> Self {
        Self {
            http,
            url: access.uaa_url.clone(),
            administrator: access.broker_client.clone(),
        }
    }

    pub(crate) fn of_director(
        http: reqwest::Client,
        access: &DirectorAccess,
        administrator: Client,
    ) -> Self {
        Self {
            http,
            url: access.uaa_url.clone(),
            administrator,
        }
    }

    pub async fn ids(&self) -> Vec<String> {
        let list = self.ask(Method::GET, "?count=500", None).await;
        let clients = list["resources"].as_array().into_iter().flatten();
        let ids = clients.filter_map(|client| client["client_id"].as_str());
        ids.map(str::to_owned).collect()
    }

    /// A client, if there is one with this id.
    pub async fn find(&self, id: &str) -> Option<Value> {
        let answer = self.send(Method::GET, &format!("/{id}"), None).await;
        match answer.status() {
            StatusCode::NOT_FOUND => None,
            _ => Some(read(answer).await),
        }
    }

    pub async fn client(&self, id: &str) -> Value {
        let found = self.find(id).await;
        found.unwrap_or_else(|| panic!("there is no client `{id}`"))
    }

    pub async fn create(&self, client: &Value) {
        self.ask(Method::POST, "", Some(client)).await;
    }

    /// Gives a client these authorities and no others, as `uaac client update ID --authorities` does.
    pub async fn replace_authorities(&self, id: &str, authorities: &[&str]) {
        let body = json!({ "client_id": id, "authorities": authorities });
        self.ask(Method::PUT, &format!("/{id}"), Some(&body)).await;
    }

    pub async fn knows(&self, id: &str, secret: &str) -> bool {
        let response = self.token_request(id, secret).send().await;
        response.expect("the sandbox answers").status().is_success()
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        read(self.send(method, path, body).await).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let Client { id, secret } = &self.administrator;
        let response = self.token_request(id, secret).send().await;
        let token: Value = read(response.expect("the sandbox answers")).await;
        let token = token["access_token"].as_str().unwrap_or_default();
        let url = format!("{}/oauth/clients{path}", self.url);
        let mut request = self.http.request(method, url).bearer_auth(token);
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        request.send().await.expect("the sandbox answers")
    }

    fn token_request(&self, id: &str, secret: &str) -> RequestBuilder {
        self.http
            .post(format!("{}/oauth/token", self.url))
            .basic_auth(id, Some(secret))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .body("grant_type=client_credentials")
    }
}

/// A definition of clients as an operator writes it.
pub fn client_definition() -> Value {
    json!({
        "scopes": "openid,svc.ODB_SPACE_GUID.read",
        "authorities": "svc.ODB_SPACE_GUID.write",
        "authorized_grant_types": "client_credentials,authorization_code",
        "resource_ids": "none",
    })
}

async fn read(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await.expect("the answer is complete");
    assert!(status.is_success(), "{url}: {status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url} is no JSON ({error}): {text}"))
}
