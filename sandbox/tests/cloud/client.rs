//! A client of a Cloud Controller, and the responses that it reads.

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::Value;

use crate::platform::eventually;

/// A logged-in user.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) token: Option<String>,
}

pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Api {
    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.send(Method::POST, path, Some(body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Response {
        self.send(Method::PATCH, path, Some(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<String>) -> Response {
        let path = path.strip_prefix(&self.url).unwrap_or(path);
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("bearer {token}"));
        }
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body);
        }
        Response::of(request.send().await.unwrap()).await
    }

    /// Follows the job of a 202 to its end.
    pub(crate) async fn ended(&self, accepted: &Response) -> Value {
        let location = accepted.location();
        eventually("the job ends", async || {
            let job = self.get(&location).await.body;
            (job["state"] == "COMPLETE" || job["state"] == "FAILED").then_some(job)
        })
        .await
    }

    pub(crate) async fn completed(&self, accepted: &Response) -> Value {
        let job = self.ended(accepted).await;
        assert_eq!(job["state"], "COMPLETE", "{job}");
        job
    }

    pub(crate) async fn failed(&self, accepted: &Response) -> Value {
        let job = self.ended(accepted).await;
        assert_eq!(job["state"], "FAILED", "{job}");
        job["errors"][0].clone()
    }
}

impl Response {
    pub(crate) async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn location(&self) -> String {
        assert_eq!(self.status, 202, "{}", self.body);
        self.header("Location").to_owned()
    }

    /// The names of a list's rows.
    pub(crate) fn names(&self) -> Vec<&str> {
        let rows = self.body["resources"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap()).collect()
    }

    /// How many rows a list has on all its pages.
    pub(crate) fn total(&self) -> u64 {
        self.body["pagination"]["total_results"].as_u64().unwrap()
    }

    /// Status, code, title and detail of an error.
    pub(crate) fn rejection(&self) -> (u16, u64, &str, &str) {
        let error = &self.body["errors"][0];
        let text = |key: &str| error[key].as_str().unwrap();
        (
            self.status.as_u16(),
            error["code"].as_u64().unwrap(),
            text("title"),
            text("detail"),
        )
    }
}
