//! `/v2/info`, and what is there while v2 is off (`spec/contracts/platform-apis.md`, "Discovery").

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, ServiceConfig, get},
};
use serde_json::json;

use super::ok;
use crate::cloud_controller::{CloudController, api::Caller, settings::ApiGeneration};

/// The version of v2 that its last releases had.
pub(crate) const V2_VERSION: &str = "2.293.0";

pub(super) fn routes(generation: ApiGeneration, app: &mut ServiceConfig) {
    if generation == ApiGeneration::V2GoneWithoutTrace {
        app.route("/info", web::to(disabled));
    } else {
        app.route("/info", get().to(info));
    }
}

/// The front proxy's own answer.
pub(super) async fn disabled() -> HttpResponse {
    HttpResponse::NotFound()
        .content_type("text/html")
        .body("V2 endpoints disabled")
}

async fn info(controller: Data<CloudController>, request: HttpRequest) -> HttpResponse {
    let settings = &controller.0.settings;
    let reports_version = settings.generation.reports_v2_version();
    let mut body = json!({
        "name": "odb-sandbox",
        "build": "",
        "support": if reports_version { "" } else { "CF API v2 is disabled" },
        "version": 0,
        "description": "A foundation on one machine",
        "authorization_endpoint": settings.uaa_url,
        "token_endpoint": settings.uaa_url,
        "min_cli_version": null,
        "min_recommended_cli_version": null,
        "app_ssh_endpoint": null,
        "app_ssh_host_key_fingerprint": null,
        "app_ssh_oauth_client": null,
        "doppler_logging_endpoint": null,
        "api_version": if reports_version { V2_VERSION } else { "" },
        "osbapi_version": "2.15",
    });
    if let Some(user) = Caller::of(&request)
        .ok()
        .and_then(|caller| caller.identity.user)
    {
        body["user"] = user.into();
    }
    ok(&body)
}
