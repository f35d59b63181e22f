//! A Cloud Controller of a test's own, with its UAA and CredHub.

use std::{future::Future, net::TcpListener, time::Duration};

use actix_web::web::ServiceConfig;
use odb_sandbox::{
    certificates::CertificateAuthority,
    cloud_controller::{ApiGeneration, BrokerBehaviour, CloudController, CloudControllerSettings},
    serve::Servers,
    store::Store,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    broker::FakeBroker,
    client::{Api, Response},
    upstreams::{credhub, organization, uaa},
};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Platform {
    pub(crate) url: String,
    pub(crate) uaa_url: String,
    pub(crate) credhub_url: String,
    pub(crate) http: reqwest::Client,
    pub(crate) space: String,
    pub(crate) organization: String,
    pub(crate) admin: Api,
    pub(crate) developer: Api,
    pub(crate) controller: CloudController,
    _servers: Servers,
}

impl Platform {
    pub(crate) async fn start() -> Self {
        Self::with(quick()).await
    }

    pub(crate) async fn with(brokers: BrokerBehaviour) -> Self {
        Self::adapted(&Store::in_memory(), |settings| settings.brokers = brokers).await
    }

    /// A Cloud Controller in a hurry, with one generation of the API.
    pub(crate) async fn of_generation(generation: ApiGeneration) -> Self {
        Self::adapted(&Store::in_memory(), |settings| {
            settings.generation = generation;
        })
        .await
    }

    /// One with what a store has kept, and with some settings of its own.
    pub(crate) async fn adapted(
        store: &Store,
        adapt: impl FnOnce(&mut CloudControllerSettings),
    ) -> Self {
        let mut servers = Servers::new(Handle::current());
        let (uaa_listener, uaa_url) = listener();
        let (credhub_listener, credhub_url) = listener();
        let (listener, url) = listener();
        let uaa = uaa(&uaa_url);
        let credhub = credhub(&uaa, &uaa_url);
        let mut settings = CloudControllerSettings {
            url: url.clone(),
            uaa_url: uaa_url.clone(),
            generation: ApiGeneration::default(),
            organizations: vec![
                organization("acme", "development", "developer"),
                organization("other", "elsewhere", "outsider"),
            ],
            users: Vec::new(),
            brokers: quick(),
        };
        adapt(&mut settings);
        let authority = CertificateAuthority::new("tests").unwrap();
        let tls = authority.client_tls().unwrap();
        let controller = CloudController::new(
            settings,
            store,
            &uaa,
            credhub.clone(),
            tls.clone(),
            Handle::current(),
        )
        .unwrap();
        serve(&mut servers, uaa_listener, move |app| uaa.configure(app));
        serve(&mut servers, credhub_listener, move |app| {
            credhub.configure(app);
        });
        let served = controller.clone();
        serve(&mut servers, listener, move |app| served.configure(app));
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let location = controller.first_space().unwrap();
        let no_user = Api {
            http: http.clone(),
            url: url.clone(),
            token: None,
        };
        let mut platform = Self {
            url,
            uaa_url,
            credhub_url,
            http,
            space: location.space.1,
            organization: location.organization.1,
            admin: no_user.clone(),
            developer: no_user,
            controller,
            _servers: servers,
        };
        platform.admin = platform.log_in("admin").await;
        platform.developer = platform.log_in("developer").await;
        platform
    }

    /// Logs a user in as the cf command line does.
    pub(crate) async fn log_in(&self, user: &str) -> Api {
        let form = [
            ("grant_type", "password"),
            ("username", user),
            ("password", "password"),
        ];
        let answer = self.token(Some(("cf", "")), &form).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.with_token(answer.body["access_token"].as_str().unwrap())
    }

    pub(crate) fn with_token(&self, token: &str) -> Api {
        Api {
            http: self.http.clone(),
            url: self.url.clone(),
            token: Some(token.to_owned()),
        }
    }

    pub(crate) fn anonymous(&self) -> Api {
        Api {
            http: self.http.clone(),
            url: self.url.clone(),
            token: None,
        }
    }

