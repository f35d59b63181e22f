//! `create-org`, `create-space`, `create-app`: the places that services are ordered in.

use serde_json::{Value, json};

use super::arguments::{CreateOrg, CreateSpace, NamedApp};
use super::client::Client;
use super::error::CfError;
use super::lookup;
use super::screen::Screen;
use super::wire::{App, Organization, Space};

/// The origin of the foundation's users.
const ORIGIN: &str = "uaa";

pub(super) async fn create_organization(
    client: &mut Client,
    screen: &mut Screen,
    order: CreateOrg,
) -> Result<(), CfError> {
    let body = json!({"name": order.name, "suspended": false});
    let made: Organization = client.make("/v3/organizations", &body).await?;
    screen.say(&format!("organization {} created", made.name));
    Ok(())
}

/// Makes a space, and lets the user who makes it work there.
pub(super) async fn create_space(
    client: &mut Client,
    screen: &mut Screen,
    order: CreateSpace,
) -> Result<(), CfError> {
    let organization = lookup::organization(client, &order.organization).await?;
    let in_organization = json!({"organization": {"data": {"guid": organization.guid}}});
    let body = json!({"name": order.name, "relationships": in_organization});
    let space: Space = client.make("/v3/spaces", &body).await?;
    let in_space = json!({"space": {"data": {"guid": space.guid}}});
    for (kind, place) in [
        ("organization_user", &in_organization),
        ("space_manager", &in_space),
        ("organization_user", &in_organization),
        ("space_developer", &in_space),
    ] {
        give_role(client, kind, place).await?;
    }
    screen.say(&format!("space {} created", space.name));
    Ok(())
}

/// Gives the speaking user a role. Having it already is as good.
async fn give_role(client: &mut Client, kind: &str, place: &Value) -> Result<(), CfError> {
    let mut relationships = place.clone();
    relationships["user"] = json!({"data": {"username": client.user_name(), "origin": ORIGIN}});
    let body = json!({"type": kind, "relationships": relationships});
    match client.make::<Value>("/v3/roles", &body).await {
        Err(error) if !error.says_already() => Err(error.into()),
        _ => Ok(()),
    }
}

pub(super) async fn create_app(
    client: &mut Client,
    screen: &mut Screen,
    app: NamedApp,
) -> Result<(), CfError> {
    let space = json!({"space": {"data": {"guid": client.space()}}});
    let body = json!({"name": app.name, "relationships": space});
    let made: App = client.make("/v3/apps", &body).await?;
    screen.say(&format!("app {} created ({})", app.name, made.guid));
    Ok(())
}
