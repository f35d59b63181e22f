//! `marketplace`, `create-service`, `update-service`, `upgrade-service`, `delete-service`, `purge-service-instance`,
//! `services`, `service`, `share-service`, `unshare-service`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Cf,
    arguments::{CreateService, ShareService, UpdateService, Waiting, WholeInstance, parameters},
    client::{Change, Listing},
    error::CfError,
    guid,
    job::{self, LastOperation, Outcome},
    lookup,
    output::{pairs, table},
    text,
};

const PLAN: (&str, &str) = (
    "fields[service_plan]",
    "guid,name,relationships.service_offering",
);
const OFFERING: (&str, &str) = (
    "fields[service_plan.service_offering]",
    "guid,name,relationships.service_broker",
);
const BROKER: (&str, &str) = (
    "fields[service_plan.service_offering.service_broker]",
    "guid,name",
);

pub(super) async fn marketplace(cf: &mut Cf<'_>) -> Result<(), CfError> {
    let space = cf.client.space.clone();
    let query = [
        ("available", "true"),
        ("fields[service_offering.service_broker]", "name,guid"),
        ("include", "service_offering"),
        ("per_page", "5000"),
        ("space_guids", &*space),
    ];
    let plans = cf.client.list("/v3/service_plans", &query).await?;
    if plans.resources.is_empty() {
        cf.screen.say("no plan can be ordered");
        return Ok(());
    }
    let rows = plans.resources.iter().map(|plan| {
        let (offering, broker) = origin(plan, &plans);
        let costs = match plan["free"].as_bool() {
            Some(true) => "free",
            Some(false) => "paid",
            None => "",
        };
        let description = text(plan, "/description").to_owned();
        [
            name(offering),
            name(Some(plan)),
            description,
            costs.to_owned(),
            name(broker),
        ]
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    let headings = ["offering", "plan", "description", "costs", "broker"];
    cf.screen.print(table(headings, &rows).as_bytes())
}

/// The offering of a plan, and its broker.
fn origin<'a>(plan: &Value, listing: &'a Listing) -> (Option<&'a Value>, Option<&'a Value>) {
    let offering = text(plan, "/relationships/service_offering/data/guid");
    let offering = listing.included("service_offerings", Some(offering));
    let broker = offering.and_then(|offering| {
        let broker = text(offering, "/relationships/service_broker/data/guid");
        listing.included("service_brokers", Some(broker))
    });
    (offering, broker)
}

fn plan_of<'a>(instance: &Value, listing: &'a Listing) -> Option<&'a Value> {
    listing.included("service_plans", Some(plan_guid(instance)))
}

fn plan_guid(instance: &Value) -> &str {
    text(instance, "/relationships/service_plan/data/guid")
}

fn name(row: Option<&Value>) -> String {
    row.map_or("", |row| text(row, "/name")).to_owned()
}

pub(super) async fn create(cf: &mut Cf<'_>, order: CreateService) -> Result<(), CfError> {
    let parameters = parameters(order.parameters).await?;
    let plan = lookup::plan(&mut cf.client, &order.offering, &order.plan).await?;
    let mut body = json!({
        "type": "managed",
        "name": order.name,
        "relationships": {
            "space": {"data": {"guid": cf.client.space}},
            "service_plan": {"data": {"guid": guid(&plan)}},
        },
    });
    if let Some(tags) = &order.tags {
        body["tags"] = json!(tags);
    }
    let path = "/v3/service_instances";
    let change = cf
        .client
        .change_with(Method::POST, path, &body, parameters.as_deref());
    let change = change.await?;
    follow(
        cf,
        change,
        ("create", "created"),
        &order.name,
        &order.waiting,
    )
    .await
}

/// Follows an operation on a service instance, and says how it ended.
async fn follow(
    cf: &mut Cf<'_>,
    change: Change,
    (operation, done): (&str, &str),
    name: &str,
    waiting: &Waiting,
) -> Result<(), CfError> {
    let line = match job::follow(cf, change, waiting).await? {
        Outcome::Complete => format!("service instance {name} {done}"),
        Outcome::InProgress => {
            format!("{operation} in progress; `odb-sandbox cf service {name}` shows its progress")
        }
    };
    cf.screen.say(&line);
    Ok(())
}

