//! `GET /info`: the Director's description. Public; for an authenticated caller it includes the user.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use serde_json::{Value, json};

use super::{answer, caller::Caller};
use crate::director::{ConfigServer, Director, UserManagement};

/// The version whose behaviour this Director has.
const VERSION: &str = "277.3.0 (3604d808)";

pub(super) async fn info(request: HttpRequest, director: Data<Director>) -> HttpResponse {
    let settings = &director.inner.settings;
    let user = Caller::of(&request).ok().map(|caller| caller.user);
    answer::open_json(&json!({
        "name": settings.name,
        "uuid": settings.uuid,
        "version": VERSION,
        "user": user,
        "cpi": "process_cpi",
        "stemcell_os": "-",
        "stemcell_version": "-",
        "user_authentication": match settings.user_management {
            UserManagement::Local(_) => json!({"type": "basic", "options": {}}),
            UserManagement::Uaa => json!({
                "type": "uaa",
                "options": {"url": settings.uaa_url, "urls": [settings.uaa_url]},
            }),
        },
        "features": {
            "local_dns": {"status": settings.local_dns, "extras": {"domain_name": "bosh"}},
            "power_dns": {"status": false, "extras": {"domain_name": "bosh"}},
            "snapshots": {"status": false},
            "config_server": config_server(&settings.config_server),
        },
    }))
}

fn config_server(server: &ConfigServer) -> Value {
    match server {
        ConfigServer::Off => json!({"status": false, "extras": {"urls": []}}),
        ConfigServer::CredHub { url, .. } => json!({"status": true, "extras": {"urls": [url]}}),
    }
}
