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

static FLAGS: [(Flag, bool); 18] = [
    (Flag("app_bits_upload"), true),
    (Flag("app_scaling"), true),
    (Flag("diego_cnb"), false),
    (Flag("diego_docker"), false),
    (Flag("env_var_visibility"), true),
    (Flag("hide_marketplace_from_unauthenticated_users"), false),
    (Flag("private_domain_creation"), true),
    (Flag("resource_matching"), true),
    (Flag("route_creation"), true),
    (Flag("route_sharing"), false),
    (Flag("service_instance_creation"), true),
    (Flag("service_instance_sharing"), false),
    (Flag("set_roles_by_username"), true),
    (Flag("space_developer_env_var_visibility"), true),
    (Flag("space_scoped_private_broker_creation"), true),
    (Flag("task_creation"), true),
    (Flag("unset_roles_by_username"), true),
    (Flag("user_org_creation"), false),
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<Flag>)
        .route("/v3/feature_flags/{guid}", patch().to(update));
}

struct Flag(&'static str);

impl Listed for Flag {
    fn all(_tables: &Tables) -> Vec<&Self> {
        FLAGS.iter().map(|(flag, _)| flag).collect()
    }

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
    type Row = Self;
    const KIND: &'static str = "Feature flag";
    const PATH: &'static str = "/v3/feature_flags";
    const NAMED: bool = false;

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
        let default = FLAGS.iter().any(|(flag, is_on)| flag.0 == name && *is_on);
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
