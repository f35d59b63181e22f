//! `service-access`, `enable-service-access`, `disable-service-access`.

use reqwest::Method;
use serde_json::json;

use super::arguments::ServiceAccess;
use super::available::Available;
use super::client::{Client, Listing};
use super::error::CfError;
use super::lookup;
use super::screen::Screen;
use super::table::table;
use super::wire::{Included, Offering, Plan, Visibility};

pub(super) const PUBLIC: &str = "public";
pub(super) const ADMIN: &str = "admin";
const ORGANIZATION: &str = "organization";

/// Lists every plan with who sees it.
pub(super) async fn list(client: &mut Client, screen: &mut Screen) -> Result<(), CfError> {
    let query = [("fields[service_broker]", "name,guid")];
    let offerings: Listing<Offering> = client.list("/v3/service_offerings", &query).await?;
    let query = [("include", "space.organization")];
    let plans: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    let mut rows = Vec::new();
    for plan in &plans.resources {
        let organizations = if plan.visibility_type == ORGANIZATION {
            let path = format!("/v3/service_plans/{}/visibility", plan.guid);
            client.get::<Visibility>(&path, &[]).await?.organizations
        } else {
            Vec::new()
        };
        let organizations: Vec<_> = organizations.into_iter().map(|row| row.name).collect();
        rows.push(row(plan, &offerings, organizations.join(", ")));
    }
    if rows.is_empty() {
        screen.say("there are no plans");
        return Ok(());
    }
    rows.sort();
    let headings = ["broker", "offering", "plan", "access", "organizations"];
    screen.print(table(headings, &rows).as_bytes())
}

fn row(plan: &Plan, offerings: &Listing<Offering>, organizations: String) -> [String; 5] {
    let offering = plan.relationships.as_ref().and_then(|to| {
        let guid = to.service_offering.guid();
        offerings.resources.iter().find(|row| row.guid == *guid)
    });
    [
        offering.map_or_else(String::new, |row| broker(row, &offerings.included)),
        offering.map_or_else(String::new, |row| row.name.clone()),
        plan.name.clone(),
        plan.visibility_type.clone(),
        organizations,
    ]
}

fn broker(offering: &Offering, included: &Included) -> String {
    let guid = offering
        .relationships
        .as_ref()
        .map(|to| to.service_broker.guid());
    guid.and_then(|guid| included.broker(guid))
        .map_or_else(String::new, |broker| broker.name.clone())
}

/// Makes plans available to all organizations or to one. A plan that is available to all stays so.
pub(super) async fn enable(
    client: &mut Client,
    screen: &mut Screen,
    access: ServiceAccess,
) -> Result<(), CfError> {
    let plans = plans(client, &access).await?;
    let body = match &access.organization {
        None => json!({"type": PUBLIC}),
        Some(name) => {
            let organization = lookup::organization(client, name).await?;
            json!({"type": ORGANIZATION, "organizations": [{"guid": organization.guid}]})
        }
    };
    for plan in &plans {
        if access.organization.is_some() && plan.visibility_type == PUBLIC {
            screen.say(&format!(
                "plan {} of {} is already available to all organizations",
                plan.name, access.offering
            ));
            continue;
        }
        let path = format!("/v3/service_plans/{}/visibility", plan.guid);
        client.change(Method::POST, &path, Some(&body)).await?;
        let whom = access
            .organization
            .as_deref()
            .unwrap_or("all organizations");
        screen.say(&format!(
            "plan {} of {} is open to {whom}",
            plan.name, access.offering
        ));
    }
    Ok(())
}

/// Hides plans from all organizations or from one.
pub(super) async fn disable(
    client: &mut Client,
    screen: &mut Screen,
    access: ServiceAccess,
) -> Result<(), CfError> {
    let plans = plans(client, &access).await?;
    let organization = match &access.organization {
        None => None,
        Some(name) => Some(lookup::organization(client, name).await?),
    };
    for plan in plans.iter().filter(|plan| plan.visibility_type != ADMIN) {
        let path = format!("/v3/service_plans/{}/visibility", plan.guid);
        match &organization {
            None => {
                let body = json!({"type": ADMIN});
                client.change(Method::POST, &path, Some(&body)).await?;
            }
            Some(organization) => {
                let path = format!("{path}/{}", organization.guid);
                client.change(Method::DELETE, &path, None::<&()>).await?;
            }
        }
        let whom = access
            .organization
            .as_deref()
            .unwrap_or("all organizations");
        screen.say(&format!(
            "plan {} of {} is hidden from {whom}",
            plan.name, access.offering
        ));
    }
    Ok(())
}

/// The plans of the offering, or the one that was named.
async fn plans(client: &mut Client, access: &ServiceAccess) -> Result<Vec<Plan>, CfError> {
    let broker = access.broker.as_deref();
    let offering = lookup::offering(client, &access.offering, broker).await?;
    let offering = offering.guid.to_string();
    let plan = access.plan.as_deref().map(lookup::list_item);
    let mut query: Vec<(&str, &str)> = plan
        .as_deref()
        .map(|plan| ("names", plan))
        .into_iter()
        .collect();
    query.push(("service_offering_guids", &offering));
    let plans: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    match &access.plan {
        Some(plan) if plans.resources.is_empty() => {
            let of_offering = [("service_offering_guids", &*offering)];
            let available = Available::of(client, "/v3/service_plans", &of_offering).await;
            Err(CfError::NoOtherPlan(plan.clone(), available))
        }
        _ => Ok(plans.resources),
    }
}
