//! Feature flags, which apply to all users (v3 API, "Feature flags").

use actix_web::web::{ServiceConfig, patch};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    resource::{Listed, Resource, reads},
};
use crate::cloud_controller::{
    model::Tables,
    rejection::{ErrorKind, Rejection},
};

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
    app.configure(reads::<Flag>)
        .route("/v3/feature_flags/{guid}", patch().to(update));
}

struct Flag(&'static str);

impl Listed for Flag {
    fn guid(&self) -> &str {
        self.0
    }

    fn name(&self) -> &str {
        self.0
    }

    fn created_at(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn updated_at(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Resource for Flag {
    type Row<'a> = Self;
    const KIND: &'static str = "Feature flag";
    const PATH: &'static str = "/v3/feature_flags";
    const NAMED: bool = false;

    fn all(_view: &View<'_>) -> Vec<Self> {
        FLAGS.iter().map(|(name, _)| Self(name)).collect()
    }

    fn sees(_view: &View<'_>, _row: &Self) -> bool {
        true
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        json!({
            "name": row.0,
            "enabled": view.tables.is_enabled(row.0),
            "updated_at": null,
            "custom_error_message": null,
            "links": {"self": view.link(format_args!("/v3/feature_flags/{}", row.0))},
        })
    }

    /// Flags have neither guid nor date.
    fn presented(view: &View<'_>, row: &Self) -> Value {
        Self::body(view, row)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    enabled: bool,
    #[serde(rename = "custom_error_message")]
    _custom_error_message: Option<String>,
}

async fn update(call: Call) -> Response {
    call.read(|view| view.visible::<Flag>(call.guid()).map(drop))?;
    call.caller.must_be_admin()?;
    let wanted: Update = call.message()?;
    call.change(|tables| {
        tables
            .feature_flags
            .insert(call.guid().to_owned(), wanted.enabled);
        call.shown::<Flag>(tables, call.guid())
    })
}

impl Tables {
    /// Whether a feature flag is on.
    pub(super) fn is_enabled(&self, name: &str) -> bool {
        let default = FLAGS.contains(&(name, true));
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