pub(super) async fn update(cf: &mut Cf<'_>, update: UpdateService) -> Result<(), CfError> {
    let parameters = parameters(update.parameters).await?;
    let mut body = json!({});
    let instance = match &update.plan {
        None => lookup::instance(&mut cf.client, &update.name).await?,
        Some(plan) => {
            let (instance, plan) = with_new_plan(cf, &update.name, plan).await?;
            if plan_guid(&instance) != plan {
                body["relationships"] = json!({"service_plan": {"data": {"guid": plan}}});
            }
            instance
        }
    };
    if let Some(tags) = &update.tags {
        body["tags"] = json!(tags);
    }
    if parameters.is_none() && body == json!({}) {
        cf.screen.say(&format!(
            "service instance {} has that plan already",
            update.name
        ));
        return Ok(());
    }
    let path = format!("/v3/service_instances/{}", guid(&instance));
    let change = cf
        .client
        .change_with(Method::PATCH, &path, &body, parameters.as_deref());
    let change = change.await?;
    follow(
        cf,
        change,
        ("update", "updated"),
        &update.name,
        &update.waiting,
    )
    .await
}

async fn with_new_plan(
    cf: &mut Cf<'_>,
    name: &str,
    plan: &str,
) -> Result<(Value, String), CfError> {
    let fields = [
        ("fields[service_plan.service_offering]", "name,guid"),
        (BROKER.0, "name"),
    ];
    let (instance, listing) = lookup::instance_with(&mut cf.client, name, &fields).await?;
    let offering = listing.included("service_offerings", None);
    let plans = lookup::plans(&mut cf.client, offering.map_or("", guid), Some(plan)).await?;
    let plan = plans.first().map_or("", guid).to_owned();
    Ok((instance, plan))
}

pub(super) async fn upgrade(cf: &mut Cf<'_>, upgrade: WholeInstance) -> Result<(), CfError> {
    let instance = lookup::instance(&mut cf.client, &upgrade.name).await?;
    if instance["upgrade_available"] != true {
        cf.screen.say(&format!(
            "no upgrade is available for service instance {}",
            upgrade.name
        ));
        return Ok(());
    }
    let plan = plan_guid(&instance);
    let plan: Value = cf.client.get(&format!("/v3/service_plans/{plan}")).await?;
    let version = plan.pointer("/maintenance_info/version");
    let body = match version {
        Some(version) => json!({"maintenance_info": {"version": version}}),
        None => json!({}),
    };
    let path = format!("/v3/service_instances/{}", guid(&instance));
    let change = cf.client.change(Method::PATCH, &path, &body).await?;
    follow(
        cf,
        change,
        ("upgrade", "upgraded"),
        &upgrade.name,
        &upgrade.waiting,
    )
    .await
}

/// Purges a service instance. A missing instance counts as purged.
pub(super) async fn purge(cf: &mut Cf<'_>, name: &str) -> Result<(), CfError> {
    let Some((instance, _)) = lookup::find_instance(&mut cf.client, name, &[]).await? else {
        cf.screen
            .say(&format!("there is no service instance {name}"));
        return Ok(());
    };
    let path = format!("/v3/service_instances/{}?purge=true", guid(&instance));
    cf.client.delete(path).await?;
    cf.screen.say(&format!(
        "service instance {name} is purged; its broker received no request"
    ));
    Ok(())
}

/// Deletes a service instance. A missing one counts as deleted, as in the cf command line.
pub(super) async fn delete(cf: &mut Cf<'_>, deletion: WholeInstance) -> Result<(), CfError> {
    let name = &deletion.name;
    let Some((instance, _)) = lookup::find_instance(&mut cf.client, name, &[]).await? else {
        cf.screen
            .say(&format!("there is no service instance {name}"));
        return Ok(());
    };
    let path = format!("/v3/service_instances/{}", guid(&instance));
    let change = cf.client.delete(path).await?;
    follow(cf, change, ("delete", "deleted"), name, &deletion.waiting).await
}

