//! A client of CredHub.

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

/// A caller of a CredHub.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) http: reqwest::Client,
    url: String,
    token: Option<String>,
}

pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Api {
    pub(crate) fn new(http: reqwest::Client, url: &str) -> Self {
        Self {
            http,
            url: url.to_owned(),
            token: None,
        }
    }

    pub(crate) fn with_token(self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.call(Method::DELETE, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Response {
        self.call(Method::PUT, path, Some(body)).await
    }

    /// Sets a value, which must be allowed.
    pub(crate) async fn set(&self, name: &str, kind: &str, value: Value) -> Value {
        let body = json!({"name": name, "type": kind, "value": value});
        self.put("/api/v1/data", &body).await.ok()
    }

    /// Generates, which must be allowed.
    pub(crate) async fn generate(&self, name: &str, kind: &str, parameters: Value) -> Value {
        let body = json!({"name": name, "type": kind, "parameters": parameters});
        self.post("/api/v1/data", &body).await.ok()
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await.unwrap();
        Response {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| json!({"not json": self.body}))
    }

    /// The body of an answer that must be 200.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.json()
    }

    /// The text of an error.
    pub(crate) fn error(&self) -> String {
        self.json()["error"]
            .as_str()
            .unwrap_or(&self.body)
            .to_owned()
    }

    /// The status and the text of an error.
    pub(crate) fn rejection(&self) -> (u16, String) {
        (self.status.as_u16(), self.error())
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// The names of members in the order in which they were sent.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}
