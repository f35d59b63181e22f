//! `create-org`, `create-space`, `create-app`: the places that services are ordered in.

use serde_json::{Value, json};

use super::{Cf, arguments::CreateSpace, error::CfError, guid, lookup, text};

const ORIGIN: &str = "uaa";

pub(super) async fn create_organization(cf: &mut Cf<'_>, name: &str) -> Result<(), CfError> {
    let body = json!({"name": name, "suspended": false});
    let made = cf.client.make("/v3/organizations", &body).await?;
    cf.screen
        .say(&format!("organization {} created", text(&made, "/name")));
    Ok(())
}

/// Makes a space, and lets the user who makes it work there.
pub(super) async fn create_space(cf: &mut Cf<'_>, order: CreateSpace) -> Result<(), CfError> {
    let organization = lookup::organization(&mut cf.client, &order.organization).await?;
    let in_organization = json!({"organization": {"data": {"guid": guid(&organization)}}});
    let body = json!({"name": order.name, "relationships": in_organization});
    let space = cf.client.make("/v3/spaces", &body).await?;
    let in_space = json!({"space": {"data": {"guid": guid(&space)}}});
    for (kind, place) in [
        ("organization_user", &in_organization),
        ("space_manager", &in_space),
        ("organization_user", &in_organization),
        ("space_developer", &in_space),
    ] {
        give_role(cf, kind, place).await?;
    }
    cf.screen
        .say(&format!("space {} created", text(&space, "/name")));
    Ok(())
}

/// Gives the logged-in user a role. Having it already is as good.
async fn give_role(cf: &mut Cf<'_>, kind: &str, place: &Value) -> Result<(), CfError> {
    let mut relationships = place.clone();
    let user = json!({"username": cf.client.user_name(), "origin": ORIGIN});
    relationships["user"] = json!({"data": user});
    let body = json!({"type": kind, "relationships": relationships});
    match cf.client.make("/v3/roles", &body).await {
        Err(error) if !error.says_already() => Err(error.into()),
        _ => Ok(()),
    }
}

pub(super) async fn create_app(cf: &mut Cf<'_>, name: &str) -> Result<(), CfError> {
    let space = json!({"space": {"data": {"guid": cf.client.space}}});
    let body = json!({"name": name, "relationships": space});
    let made = cf.client.make("/v3/apps", &body).await?;
    cf.screen
        .say(&format!("app {name} created ({})", guid(&made)));
    Ok(())
}
