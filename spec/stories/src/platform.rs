//! A platform that orders from the broker (Open Service Broker API 2.17).

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Method, Request, RequestBuilder};
use serde_json::{Value, json};
use url::{Position, Url};

use crate::{ApiDocument, Response, Secrets, eventually, foundation::CloudControllerAccess};

/// The offering and the plan of `manifests/sandbox/redis-broker.yml` that is ordered unless a test says otherwise.
const SERVICE: &str = "0a58b5c6-6d3c-4a4b-9d0e-3d3f5a3f7a10";
const SMALL: &str = "3b7e1f52-0f0c-4c55-8a5b-6f1f6a9c2d21";
const LARGE: &str = "c4d1a0de-7b1e-4f0e-9d57-2f5d0f1f6b32";

/// How long an operation may take. Most take a second.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The API version of most platforms.
const API_VERSION: &str = "2.17";

#[derive(Clone, Debug)]
pub struct Platform {
    http: reqwest::Client,
    url: String,
    username: String,
    password: String,
    organization: String,
    space: String,
    rejections: Arc<Mutex<String>>,
    granted: Arc<Mutex<Secrets>>,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub body: Value,
    pub query: String,
}

#[derive(Clone, Debug)]
pub struct Ended {
    /// `succeeded`, `failed`, or `gone` where the instance is.
    pub state: String,
    /// Each description once, in the order of their first appearance.
    pub descriptions: Vec<String>,
}

pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl Ended {
    pub fn last_description(&self) -> &str {
        self.descriptions.last().map_or("", String::as_str)
    }
}

impl Order {
    pub fn small() -> Self {
        Self {
            body: json!({ "service_id": SERVICE, "plan_id": SMALL }),
            query: "accepts_incomplete=true".to_owned(),
        }
    }

    pub fn large() -> Self {
        Self::small().with("plan_id", LARGE.into())
    }

    #[must_use]
    pub fn with_parameters(self, parameters: Value) -> Self {
        self.with("parameters", parameters)
    }

    #[must_use]
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.body[member] = value;
        self
    }

    pub fn member(&self, name: &str) -> &Value {
        &self.body[name]
    }

    /// Without a member of the body.
    #[must_use]
    pub fn without(mut self, member: &str) -> Self {
        if let Some(body) = self.body.as_object_mut() {
            body.remove(member);
        }
        self
    }

    #[must_use]
    pub fn without_accepts_incomplete(mut self) -> Self {
        self.query.clear();
        self
    }
}

impl Platform {
    pub(crate) fn new(
        http: reqwest::Client,
        url: &str,
        (username, password): (&str, &str),
        access: &CloudControllerAccess,
    ) -> Self {
        Self {
            http,
            url: url.to_owned(),
            username: username.to_owned(),
            password: password.to_owned(),
            organization: access.organization.guid.clone(),
            space: access.space.guid.clone(),
            rejections: Arc::default(),
            granted: Arc::default(),
        }
    }

    /// The same platform with a wrong password.
    #[must_use]
    pub fn with_wrong_password(&self) -> Self {
        Self {
            password: new_id(),
            ..self.clone()
        }
    }

