//! A broker with configured answers, which records every request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data},
};
use odb_sandbox::serve::Servers;
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::watch};

use crate::platform::{listener, serve};

pub(crate) struct FakeBroker {
    url: String,
    desk: Desk,
    _servers: Servers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    Catalog,
    Provision,
    Update,
    Deprovision,
    Bind,
    Unbind,
    LastOperation,
    Fetch,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) route: Route,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

type Desk = Arc<Mutex<Notes>>;

#[derive(Default)]
struct Notes {
    noted: Vec<Noted>,
    answers: HashMap<Route, (u16, String)>,
    held: HashMap<Route, watch::Receiver<bool>>,
}

/// Answers that are held back until this is released.
pub(crate) struct Held(watch::Sender<bool>);

impl Held {
    pub(crate) fn release(self) {
        self.0.send_replace(true);
    }
}

impl FakeBroker {
    /// A broker that does everything at once.
    pub(crate) fn start() -> Self {
        Self::with_catalog(catalog())
    }

    pub(crate) fn with_catalog(catalog: Value) -> Self {
        let desk = Desk::default();
        let (listener, url) = listener();
        let mut servers = Servers::new(Handle::current());
        let at_desk = desk.clone();
        serve(&mut servers, listener, move |app| {
            app.app_data(Data::new(at_desk.clone()))
                .default_service(web::to(answer));
        });
        let broker = Self {
            url,
            desk,
            _servers: servers,
        };
        broker.answers(Route::Catalog, 200, catalog);
        broker.answers(
            Route::Bind,
            201,
            json!({"credentials": {"password": "s3cr3t"}}),
        );
        for (route, status) in [
            (Route::Provision, 201),
            (Route::Update, 200),
            (Route::Deprovision, 200),
        ] {
            broker.answers(route, status, json!({}));
        }
        broker.answers(Route::Unbind, 200, json!({}));
        broker.answers(
            Route::LastOperation,
            200,
            json!({"state": "in progress", "description": "on it"}),
        );
        broker.answers(Route::Fetch, 404, json!({}));
        broker
    }

    /// From now on answers a route with this.
    pub(crate) fn answers(&self, route: Route, status: u16, body: impl Into<Value>) {
        let text = match body.into() {
            Value::String(text) => text,
            body => body.to_string(),
        };
        self.desk
            .lock()
            .unwrap()
            .answers
            .insert(route, (status, text));
    }

    /// From now on takes its time for everything.
    pub(crate) fn takes_its_time(&self) {
        for route in [Route::Provision, Route::Update, Route::Deprovision] {
            self.answers(route, 202, json!({"operation": "task-7"}));
        }
    }

    /// Ends what it is at.
    pub(crate) fn ends(&self, state: &str, description: &str) {
        self.answers(
            Route::LastOperation,
            200,
            json!({"state": state, "description": description}),
        );
    }

    /// From now on notes requests on a route, but answers them only when it is let.
    pub(crate) fn holds(&self, route: Route) -> Held {
        let (release, released) = watch::channel(false);
        self.desk.lock().unwrap().held.insert(route, released);
        Held(release)
    }

    /// The requests on a route, in order.
    pub(crate) fn noted(&self, route: Route) -> Vec<Noted> {
        self.desk
            .lock()
            .unwrap()
            .noted
            .iter()
            .filter(|noted| noted.route == route)
            .cloned()
            .collect()
    }

    pub(crate) fn registration(&self, name: &str) -> Value {
        json!({"name": name, "url": self.url, "authentication": {
            "type": "basic", "credentials": {"username": "broker", "password": "pass:word"},
        }})
    }
}

/// One service that can do everything, with a plan that can be upgraded and one without a version.
pub(crate) fn catalog() -> Value {
    json!({"services": [{
        "id": "redis-id", "name": "redis", "description": "Redis", "bindable": true, "plan_updateable": true,
        "tags": ["cache"], "metadata": {"displayName": "Redis"},
        "plans": [
            {
                "id": "small-id", "name": "small", "description": "small one", "free": true,
                "maintenance_info": {"version": "1.2.0", "description": "jammy 1.80"},
                "metadata": {"costs": [{"amount": {"eur": 5.0}, "unit": "MONTHLY"}]},
            },
            {"id": "large-id", "name": "large", "description": "large one", "free": false},
        ],
    }]})
}

async fn answer(desk: Data<Desk>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let path = request.path().to_owned();
    let route = match (
        request.method().as_str(),
        path.contains("/service_bindings/"),
    ) {
        ("GET", _) if path == "/v2/catalog" => Route::Catalog,
        ("GET", _) if path.ends_with("/last_operation") => Route::LastOperation,
        ("PUT", false) => Route::Provision,
        ("PUT", true) => Route::Bind,
        ("PATCH", _) => Route::Update,
        ("DELETE", false) => Route::Deprovision,
        ("DELETE", true) => Route::Unbind,
        _ => Route::Fetch,
    };
    let headers = request.headers().iter();
    let headers = headers
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let query = request.query_string().to_owned();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let held = {
        let mut notes = desk.lock().unwrap();
        notes.noted.push(Noted {
            route,
            path,
            query,
            headers,
            body,
        });
        notes.held.get(&route).cloned()
    };
    if let Some(mut released) = held {
        // The holder may be gone, which also releases it.
        let _ = released.wait_for(|released| *released).await;
    }
    let (status, text) = desk.lock().unwrap().answers[&route].clone();
    HttpResponse::build(StatusCode::from_u16(status).unwrap())
        .content_type("application/json")
        .body(text)
}
