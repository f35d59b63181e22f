//! Fleets: thousands of service instances without orders, in the state in which a broker would have left them in the
//! Cloud Controller and in the Director, to measure and to test with.
//!
//! | module | contents |
//! | --- | --- |
//! | `generate` | the instances and their states |
//! | `manifest` | the manifests of their deployments |
//! | `record` | the broker's operation records of them |

mod generate;
mod manifest;
mod operation_record;

use std::{collections::BTreeMap, time::Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::manifest::FleetPattern;
use self::{
    generate::{Condition, Generated, generate},
    manifest::Template,
    operation_record::Moments,
};
use crate::{
    cloud_controller::{CloudController, SeedError, SeedablePlan, SeededInstance, SeededState},
    director::{AdoptError, Director, SeededConfig, SeededDeployment},
};

/// The most instances that are seeded at once.
const LIMIT: usize = 100_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetOrder {
    /// The name of the broker, which must be registered. Its available plans are ordered from.
    pub broker: String,
    /// How many service instances.
    pub instances: usize,
    /// The same number draws the same fleet.
    pub random_seed: u64,
    #[serde(default = "three")]
    pub organizations: usize,
    /// How many spaces each of these has.
    #[serde(default = "three")]
    pub spaces: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FleetReport {
    /// How many service instances.
    pub instances: usize,
    pub conditions: BTreeMap<String, usize>,
    /// How many of them are on which plan, by the names of offering and plan.
    pub plans: BTreeMap<String, usize>,
    /// How long it took.
    pub milliseconds: u64,
}

/// No fleet was seeded, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(
        "a fleet has 1 to {LIMIT} instances, in at least one organization with at least one space"
    )]
    Bounds,
    #[error("there is no service broker `{0}` with plans; register it first")]
    NoPlans(String),
    #[error("the Director has no release or no stemcell")]
    NoRelease,
    #[error("the Cloud Controller does not take the fleet; another random seed draws another one")]
    CloudController(#[source] SeedError),
    #[error("the Director has taken on {adopted} deployments and no more")]
    Director {
        adopted: usize,
        #[source]
        source: AdoptError,
    },
}

/// Seeds a fleet in both, consistently.
pub async fn seed(
    order: &FleetOrder,
    pattern: &FleetPattern,
    cloud_controller: &CloudController,
    director: &Director,
) -> Result<FleetReport, FleetError> {
    let began = Instant::now();
    if !(1..=LIMIT).contains(&order.instances) || order.organizations == 0 || order.spaces == 0 {
        return Err(FleetError::Bounds);
    }
    let plans = cloud_controller.seedable_plans(&order.broker);
    if plans.is_empty() {
        return Err(FleetError::NoPlans(order.broker.clone()));
    }
    let templates = templates(&plans, pattern, director).ok_or(FleetError::NoRelease)?;
    let spaces = spaces(order, cloud_controller);
    let fleet = generate(
        order.random_seed,
        order.instances,
        plans.len(),
        spaces.len(),
    );
    let ordered = fleet
        .iter()
        .map(|generated| ordered(generated, &plans, &spaces));
    cloud_controller
        .seed(ordered.collect())
        .map_err(FleetError::CloudController)?;
    for (adopted, generated) in fleet.iter().enumerate() {
        let deployment = deployed(generated, &templates[generated.plan], pattern);
        let adopting = director.adopt(deployment).await;
        adopting.map_err(|source| FleetError::Director { adopted, source })?;
        let template = &templates[generated.plan];
        for record in recorded(generated, &plans[generated.plan], template, pattern) {
            director.seed_config(record);
        }
    }
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report(&fleet, &plans, milliseconds))
}

/// For each plan the manifest of an instance that a broker has deployed, else a plain one.
fn templates(
    plans: &[SeedablePlan],
    pattern: &FleetPattern,
    director: &Director,
) -> Option<Vec<Template>> {
    let mut examples: BTreeMap<String, Template> = BTreeMap::new();
    for (name, content) in director.configs_of_type(operation_record::CONFIG_TYPE) {
        let Some(example) = operation_record::read(&name, &content) else {
            continue;
        };
        if let Some(manifest) = director.manifest(&example.deployment) {
            let template = Template::of(&example.deployment, &manifest, example.target);
            examples.insert(example.plan, template);
        }
    }
    plans
        .iter()
        .map(|plan| match examples.remove(&plan.catalog_id) {
            Some(example) => Some(example),
            None => Template::plain(pattern, &plan.name),
        })
        .collect()
}

