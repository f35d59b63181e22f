//! Feature flags, which apply to all users (v3 API, "Feature flags").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, get, patch, resource},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, caller::Caller, message::message, ok, query::Query};
use crate::cloud_controller::{
    CloudController,
    model::Tables,
    rejection::{ErrorKind, Rejection},
};

/// The flags, and how they are by default.
const FLAGS: [(&str, bool); 18] = [
    ("app_bits_upload", true),
    ("app_scaling", true),
    ("diego_cnb", false),
    ("diego_docker", false),
    ("env_var_visibility", true),
    ("hide_marketplace_from_unauthenticated_users", false),
    ("private_domain_creation", true),
    ("resource_matching", true),
    ("route_creation", true),
    ("route_sharing", false),
    ("service_instance_creation", true),
    ("service_instance_sharing", false),
    ("set_roles_by_username", true),
    ("space_developer_env_var_visibility", true),
    ("space_scoped_private_broker_creation", true),
    ("task_creation", true),
    ("unset_roles_by_username", true),
    ("user_org_creation", false),
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/feature_flags").route(get().to(list)))
        .service(
            resource("/v3/feature_flags/{name}")
                .route(get().to(one))
                .route(patch().to(update)),
        );
}

async fn list(controller: Data<CloudController>, _caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::unnamed(&request, &[])?;
    controller.0.state.read(|tables| {
        let flags: Vec<_> = FLAGS
            .iter()
            .map(|(name, _)| controller.feature_flag(tables, name))
            .collect();
        let first = json!({"href": controller.href(query.location(1))});
        Ok(ok(&json!({
            "pagination": {
                "total_results": flags.len(), "total_pages": 1,
                "first": first, "last": first, "next": null, "previous": null,
            },
            "resources": flags,
        })))
    })
}

async fn one(controller: Data<CloudController>, _caller: Caller, name: Path<String>) -> Answer {
    must_exist(&name)?;
    controller
        .0
        .state
        .read(|tables| Ok(ok(&controller.feature_flag(tables, &name))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    enabled: bool,
    #[serde(rename = "custom_error_message")]
    _custom_error_message: Option<String>,
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    name: Path<String>,
    body: Bytes,
) -> Answer {
    must_exist(&name)?;
    caller.must_be_admin()?;
    let wanted: Update = message(&body)?;
    controller.0.state.change(|tables| {
        tables.feature_flags.insert(name.clone(), wanted.enabled);
        Ok(ok(&controller.feature_flag(tables, &name)))
    })
}

fn must_exist(name: &str) -> Result<(), Rejection> {
    if FLAGS.iter().any(|(known, _)| *known == name) {
        Ok(())
    } else {
        Err(Rejection::no_such("Feature flag"))
    }
}

impl Tables {
    /// Whether a feature flag is on.
    pub(super) fn is_enabled(&self, name: &str) -> bool {
        let default = FLAGS
            .iter()
            .any(|(known, enabled)| *known == name && *enabled);
        self.feature_flags.get(name).copied().unwrap_or(default)
    }

    /// Refuses what a feature flag has switched off.
    pub(super) fn must_be_enabled(&self, name: &str) -> Result<(), Rejection> {
        if self.is_enabled(name) {
            Ok(())
        } else {
            Err(ErrorKind::FeatureDisabled.with(format!("Feature Disabled: {name}")))
        }
    }
}

impl CloudController {
    /// Whether those without a token see no plans.
    pub(super) fn hides_marketplace(&self) -> bool {
        self.0
            .state
            .read(|tables| tables.is_enabled("hide_marketplace_from_unauthenticated_users"))
    }

    fn feature_flag(&self, tables: &Tables, name: &str) -> Value {
        json!({
            "name": name,
            "enabled": tables.is_enabled(name),
            "updated_at": null,
            "custom_error_message": null,
            "links": {"self": self.link(format_args!("/v3/feature_flags/{name}"))},
        })
    }
}
