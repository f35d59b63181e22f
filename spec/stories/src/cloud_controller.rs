//! A client of the Cloud Controller (`spec/contracts/platform-apis.md` §3). The command line is not made for many
//! orders at once.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use url::Url;

use crate::{
    eventually,
    foundation::{CloudControllerAccess, User},
};

/// How long a job may take.
const TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Clone, Debug)]
pub struct CloudController {
    http: reqwest::Client,
    url: String,
    space: String,
    token: String,
}

#[derive(Clone, Debug)]
pub struct CfOrder {
    job: String,
}

impl CloudController {
    pub(crate) async fn log_in(
        http: reqwest::Client,
        access: &CloudControllerAccess,
        user: &User,
    ) -> Self {
        let credentials = [
            ("grant_type", "password"),
            ("username", &user.name),
            ("password", &user.password),
        ];
        Self::with_token(http, access, ("cf", ""), &credentials).await
    }

    /// As the broker's client, which may do everything.
    pub(crate) async fn as_the_broker(
        http: reqwest::Client,
        access: &CloudControllerAccess,
    ) -> Self {
        let client = (
            access.broker_client.id.as_str(),
            access.broker_client.secret.as_str(),
        );
        let grant = [("grant_type", "client_credentials")];
        Self::with_token(http, access, client, &grant).await
    }

    async fn with_token(
        http: reqwest::Client,
        access: &CloudControllerAccess,
        (client, secret): (&str, &str),
        credentials: &[(&str, &str)],
    ) -> Self {
        let form = Url::parse_with_params("http://form", credentials).expect("it is an address");
        let response = http
            .post(format!("{}/oauth/token", access.uaa_url))
            .basic_auth(client, Some(secret))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .body(form.query().unwrap_or_default().to_owned())
            .send();
        let token = read(response.await.expect("the sandbox answers")).await;
        Self {
            http,
            url: access.url.clone(),
            space: access.space.guid.clone(),
            token: text(&token, "/access_token"),
        }
    }

    pub async fn plan(&self, name: &str) -> String {
        let plans = self.get(&format!("/v3/service_plans?names={name}")).await;
        text(&plans, "/resources/0/guid")
    }

    /// The same user in another space.
    pub async fn in_space(&self, name: &str) -> Self {
        let spaces = self.get("/v3/spaces?per_page=5000").await;
        let spaces = spaces["resources"].as_array().cloned().unwrap_or_default();
        let space = spaces.iter().find(|space| space["name"] == name);
        let space = space.unwrap_or_else(|| panic!("there is no space `{name}`: {spaces:?}"));
        Self {
            space: text(space, "/guid"),
            ..self.clone()
        }
    }

    /// The guid of the space in which services are ordered.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// Orders an instance; the broker is called asynchronously.
    pub async fn order(&self, name: &str, plan: &str) -> CfOrder {
        let body = json!({
            "type": "managed",
            "name": name,
            "relationships": {
                "space": { "data": { "guid": self.space } },
                "service_plan": { "data": { "guid": plan } },
            },
        });
        self.begin(Method::POST, "/v3/service_instances", &body)
            .await
    }

    /// Waits until the broker has taken the order (`Ok`) or has refused it, and gives what it said then.
    pub async fn answer(&self, order: &CfOrder) -> Result<(), String> {
        self.job(order, &["POLLING", "COMPLETE"]).await
    }

    /// Waits until the order has been carried out or has failed.
    pub async fn end(&self, order: &CfOrder) -> Result<(), String> {
        self.job(order, &["COMPLETE"]).await
    }

    /// Purges the newest instance of a plan without calling its broker, and returns its GUID.
    pub async fn purge_newest(&self, plan: &str) -> String {
        let path = "/v3/service_instances?per_page=1&order_by=-created_at";
        let list = self.get(&format!("{path}&service_plan_guids={plan}")).await;
        let guid = text(&list, "/resources/0/guid");
        let path = format!("/v3/service_instances/{guid}?purge=true");
        let response = self.request(Method::DELETE, &path).send().await;
        let response = response.expect("the sandbox answers");
        assert_eq!(response.status(), 204, "{response:?}");
        guid
    }

    /// The instances in the list, with their latest operation, `create succeeded` for example.
    pub async fn instances(&self) -> Vec<String> {
        let list = self.get("/v3/service_instances?per_page=500").await;
        let rows = list["resources"].as_array().cloned().unwrap_or_default();
        let reported = rows.iter().map(|row| {
            let kind = text(row, "/last_operation/type");
            format!("{kind} {}", text(row, "/last_operation/state"))
        });
        reported.collect()
    }

    /// Sends a request and gives status and body, which is `null` when there is none.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await.expect("the sandbox answers");
        let status = response.status().as_u16();
        let body = response.text().await.expect("the answer is complete");
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    async fn job(&self, order: &CfOrder, good: &[&str]) -> Result<(), String> {
        eventually("the job comes to an answer", TIMEOUT, async || {
            let job = self.get(&order.job).await;
            match job["state"].as_str() {
                Some("FAILED") => Ok(Err(job["errors"].to_string())),
                Some(state) if good.contains(&state) => Ok(Ok(())),
                _ => Err(job.to_string()),
            }
        })
        .await
    }

    async fn begin(&self, method: Method, path: &str, body: &Value) -> CfOrder {
        let request = self
            .request(method, path)
            .header("Content-Type", "application/json")
            .body(body.to_string());
        let response = request.send().await.expect("the sandbox answers");
        assert_eq!(response.status(), 202, "{response:?}");
        let location = response.headers()["location"].to_str();
        let location = location.expect("it is an address");
        let job = Url::parse(location).expect("it is an address");
        CfOrder {
            job: job.path().to_owned(),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await;
        read(response.expect("the sandbox answers")).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
    }
}

async fn read(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let body = response.text().await.expect("the answer is complete");
    assert_eq!(status, 200, "{url}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{url} is no JSON ({error}): {body}"))
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("`{pointer}` is no text in {value}"))
        .to_owned()
}