fn spaces(order: &FleetOrder, cloud_controller: &CloudController) -> Vec<String> {
    let organizations = 1..=order.organizations;
    let spaces = organizations.flat_map(|organization| {
        (1..=order.spaces).map(move |space| {
            let name = format!("fleet-{organization}");
            cloud_controller.seed_space(&name, &format!("space-{space}"))
        })
    });
    spaces.map(|target| target.space.1).collect()
}

fn ordered(generated: &Generated, plans: &[SeedablePlan], spaces: &[String]) -> SeededInstance {
    let state = match generated.condition {
        Condition::Well => SeededState::Created,
        Condition::CreateFailed => SeededState::CreateFailed(failed("provisioning", generated)),
        Condition::UpdateFailed => SeededState::UpdateFailed(failed("update", generated)),
        Condition::DeleteFailed => SeededState::DeleteFailed(failed("deletion", generated)),
        Condition::Updating => SeededState::Updating("Instance update in progress".to_owned()),
    };
    SeededInstance {
        guid: generated.guid,
        name: generated.name.clone(),
        space: spaces[generated.space].clone(),
        plan: plans[generated.plan].guid.clone(),
        maintenance_version: None,
        state,
        created_at: moments(generated).ordered,
    }
}

/// A failed operation is placed half way between the creation and now.
fn moments(generated: &Generated) -> Moments {
    let now = Timestamp::now();
    let age = SignedDuration::try_from(generated.age).unwrap_or_default();
    let ago = |age| now.checked_sub(age).unwrap_or(now);
    Moments {
        ordered: ago(age),
        began: match generated.condition {
            Condition::Well | Condition::CreateFailed => ago(age),
            Condition::UpdateFailed | Condition::DeleteFailed => ago(age / 2),
            Condition::Updating => now,
        },
    }
}

fn failed(operation: &str, generated: &Generated) -> String {
    format!(
        "Instance {operation} failed: There was a problem completing your request. \
         Please contact your operations team providing the following information: \
         service-instance-guid: {}",
        generated.guid
    )
}

fn deployed(
    generated: &Generated,
    template: &Template,
    pattern: &FleetPattern,
) -> SeededDeployment {
    let has_failed = generated.condition == Condition::CreateFailed;
    template.deployment(&deployment_name(generated), has_failed, pattern)
}

fn deployment_name(generated: &Generated) -> String {
    format!("service-instance_{}", generated.guid)
}

/// The versions of an instance's operation record, the latest last.
fn recorded(
    generated: &Generated,
    plan: &SeedablePlan,
    template: &Template,
    pattern: &FleetPattern,
) -> Vec<SeededConfig> {
    let (offering, plan) = (&plan.offering_catalog_id, &plan.catalog_id);
    let records = operation_record::records(
        generated,
        offering,
        plan,
        template.target(),
        moments(generated),
    );
    let config = |content: Value| SeededConfig {
        kind: operation_record::CONFIG_TYPE.to_owned(),
        name: operation_record::config_name(generated),
        content: content.to_string(),
        team: pattern.team.clone(),
    };
    records.into_iter().map(config).collect()
}

fn report(fleet: &[Generated], plans: &[SeedablePlan], milliseconds: u64) -> FleetReport {
    let mut report = FleetReport {
        instances: fleet.len(),
        conditions: BTreeMap::new(),
        plans: BTreeMap::new(),
        milliseconds,
    };
    for generated in fleet {
        let condition = generated.condition.name().to_owned();
        *report.conditions.entry(condition).or_default() += 1;
        let plan = &plans[generated.plan];
        let plan = format!("{} {}", plan.offering, plan.name);
        *report.plans.entry(plan).or_default() += 1;
    }
    report
}

fn three() -> usize {
    3
}
