//! The control API: the sandbox's own, over plain HTTP, on its loopback net only.

use actix_web::{
    HttpResponse, Responder,
    web::{self, Data, ServiceConfig},
};
use serde_json::{Value, json};

/// What the control API tells.
#[derive(Clone)]
pub struct Control {
    foundation: Value,
}

impl Control {
    /// Tells of a foundation that is up. The description must hold no secrets.
    pub fn new(foundation: Value) -> Self {
        Self { foundation }
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(Data::new(self.clone()))
            .service(web::resource("/").route(web::get().to(health)))
            .service(web::resource("/foundation").route(web::get().to(foundation)));
    }
}

/// The control API is served last: whoever reaches it finds everything else up.
async fn health(control: Data<Control>) -> impl Responder {
    HttpResponse::Ok().json(json!({"net": control.foundation["net"], "ready": true}))
}

async fn foundation(control: Data<Control>) -> impl Responder {
    HttpResponse::Ok().json(&control.foundation)
}
