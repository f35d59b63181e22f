//! A CredHub, as its administrator sees it.

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::foundation::CredHubAccess;

#[derive(Clone, Debug)]
pub struct CredHub {
    http: reqwest::Client,
    access: CredHubAccess,
}

impl CredHub {
    pub(crate) fn new(http: reqwest::Client, access: &CredHubAccess) -> Self {
        Self {
            http,
            access: access.clone(),
        }
    }

    /// The names of all credentials that have a text in their names, sorted.
    pub async fn names_like(&self, part: &str) -> Vec<String> {
        let query = [("name-like", part)];
        let found = self.ask(Method::GET, "/api/v1/data", &query, None).await;
        let found = json(found, "/api/v1/data").await;
        let rows = found["credentials"].as_array().cloned().unwrap_or_default();
        let names = rows.iter().filter_map(|row| row["name"].as_str());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    }

    pub async fn value(&self, name: &str) -> Option<Value> {
        let query = [("current", "true"), ("name", name)];
        let found = self.ask(Method::GET, "/api/v1/data", &query, None).await;
        if found.status() == 404 {
            return None;
        }
        Some(json(found, name).await["data"][0]["value"].clone())
    }

    /// Sets a credential of the type `json`.
    pub async fn set(&self, name: &str, value: &Value) {
        self.set_of_type("json", name, value).await;
    }

    /// Sets a credential of the type `value`.
    pub async fn set_text(&self, name: &str, text: &str) {
        self.set_of_type("value", name, &text.into()).await;
    }

    pub async fn permit(&self, path: &str, actor: &str) {
        self.permit_operations(path, actor, &["read"]).await;
    }

    /// Lets an actor do this with exactly this path, and nothing else, as `credhub set-permission` does.
    pub async fn replace_permission(&self, path: &str, actor: &str, operations: &[&str]) {
        if self.permission(path, actor).await.is_some() {
            self.forbid(path, actor).await;
        }
        self.permit_operations(path, actor, operations).await;
    }

    async fn permit_operations(&self, path: &str, actor: &str, operations: &[&str]) {
        let body = json!({ "path": path, "actor": actor, "operations": operations });
        let location = "/api/v2/permissions";
        let permitted = self.ask(Method::POST, location, &[], Some(&body)).await;
        json(permitted, location).await;
    }

    async fn set_of_type(&self, kind: &str, name: &str, value: &Value) {
        let body = json!({ "name": name, "type": kind, "value": value });
        let set = self
            .ask(Method::PUT, "/api/v1/data", &[], Some(&body))
            .await;
        json(set, name).await;
    }

    pub async fn delete(&self, name: &str) {
        let query = [("name", name)];
        let deleted = self.ask(Method::DELETE, "/api/v1/data", &query, None).await;
        assert_eq!(deleted.status(), 204, "{name}");
    }

    /// The permission of an actor on exactly this credential, whether or not it exists.
    pub async fn permitted(&self, name: &str, actor: &str) -> Vec<String> {
        let found = self.permission(name, actor).await;
        let operations = found.as_ref().and_then(|row| row["operations"].as_array());
        let operations = operations.into_iter().flatten().filter_map(Value::as_str);
        operations.map(str::to_owned).collect()
    }

    /// Takes all that an actor is permitted with exactly this path.
    pub async fn forbid(&self, path: &str, actor: &str) {
        let found = self.permission(path, actor).await;
        let found = found.unwrap_or_else(|| panic!("`{actor}` is permitted nothing at `{path}`"));
        let id = found["uuid"].as_str().expect("a permission has an id");
        let path = format!("/api/v2/permissions/{id}");
        let forbidden = self.ask(Method::DELETE, &path, &[], None).await;
        json(forbidden, &path).await;
    }

    async fn permission(&self, path: &str, actor: &str) -> Option<Value> {
        let query = [("path", path), ("actor", actor)];
        let found = self
            .ask(Method::GET, "/api/v2/permissions", &query, None)
            .await;
        if found.status() == 404 {
            return None;
        }
        Some(json(found, path).await)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response {
        let url = url::Url::parse_with_params(&format!("{}{path}", self.access.url), query)
            .expect("it is an address");
        let request = self.http.request(method, url);
        let request = request.bearer_auth(self.token().await);
        let request = match body {
            Some(body) => with_json(request, body),
            None => request,
        };
        request.send().await.expect("the sandbox answers")
    }

    async fn token(&self) -> String {
        let client = &self.access.admin_client;
        let request = self
            .http
            .post(format!("{}/oauth/token", self.access.uaa_url))
            .basic_auth(&client.id, Some(&client.secret))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .body("grant_type=client_credentials");
        let token = json(request.send().await.expect("the sandbox answers"), "token").await;
        let token = token["access_token"].as_str();
        token.expect("the answer has a token").to_owned()
    }
}

fn with_json(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request
        .header("Content-Type", "application/json")
        .body(body.to_string())
}

async fn json(response: Response, what: &str) -> Value {
    let status = response.status();
    let text = response.text().await.expect("the answer is complete");
    assert!(status.is_success(), "{what}: {status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text}"))
}