pub(super) async fn list(cf: &mut Cf<'_>) -> Result<(), CfError> {
    let space = cf.client.space.clone();
    let (order, size) = (("order_by", "name"), ("per_page", "5000"));
    let query = [
        PLAN,
        OFFERING,
        BROKER,
        order,
        size,
        ("space_guids", &*space),
    ];
    let instances = cf.client.list("/v3/service_instances", &query).await?;
    if instances.resources.is_empty() {
        cf.screen.say("there are no service instances");
        return Ok(());
    }
    let rows = instances.resources.iter().map(|instance| {
        let plan = plan_of(instance, &instances);
        let offering = plan.and_then(|plan| origin(plan, &instances).0);
        let upgrade = if instance["upgrade_available"] == true {
            "yes"
        } else {
            "no"
        };
        [
            name(Some(instance)),
            name(offering),
            name(plan),
            LastOperation::of(instance).to_string(),
            upgrade.to_owned(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let headings = [
        "name",
        "offering",
        "plan",
        "last operation",
        "upgrade available",
    ];
    cf.screen.print(table(headings, &rows).as_bytes())
}

pub(super) async fn show(cf: &mut Cf<'_>, name: &str, guid_only: bool) -> Result<(), CfError> {
    if guid_only {
        let instance = lookup::instance(&mut cf.client, name).await?;
        return cf.screen.print(guid(&instance).as_bytes());
    }
    let fields = [PLAN, OFFERING, BROKER];
    let (instance, listing) = lookup::instance_with(&mut cf.client, name, &fields).await?;
    cf.screen.print(description(&instance, &listing).as_bytes())
}

fn description(instance: &Value, listing: &Listing) -> String {
    let plan = plan_of(instance, listing);
    let (offering, broker) = plan.map_or((None, None), |plan| origin(plan, listing));
    let operation = LastOperation::of(instance);
    let upgrade = if instance["upgrade_available"] == true {
        "yes"
    } else {
        ""
    };
    let known = [
        ("name", name(Some(instance))),
        ("guid", guid(instance).to_owned()),
        ("offering", name(offering)),
        ("plan", name(plan)),
        ("broker", name(broker)),
        ("dashboard", text(instance, "/dashboard_url").to_owned()),
        (
            "version",
            text(instance, "/maintenance_info/version").to_owned(),
        ),
        ("upgrade available", upgrade.to_owned()),
        ("last operation", operation.to_string()),
        (
            "message",
            operation.description().unwrap_or_default().to_owned(),
        ),
    ];
    let is_shown = |name: &str, value: &str| name == "last operation" || !value.is_empty();
    let known = known
        .into_iter()
        .filter(|(name, value)| is_shown(name, value));
    pairs(&known.collect::<Vec<_>>())
}

pub(super) async fn share(cf: &mut Cf<'_>, share: ShareService) -> Result<(), CfError> {
    let (path, space) = shared_spaces(cf, &share).await?;
    let body = json!({"data": [{"guid": space}]});
    cf.client.change(Method::POST, &path, &body).await?;
    cf.screen.say(&format!(
        "service instance {} can be used in {}",
        share.name, share.space
    ));
    Ok(())
}

pub(super) async fn unshare(cf: &mut Cf<'_>, share: ShareService) -> Result<(), CfError> {
    let (path, space) = shared_spaces(cf, &share).await?;
    cf.client.delete(format_args!("{path}/{space}")).await?;
    cf.screen.say(&format!(
        "service instance {} can no longer be used in {}",
        share.name, share.space
    ));
    Ok(())
}

/// The path of the spaces of a service instance, and the guid of the space that was named.
async fn shared_spaces(cf: &mut Cf<'_>, share: &ShareService) -> Result<(String, String), CfError> {
    let instance = lookup::instance(&mut cf.client, &share.name).await?;
    let space = lookup::space(&mut cf.client, &share.space).await?;
    let instance = guid(&instance);
    let path = format!("/v3/service_instances/{instance}/relationships/shared_spaces");
    Ok((path, guid(&space).to_owned()))
}