    /// A request with everything that the broker wants of every request. `path` is below the broker's address.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous_request(method, path)
            .basic_auth(&self.username, Some(&self.password))
            .header("X-Broker-API-Version", API_VERSION)
    }

    /// A request as operators send it: with credentials, and no header of the platform's.
    pub fn management_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous_request(method, path)
            .basic_auth(&self.username, Some(&self.password))
    }

    /// A request with nothing but a method and a path.
    pub fn anonymous_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub async fn send(&self, request: RequestBuilder) -> Response {
        self.execute(request.build().expect("the request is complete"))
            .await
    }

    /// Sends a request that is put together to the last header. An answer that does not fit the document of its API
    /// fails the test.
    pub async fn execute(&self, request: Request) -> Response {
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = self.http.execute(request).await;
        let answer = Response::read(response.expect("the broker answers")).await;
        if let Some(document) = ApiDocument::of(&path) {
            let violations = document.violations(&method, &path, &answer);
            assert!(
                violations.is_empty(),
                "{method} {path}: this differs from {}: {violations:?}: {answer:?}",
                document.name()
            );
        }
        self.note(answer)
    }

    /// Every answer so far that was an error, headers included.
    pub fn rejections(&self) -> String {
        let rejections = self
            .rejections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        rejections.clone()
    }

    /// The secrets of all bindings so far.
    pub fn granted(&self) -> Secrets {
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        granted.clone()
    }

    fn note(&self, answer: Response) -> Response {
        if let Ok(body) = serde_json::from_str::<Value>(&answer.text) {
            let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
            *granted = std::mem::take(&mut *granted)
                .and_members_of(&answer.request_id(), &body["credentials"]);
        }
        if answer.status >= 400 {
            let mut rejections = self
                .rejections
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            writeln!(rejections, "{:?}\n{}", answer.headers, answer.text)
                .expect("a text takes everything");
        }
        answer
    }

    pub async fn catalog(&self) -> Response {
        self.send(self.request(Method::GET, "/v2/catalog")).await
    }

    pub async fn provision(&self, instance: &str, order: &Order) -> Response {
        self.send(self.provision_request(instance, order)).await
    }

    pub fn provision_request(&self, instance: &str, order: &Order) -> RequestBuilder {
        let path = format!("/v2/service_instances/{instance}?{}", order.query);
        self.with_body(Method::PUT, &path, &self.provision_body(order))
    }

    /// The body of an order, which says where the user is.
    pub fn provision_body(&self, order: &Order) -> Value {
        let mut body = json!({
            "organization_guid": self.organization,
            "space_guid": self.space,
            "context": self.context(),
        });
        if let (Some(body), Some(order)) = (body.as_object_mut(), order.body.as_object()) {
            body.extend(order.clone());
        }
        body
    }

    pub async fn update(&self, instance: &str, order: &Order) -> Response {
        self.send(self.update_request(instance, order)).await
    }

    pub fn update_request(&self, instance: &str, order: &Order) -> RequestBuilder {
        let path = format!("/v2/service_instances/{instance}?{}", order.query);
        let mut body = order.body.clone();
        body["context"] = self.context();
        if body.get("previous_values").is_none() {
            body["previous_values"] = json!({ "plan_id": SMALL, "service_id": SERVICE });
        }
        self.with_body(Method::PATCH, &path, &body)
    }

    pub async fn deprovision(&self, instance: &str) -> Response {
        self.send(self.deprovision_request(instance)).await
    }

    pub fn deprovision_request(&self, instance: &str) -> RequestBuilder {
        let path = format!(
            "/v2/service_instances/{instance}?service_id={SERVICE}&plan_id={SMALL}&accepts_incomplete=true"
        );
        self.request(Method::DELETE, &path)
    }

    pub async fn bind(&self, instance: &str, binding: &str) -> Response {
        self.send(self.bind_request(instance, binding)).await
    }

    pub fn bind_request(&self, instance: &str, binding: &str) -> RequestBuilder {
        let path = format!("/v2/service_instances/{instance}/service_bindings/{binding}");
        let body = json!({
            "service_id": SERVICE, "plan_id": SMALL, "bind_resource": {}, "context": self.context(),
        });
        self.with_body(Method::PUT, &path, &body)
    }

    pub async fn bind_with_parameters(
        &self,
        instance: &str,
        binding: &str,
        parameters: &Value,
    ) -> Response {
        let path = format!("/v2/service_instances/{instance}/service_bindings/{binding}");
        let body = json!({
            "service_id": SERVICE, "plan_id": SMALL, "context": self.context(), "parameters": parameters,
        });
        self.send(self.with_body(Method::PUT, &path, &body)).await
    }

    /// Asks for credentials with a body of the test's own.
    pub async fn bind_with(&self, instance: &str, binding: &str, body: &Value) -> Response {
        let path = format!("/v2/service_instances/{instance}/service_bindings/{binding}");
        self.send(self.with_body(Method::PUT, &path, body)).await
    }

    pub async fn bind_app(&self, instance: &str, binding: &str, app: &str) -> Response {
        self.send(self.bind_app_request(instance, binding, app))
            .await
    }

    pub fn bind_app_request(&self, instance: &str, binding: &str, app: &str) -> RequestBuilder {
        let path = format!("/v2/service_instances/{instance}/service_bindings/{binding}");
        self.with_body(Method::PUT, &path, &self.app_binding(app))
    }

    pub fn app_binding(&self, app: &str) -> Value {
        json!({
            "service_id": SERVICE,
            "plan_id": SMALL,
            "app_guid": app,
            "bind_resource": { "app_guid": app, "space_guid": self.space },
            "context": self.context(),
        })
    }

    pub async fn fetch_binding(&self, instance: &str, binding: &str) -> Response {
        let path = format!(
            "/v2/service_instances/{instance}/service_bindings/{binding}?service_id={SERVICE}&plan_id={SMALL}"
        );
        self.send(self.request(Method::GET, &path)).await
    }

    pub async fn unbind(&self, instance: &str, binding: &str) -> Response {
        self.send(self.unbind_request(instance, binding)).await
    }

    pub fn unbind_request(&self, instance: &str, binding: &str) -> RequestBuilder {
        let path = format!(
            "/v2/service_instances/{instance}/service_bindings/{binding}?service_id={SERVICE}&plan_id={SMALL}"
        );
        self.request(Method::DELETE, &path)
    }

    pub async fn fetch(&self, instance: &str) -> Response {
        let path = format!("/v2/service_instances/{instance}");
        self.send(self.request(Method::GET, &path)).await
    }

    /// Has an instance upgraded or recreated, as the operator's errands do: without any header of the platform's.
    pub async fn operate(&self, instance: &str, operation: &str, body: &Value) -> Response {
        self.send(self.operate_request(instance, operation, body))
            .await
    }

    /// The request that has an instance upgraded or recreated.
    pub fn operate_request(&self, instance: &str, operation: &str, body: &Value) -> RequestBuilder {
        let path = format!("/mgmt/service_instances/{instance}?operation_type={operation}");
        self.management_request(Method::PATCH, &path)
            .body(body.to_string())
    }

    /// A request of an operator to the management API: without any header of the platform's.
    pub fn operator_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous_request(method, path)
            .basic_auth(&self.username, Some(&self.password))
    }

    /// The latest operation on an instance, as operators see it.
    pub async fn operation_status(&self, instance: &str) -> Response {
        let path = format!("/mgmt/v1/service_instances/{instance}/operation");
        self.send(self.operator_request(Method::GET, &path)).await
    }

    /// Has the operation in progress on an instance cancelled.
    pub async fn cancel(&self, instance: &str) -> Response {
        let path = format!("/mgmt/v1/service_instances/{instance}/operation");
        self.send(self.operator_request(Method::DELETE, &path))
            .await
    }

    pub async fn health(&self, instance: &str) -> Response {
        let path = format!("/mgmt/v1/service_instances/{instance}/health");
        self.send(self.operator_request(Method::GET, &path)).await
    }

    pub async fn dry_run(&self, instance: &str, body: &Value) -> Response {
        let path = format!("/mgmt/v1/service_instances/{instance}/dry_run");
        let request = self.operator_request(Method::POST, &path);
        self.send(request.body(body.to_string())).await
    }

    pub async fn last_operation(&self, instance: &str, token: &str) -> Response {
        self.send(self.last_operation_request(instance, token))
            .await
    }

    pub fn last_operation_request(&self, instance: &str, token: &str) -> RequestBuilder {
        let path = format!("/v2/service_instances/{instance}/last_operation");
        let query = [
            ("service_id", SERVICE),
            ("plan_id", SMALL),
            ("operation", token),
        ];
        let url = Url::parse_with_params(&format!("{}{path}", self.url), query)
            .expect("the broker's address is one");
        let path = &url[Position::BeforePath..];
        self.request(Method::GET, path)
    }

    /// Asks until an operation has ended.
    pub async fn end_of_operation(&self, instance: &str, token: &str) -> Ended {
        let mut descriptions: Vec<String> = Vec::new();
        let state = eventually("the operation ends", TIMEOUT, async || {
            let answer = self.last_operation(instance, token).await;
            if answer.status == 410 {
                return Ok("gone".to_owned());
            }
            answer.expect_status(200);
            let description = answer.description();
            if !descriptions.contains(&description) {
                descriptions.push(description);
            }
            match answer.json()["state"].as_str() {
                Some("in progress") => Err(answer.text),
                Some(state) => Ok(state.to_owned()),
                None => panic!("the answer has no state: {answer:?}"),
            }
        })
        .await;
        Ended {
            state,
            descriptions,
        }
    }

    /// Orders an instance and waits until it is there.
    pub async fn provision_to_the_end(&self, instance: &str, order: &Order) {
        let token = self.provision(instance, order).await.accepted();
        self.succeeds(instance, &token).await;
    }

    /// Orders an instance of the plan `small`, and gives the token of the operation.
    pub async fn order(&self, instance: &str) -> String {
        self.provision(instance, &Order::small()).await.accepted()
    }

    /// Orders an instance of the plan `small` and waits until it is there.
    pub async fn create(&self, instance: &str) {
        self.provision_to_the_end(instance, &Order::small()).await;
    }

    /// A new instance of the plan `small`.
    pub async fn created(&self) -> String {
        let instance = new_id();
        self.create(&instance).await;
        instance
    }

    pub async fn update_to_the_end(&self, instance: &str, order: &Order) {
        let token = self.update(instance, order).await.accepted();
        self.succeeds(instance, &token).await;
    }

    pub async fn upgrade_to_the_end(&self, instance: &str, context: Value) {
        let body = json!({ "plan_id": SMALL, "context": context });
        let answer = self.operate(instance, "upgrade", &body).await;
        let token = answer.operation_data().to_string();
        self.succeeds(instance, &token).await;
    }

    pub async fn delete_to_the_end(&self, instance: &str) {
        let token = self.deprovision(instance).await.accepted();
        let ended = self.end_of_operation(instance, &token).await;
        assert_ne!(ended.state, "failed", "{ended:?}");
    }

    /// Waits for the end of an operation, which has to be a success.
    pub async fn succeeds(&self, instance: &str, token: &str) {
        let ended = self.end_of_operation(instance, token).await;
        assert_eq!(ended.state, "succeeded", "{ended:?}");
    }

    /// Waits for the end of an operation, which has to be a failure.
    pub async fn fails(&self, instance: &str, token: &str) -> Ended {
        let ended = self.end_of_operation(instance, token).await;
        assert_eq!(ended.state, "failed", "{ended:?}");
        ended
    }

    fn with_body(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        self.request(method, path)
            .header("Content-Type", "application/json")
            .body(body.to_string())
    }

    fn context(&self) -> Value {
        json!({
            "platform": "cloudfoundry",
            "organization_guid": self.organization,
            "organization_name": "acme",
            "space_guid": self.space,
            "space_name": "development",
            "instance_name": "cache",
        })
    }
}
