//! Organizations.

use actix_web::web::{ServiceConfig, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::checked_name,
    resource::{Resource, reads},
};
use crate::cloud_controller::{
    model::{
        MetadataChange, Organization, OrganizationGuid, OrganizationKey, OrganizationStatus, Role,
        RoleKind, RoleScope, Tables,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<Organization>)
        .route("/v3/organizations", post().to(create));
}

impl Resource for Organization {
    type Row = Self;
    const KIND: &'static str = "Organization";
    const PATH: &'static str = "/v3/organizations";

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_organization(&row.guid)
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let path = format!("/v3/organizations/{}", row.guid);
        json!({
            "name": row.name,
            "suspended": row.status == OrganizationStatus::Suspended,
            "relationships": {"quota": {"data": null}},
            "metadata": row.metadata,
            "links": {
                "domains": view.link(format_args!("{path}/domains")),
                "default_domain": view.link(format_args!("{path}/domains/default")),
            },
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: Option<String>,
    suspended: Option<bool>,
    #[serde(default)]
    metadata: MetadataChange,
}

/// Admins make organizations, and others where a feature flag lets them; they then manage what they made.
async fn create(call: Call) -> Response {
    let wanted: Wanted = call.message()?;
    let change = wanted.metadata;
    let name = checked_name(wanted.name.as_deref().unwrap_or_default())?;
    call.change(|tables| {
        let is_admin = call.caller.is_admin();
        if !is_admin && !tables.is_enabled("user_org_creation") {
            return Err(Rejection::not_authorized());
        }
        must_be_free(tables, &name)?;
        let mut organization = Organization::new(name);
        organization.metadata.apply(&change);
        organization.status = status(wanted.suspended, organization.status);
        let guid = organization.guid.clone();
        tables.organizations.insert(guid.clone(), organization);
        if !is_admin {
            for kind in [RoleKind::OrganizationUser, RoleKind::OrganizationManager] {
                let location = RoleScope::Organization(guid.clone());
                tables.add_role(Role::new(kind, call.caller.name.clone(), location));
            }
        }
        call.created::<Organization>(tables, guid.as_str())
    })
}

fn status(wanted: Option<bool>, now: OrganizationStatus) -> OrganizationStatus {
    match wanted {
        Some(true) => OrganizationStatus::Suspended,
        Some(false) => OrganizationStatus::Active,
        None => now,
    }
}

fn must_be_free(tables: &Tables, name: &str) -> Result<(), Rejection> {
    if tables
        .organizations
        .has(OrganizationKey::Name(name.to_owned()))
    {
        return Err(Rejection::unprocessable(format!(
            "Organization name '{name}' is already taken."
        )));
    }
    Ok(())
}

/// The organization of an order, if the caller sees it. `article` is a part of the error text.
pub(super) fn ordered_organization(
    view: &View<'_>,
    guid: &str,
    article: &str,
) -> Result<OrganizationGuid, Rejection> {
    let organization = view.visible::<Organization>(guid);
    let guid = organization.map(|row| row.guid.clone());
    guid.map_err(|_| {
        Rejection::unprocessable(format!(
            "Invalid organization. Ensure {article}the organization exists and you have access to it."
        ))
    })
}