    /// Asks for a token.
    pub(crate) async fn token(
        &self,
        basic: Option<(&str, &str)>,
        form: &[(&str, &str)],
    ) -> Response {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        let mut request = self
            .http
            .post(format!("{}/oauth/token", self.uaa_url))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.finish());
        if let Some((id, secret)) = basic {
            request = request.basic_auth(id, Some(secret));
        }
        Response::of(request.send().await.unwrap()).await
    }

    /// Asks the CredHub of applications as a broker does.
    pub(crate) async fn credhub(&self, method: Method, path: &str, body: &Value) -> Response {
        let form = [("grant_type", "client_credentials")];
        let token = self.token(Some(("broker", "b")), &form).await;
        let request = self
            .http
            .request(method, format!("{}{path}", self.credhub_url))
            .bearer_auth(token.body["access_token"].as_str().unwrap())
            .header("Content-Type", "application/json")
            .body(body.to_string());
        Response::of(request.send().await.unwrap()).await
    }

    /// Registers a broker and makes its plans available to all organizations.
    pub(crate) async fn register(&self, broker: &FakeBroker) {
        self.register_hidden(broker).await;
        let plans = self.admin.get("/v3/service_plans").await;
        for plan in plans.body["resources"].as_array().unwrap() {
            let path = format!(
                "/v3/service_plans/{}/visibility",
                plan["guid"].as_str().unwrap()
            );
            assert_eq!(
                self.admin
                    .patch(&path, &json!({"type": "public"}))
                    .await
                    .status,
                200
            );
        }
    }

    /// Registers a broker whose plans only admins see.
    pub(crate) async fn register_hidden(&self, broker: &FakeBroker) {
        let registration = broker.registration("redis-broker");
        let answer = self.admin.post("/v3/service_brokers", &registration).await;
        self.admin.completed(&answer).await;
    }

    pub(crate) async fn broker_path(&self) -> String {
        let path = "/v3/service_brokers?names=redis-broker";
        let brokers = self.admin.get(path).await.body;
        let guid = brokers["resources"][0]["guid"].as_str().unwrap();
        format!("/v3/service_brokers/{guid}")
    }

    /// Has the catalog read again, as when a broker is updated with what is already known of it.
    pub(crate) async fn update_broker(&self, broker: &FakeBroker) -> Response {
        let registration = broker.registration("redis-broker");
        let path = self.broker_path().await;
        self.admin.patch(&path, &registration).await
    }

    /// A platform with short timings and one broker, whose plans are available to all organizations.
    pub(crate) async fn with_broker() -> (Self, FakeBroker) {
        let (platform, broker) = (Self::start().await, FakeBroker::start());
        platform.register(&broker).await;
        (platform, broker)
    }

    pub(crate) async fn plan(&self, name: &str) -> String {
        let plans = self
            .admin
            .get(&format!("/v3/service_plans?names={name}"))
            .await;
        plans.body["resources"][0]["guid"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The body of an order.
    pub(crate) async fn order(&self, plan: &str, name: &str) -> Value {
        json!({"type": "managed", "name": name, "relationships": {
            "space": {"data": {"guid": self.space}},
            "service_plan": {"data": {"guid": self.plan(plan).await}},
        }})
    }

    /// Orders an instance as the developer.
    pub(crate) async fn orders(&self, plan: &str, name: &str) -> Response {
        self.developer
            .post("/v3/service_instances", &self.order(plan, name).await)
            .await
    }

    /// Asks for a key `k` as the developer.
    pub(crate) async fn asks_for_key(&self, instance: &str) -> Response {
        let key = json!({
            "type": "key", "name": "k", "relationships": {"service_instance": {"data": {"guid": instance}}},
        });
        self.developer
            .post("/v3/service_credential_bindings", &key)
            .await
    }

    /// Deletes an instance as the developer.
    pub(crate) async fn deletes(&self, guid: &str) -> Response {
        self.developer
            .delete(&format!("/v3/service_instances/{guid}"))
            .await
    }

    /// Binds an app as the developer.
    pub(crate) async fn binds(&self, app: &str, instance: &str) -> Response {
        let binding = json!({"type": "app", "relationships": {
            "app": {"data": {"guid": app}}, "service_instance": {"data": {"guid": instance}},
        }});
        self.developer
            .post("/v3/service_credential_bindings", &binding)
            .await
    }

    /// An instance as the developer sees it.
    pub(crate) async fn shown(&self, guid: &str) -> Value {
        self.developer
            .get(&format!("/v3/service_instances/{guid}"))
            .await
            .body
    }

    /// Orders an instance as the developer and waits until it is there. Returns its guid.
    pub(crate) async fn instance(&self, plan: &str, name: &str) -> String {
        let answer = self.orders(plan, name).await;
        self.developer.completed(&answer).await;
        self.guid(name).await
    }

    pub(crate) async fn guid(&self, name: &str) -> String {
        let name = name.replace(',', "%252C");
        let found = self
            .developer
            .get(&format!("/v3/service_instances?names={name}"))
            .await;
        found.body["resources"][0]["guid"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Makes an app in the space of the developer. Returns its guid.
    pub(crate) async fn app(&self, name: &str) -> String {
        let body =
            json!({"name": name, "relationships": {"space": {"data": {"guid": self.space}}}});
        let answer = self.developer.post("/v3/apps", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["guid"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn stop(&self) {
        self.controller.shut_down().await;
    }
}

/// A Cloud Controller in a hurry.
pub(crate) fn quick() -> BrokerBehaviour {
    BrokerBehaviour {
        timeout: Duration::from_secs(5),
        polling_interval: Duration::from_millis(10),
        mitigation_delay: Duration::from_millis(5),
        ..BrokerBehaviour::default()
    }
}

/// Asks again and again until there is an answer.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut question: impl FnMut() -> F,
) -> T {
    let ask = async {
        let mut pause = tokio::time::interval(Duration::from_millis(5));
        loop {
            pause.tick().await;
            if let Some(answer) = question().await {
                return answer;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, ask)
        .await
        .unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

pub(crate) fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

pub(crate) fn serve(
    servers: &mut Servers,
    listener: TcpListener,
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) {
    servers
        .http("a test's server", listener, configure)
        .unwrap();
}
