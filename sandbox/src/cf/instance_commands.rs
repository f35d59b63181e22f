//! `create-service`, `update-service`, `upgrade-service`, `delete-service`, `purge-service-instance`,
//! `services`, `service`.

use reqwest::Method;
use serde::Serialize;

use super::arguments::{CreateService, DeleteService, UpdateService, UpgradeService};
use super::available::Available;
use super::client::{Change, Client, Listing};
use super::error::CfError;
use super::job::{self, Outcome};
use super::lookup;
use super::parameters::{self, Parameters};
use super::screen::Screen;
use super::table::{pairs, table};
use super::wire::{Included, Instance, Offering, Plan, PlanGuid, SpaceGuid, To};

pub(super) async fn create(
    client: &mut Client,
    screen: &mut Screen,
    order: CreateService,
) -> Result<(), CfError> {
    let parameters = parameters::read(order.parameters).await?;
    let plan = lookup::plan(client, &order.offering, &order.plan).await?;
    let body = NewInstance {
        kind: "managed",
        name: &order.name,
        parameters,
        tags: order.tags.as_deref(),
        relationships: NewRelationships {
            space: To::new(client.space().clone()),
            service_plan: To::new(plan.guid),
        },
    };
    let change = client
        .change(Method::POST, "/v3/service_instances", Some(&body))
        .await?;
    match job::follow(client, screen, change, &order.waiting).await? {
        Outcome::Complete => screen.say(&format!("service instance {} created", order.name)),
        Outcome::InProgress => in_progress(screen, "create", &order.name),
    }
    Ok(())
}

pub(super) async fn update(
    client: &mut Client,
    screen: &mut Screen,
    update: UpdateService,
) -> Result<(), CfError> {
    let parameters = parameters::read(update.parameters).await?;
    let (instance, plan) = match &update.plan {
        None => (lookup::instance(client, &update.name).await?, None),
        Some(plan) => with_new_plan(client, &update.name, plan).await?,
    };
    if parameters.is_none() && plan.is_none() && update.tags.is_none() {
        screen.say(&format!(
            "service instance {} has that plan already",
            update.name
        ));
        return Ok(());
    }
    let body = Changes {
        parameters,
        tags: update.tags.as_deref(),
        relationships: plan.map(|plan| ChangedRelationships {
            service_plan: To::new(plan),
        }),
        ..Changes::default()
    };
    let change = patch(client, &instance, &body).await?;
    match job::follow(client, screen, change, &update.waiting).await? {
        Outcome::Complete => screen.say(&format!("service instance {} updated", update.name)),
        Outcome::InProgress => in_progress(screen, "update", &update.name),
    }
    Ok(())
}

/// The service instance, and the plan of this name in its offering unless it has it already.
async fn with_new_plan(
    client: &mut Client,
    name: &str,
    plan: &str,
) -> Result<(Instance, Option<PlanGuid>), CfError> {
    let fields = [
        ("fields[service_plan.service_offering]", "name,guid"),
        (
            "fields[service_plan.service_offering.service_broker]",
            "name",
        ),
    ];
    let Some((instance, included)) = lookup::instance_with(client, name, &fields).await? else {
        return Err(lookup::no_instance(client, name).await);
    };
    let Some(offering) = included.service_offerings.first() else {
        return Err(CfError::UserProvided(name.to_owned()));
    };
    let offering = offering.guid.to_string();
    let plan_filter = lookup::list_item(plan);
    let query = [
        ("names", &*plan_filter),
        ("service_offering_guids", &*offering),
    ];
    let plans: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    let Some(plan) = plans.resources.into_iter().next() else {
        let of_offering = [("service_offering_guids", &*offering)];
        let available = Available::of(client, "/v3/service_plans", &of_offering).await;
        return Err(CfError::NoOtherPlan(plan.to_owned(), available));
    };
    let changed = (instance.plan() != Some(&plan.guid)).then_some(plan.guid);
    Ok((instance, changed))
}

pub(super) async fn upgrade(
    client: &mut Client,
    screen: &mut Screen,
    upgrade: UpgradeService,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &upgrade.name).await?;
    if !instance.upgrade_available {
        screen.say(&format!(
            "no upgrade is available for service instance {}",
            upgrade.name
        ));
        return Ok(());
    }
    let Some(plan) = instance.plan() else {
        return Err(CfError::UserProvided(upgrade.name));
    };
    let plan: Plan = client
        .get(&format!("/v3/service_plans/{plan}"), &[])
        .await?;
    let body = Changes {
        maintenance_info: plan
            .maintenance_info
            .version
            .map(|version| Version { version }),
        ..Changes::default()
    };
    let change = patch(client, &instance, &body).await?;
    match job::follow(client, screen, change, &upgrade.waiting).await? {
        Outcome::Complete => screen.say(&format!("service instance {} upgraded", upgrade.name)),
        Outcome::InProgress => in_progress(screen, "upgrade", &upgrade.name),
    }
    Ok(())
}

/// Purges a service instance. A missing instance counts as purged.
pub(super) async fn purge(
    client: &mut Client,
    screen: &mut Screen,
    name: &str,
) -> Result<(), CfError> {
    let Some(instance) = lookup::find_instance(client, name).await? else {
        screen.say(&format!("there is no service instance {name}"));
        return Ok(());
    };
    let path = format!("/v3/service_instances/{}", instance.guid);
    client
        .change_with(Method::DELETE, &path, &[("purge", "true")], None::<&()>)
        .await?;
    screen.say(&format!(
        "service instance {name} is purged; its broker received no request"
    ));
    Ok(())
}

