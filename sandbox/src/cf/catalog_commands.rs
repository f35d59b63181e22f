//! `marketplace`.

use super::client::{Client, Listing};
use super::error::CfError;
use super::screen::Screen;
use super::table::table;
use super::wire::{Included, Plan};

pub(super) async fn marketplace(client: &mut Client, screen: &mut Screen) -> Result<(), CfError> {
    let space = client.space().to_string();
    let query = [
        ("available", "true"),
        ("fields[service_offering.service_broker]", "name,guid"),
        ("include", "service_offering"),
        ("per_page", "5000"),
        ("space_guids", &*space),
    ];
    let plans: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    if plans.resources.is_empty() {
        screen.say("no plan can be ordered");
        return Ok(());
    }
    let mut rows: Vec<_> = plans
        .resources
        .iter()
        .map(|plan| row(plan, &plans.included))
        .collect();
    rows.sort();
    screen.print(
        table(
            ["offering", "plan", "description", "costs", "broker"],
            &rows,
        )
        .as_bytes(),
    )
}

fn row(plan: &Plan, included: &Included) -> [String; 5] {
    let offering = plan
        .relationships
        .as_ref()
        .and_then(|to| included.offering(to.service_offering.guid()));
    let broker = offering
        .and_then(|offering| offering.relationships.as_ref())
        .and_then(|to| included.broker(to.service_broker.guid()));
    let costs = match plan.free {
        Some(true) => "free",
        Some(false) => "paid",
        None => "",
    };
    [
        offering.map_or_else(String::new, |offering| offering.name.clone()),
        plan.name.clone(),
        plan.description.clone(),
        costs.to_owned(),
        broker.map_or_else(String::new, |broker| broker.name.clone()),
    ]
}