/// Deletes a service instance. A missing one counts as deleted, as in the cf command line.
pub(super) async fn delete(
    client: &mut Client,
    screen: &mut Screen,
    deletion: DeleteService,
) -> Result<(), CfError> {
    let Some(instance) = lookup::find_instance(client, &deletion.name).await? else {
        screen.say(&format!("there is no service instance {}", deletion.name));
        return Ok(());
    };
    let path = format!("/v3/service_instances/{}", instance.guid);
    let change = client.change(Method::DELETE, &path, None::<&()>).await?;
    match job::follow(client, screen, change, &deletion.waiting).await? {
        Outcome::Complete => screen.say(&format!("service instance {} deleted", deletion.name)),
        Outcome::InProgress => in_progress(screen, "delete", &deletion.name),
    }
    Ok(())
}

pub(super) async fn list(client: &mut Client, screen: &mut Screen) -> Result<(), CfError> {
    let space = client.space().to_string();
    let query = [
        (
            "fields[service_plan]",
            "guid,name,relationships.service_offering",
        ),
        (
            "fields[service_plan.service_offering]",
            "guid,name,relationships.service_broker",
        ),
        (
            "fields[service_plan.service_offering.service_broker]",
            "guid,name",
        ),
        ("order_by", "name"),
        ("per_page", "5000"),
        ("space_guids", &*space),
    ];
    let instances: Listing<Instance> = client.list("/v3/service_instances", &query).await?;
    if instances.resources.is_empty() {
        screen.say("there are no service instances");
        return Ok(());
    }
    let rows: Vec<_> = instances
        .resources
        .iter()
        .map(|instance| row(instance, &instances.included))
        .collect();
    screen.print(
        table(
            [
                "name",
                "offering",
                "plan",
                "last operation",
                "upgrade available",
            ],
            &rows,
        )
        .as_bytes(),
    )
}

fn row(instance: &Instance, included: &Included) -> [String; 5] {
    let plan = instance.plan().and_then(|plan| included.plan(plan));
    let offering = plan.and_then(|plan| offering_of(plan, included));
    [
        instance.name.clone(),
        offering.map_or_else(String::new, |offering| offering.name.clone()),
        plan.map_or_else(String::new, |plan| plan.name.clone()),
        instance.last_operation.to_string(),
        yes_or_no(instance.upgrade_available),
    ]
}

pub(super) async fn show(
    client: &mut Client,
    screen: &mut Screen,
    name: &str,
) -> Result<(), CfError> {
    let fields = [
        (
            "fields[service_plan]",
            "name,guid,relationships.service_offering",
        ),
        (
            "fields[service_plan.service_offering]",
            "name,guid,relationships.service_broker",
        ),
        (
            "fields[service_plan.service_offering.service_broker]",
            "name,guid",
        ),
    ];
    let Some((instance, included)) = lookup::instance_with(client, name, &fields).await? else {
        return Err(lookup::no_instance(client, name).await);
    };
    screen.print(description(&instance, &included).as_bytes())
}

pub(super) async fn show_guid(
    client: &mut Client,
    screen: &mut Screen,
    name: &str,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, name).await?;
    screen.print(format!("{}\n", instance.guid).as_bytes())
}

fn description(instance: &Instance, included: &Included) -> String {
    let plan = instance.plan().and_then(|plan| included.plan(plan));
    let offering = plan.and_then(|plan| offering_of(plan, included));
    let broker = offering
        .and_then(|offering| offering.relationships.as_ref())
        .and_then(|to| included.broker(to.service_broker.guid()));
    let known = [
        ("name", Some(instance.name.clone())),
        ("guid", Some(instance.guid.to_string())),
        ("offering", offering.map(|offering| offering.name.clone())),
        ("plan", plan.map(|plan| plan.name.clone())),
        ("broker", broker.map(|broker| broker.name.clone())),
        ("dashboard", instance.dashboard_url.clone()),
        ("version", instance.maintenance_info.version.clone()),
        (
            "upgrade available",
            instance.upgrade_available.then(|| "yes".to_owned()),
        ),
        ("last operation", Some(instance.last_operation.to_string())),
        (
            "message",
            instance.last_operation.description().map(str::to_owned),
        ),
    ];
    let known: Vec<_> = known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    pairs(&known)
}

fn offering_of<'a>(plan: &Plan, included: &'a Included) -> Option<&'a Offering> {
    included.offering(plan.relationships.as_ref()?.service_offering.guid())
}

fn yes_or_no(claim: bool) -> String {
    if claim { "yes" } else { "no" }.to_owned()
}

fn in_progress(screen: &mut Screen, operation: &str, name: &str) {
    screen.say(&format!(
        "{operation} in progress; `odb-sandbox cf service {name}` shows its progress"
    ));
}

async fn patch(
    client: &mut Client,
    instance: &Instance,
    body: &Changes<'_>,
) -> Result<Change, CfError> {
    let path = format!("/v3/service_instances/{}", instance.guid);
    Ok(client.change(Method::PATCH, &path, Some(body)).await?)
}

#[derive(Serialize)]
struct NewInstance<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'a [String]>,
    relationships: NewRelationships,
}

#[derive(Serialize)]
struct NewRelationships {
    space: To<SpaceGuid>,
    service_plan: To<PlanGuid>,
}

#[derive(Default, Serialize)]
struct Changes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relationships: Option<ChangedRelationships>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maintenance_info: Option<Version>,
}

#[derive(Serialize)]
struct ChangedRelationships {
    service_plan: To<PlanGuid>,
}

#[derive(Serialize)]
struct Version {
    version: String,
}
