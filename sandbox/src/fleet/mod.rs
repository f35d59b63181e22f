//! Fleets: thousands of service instances that nobody ordered, as a broker would have left them in the Cloud Controller
//! and in the Director, to measure and to test with.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `draw` | which instances there are, and what has become of them |
//! | `manifest` | the manifests of their deployments |
//! | `marker` | what an on-demand broker remembers of them |

mod draw;
mod manifest;
mod marker;

use std::{collections::BTreeMap, time::Instant};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::manifest::FleetPattern;
use self::{
    draw::{Condition, Drawn, draw},
    manifest::Template,
    marker::Moments,
};
use crate::{
    cloud_controller::{CloudController, SeedError, SeedablePlan, SeededInstance, SeededState},
    director::{AdoptError, Director, SeededConfig, SeededDeployment},
};

/// The most instances that are seeded at once.
const LIMIT: usize = 100_000;

/// What is to be seeded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetOrder {
    /// The name of the broker, which must be registered. Its available plans are ordered from.
    pub broker: String,
    /// How many service instances.
    pub instances: usize,
    /// The same number draws the same fleet.
    pub random_seed: u64,
    /// How many organizations they are in.
    #[serde(default = "three")]
    pub organizations: usize,
    /// How many spaces each of these has.
    #[serde(default = "three")]
    pub spaces: usize,
}

/// What was seeded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FleetReport {
    /// How many service instances.
    pub instances: usize,
    /// How many of them are in which condition.
    pub conditions: BTreeMap<String, usize>,
    /// How many of them are on which plan, by the names of offering and plan.
    pub plans: BTreeMap<String, usize>,
    /// How long it took.
    pub milliseconds: u64,
}

/// No fleet was seeded, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The order is out of bounds.
    #[error(
        "a fleet has 1 to {LIMIT} instances, in at least one organization with at least one space"
    )]
    Bounds,
    /// There is nothing to order.
    #[error("there is no service broker `{0}` with plans; register it first")]
    NoPlans(String),
    /// The foundation's configuration has nothing to deploy.
    #[error("the Director has no release or no stemcell")]
    NoRelease,
    /// The Cloud Controller has instances like that. Nothing was seeded.
    #[error("the Cloud Controller does not take the fleet; another random seed draws another one")]
    CloudController(#[source] SeedError),
    /// The Director could not take on a deployment.
    #[error("the Director has taken on {adopted} deployments and no more")]
    Director {
        /// How many it has.
        adopted: usize,
        /// Why it has no more.
        #[source]
        source: AdoptError,
    },
}

/// Seeds a fleet in both, so that they tell the same story.
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
    let fleet = draw(
        order.random_seed,
        order.instances,
        plans.len(),
        spaces.len(),
    );
    let ordered = fleet.iter().map(|drawn| ordered(drawn, &plans, &spaces));
    cloud_controller
        .seed(ordered.collect())
        .map_err(FleetError::CloudController)?;
    for (adopted, drawn) in fleet.iter().enumerate() {
        let deployment = deployed(drawn, &templates[drawn.plan], pattern);
        let adopting = director.adopt(deployment).await;
        adopting.map_err(|source| FleetError::Director { adopted, source })?;
        let template = &templates[drawn.plan];
        for marker in remembered(drawn, &plans[drawn.plan], template, pattern) {
            director.seed_config(marker);
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
    for (name, content) in director.configs_of_type(marker::CONFIG_TYPE) {
        let Some(example) = marker::read(&name, &content) else {
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

/// The guids of the spaces.
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

fn ordered(drawn: &Drawn, plans: &[SeedablePlan], spaces: &[String]) -> SeededInstance {
    let state = match drawn.condition {
        Condition::Well => SeededState::Created,
        Condition::CreateFailed => SeededState::CreateFailed(failed("provisioning", drawn)),
        Condition::UpdateFailed => SeededState::UpdateFailed(failed("update", drawn)),
        Condition::DeleteFailed => SeededState::DeleteFailed(failed("deletion", drawn)),
        Condition::Updating => SeededState::Updating("Instance update in progress".to_owned()),
    };
    SeededInstance {
        guid: drawn.guid,
        name: drawn.name.clone(),
        space: spaces[drawn.space].clone(),
        plan: plans[drawn.plan].guid.clone(),
        maintenance_version: None,
        state,
        created_at: moments(drawn).ordered,
    }
}

/// What has failed since has been tried half way from then to now.
fn moments(drawn: &Drawn) -> Moments {
    let now = Timestamp::now();
    let age = SignedDuration::try_from(drawn.age).unwrap_or_default();
    let ago = |age| now.checked_sub(age).unwrap_or(now);
    Moments {
        ordered: ago(age),
        began: match drawn.condition {
            Condition::Well | Condition::CreateFailed => ago(age),
            Condition::UpdateFailed | Condition::DeleteFailed => ago(age / 2),
            Condition::Updating => now,
        },
    }
}

fn failed(operation: &str, drawn: &Drawn) -> String {
    format!(
        "Instance {operation} failed: There was a problem completing your request. \
         Please contact your operations team providing the following information: \
         service-instance-guid: {}",
        drawn.guid
    )
}

fn deployed(drawn: &Drawn, template: &Template, pattern: &FleetPattern) -> SeededDeployment {
    let has_failed = drawn.condition == Condition::CreateFailed;
    template.deployment(&deployment_name(drawn), has_failed, pattern)
}

fn deployment_name(drawn: &Drawn) -> String {
    format!("service-instance_{}", drawn.guid)
}

/// The versions of an instance's marker, the latest last.
fn remembered(
    drawn: &Drawn,
    plan: &SeedablePlan,
    template: &Template,
    pattern: &FleetPattern,
) -> Vec<SeededConfig> {
    let (offering, plan) = (&plan.offering_catalog_id, &plan.catalog_id);
    let markers = marker::markers(drawn, offering, plan, template.target(), moments(drawn));
    let config = |content: Value| SeededConfig {
        kind: marker::CONFIG_TYPE.to_owned(),
        name: marker::config_name(drawn),
        content: content.to_string(),
        team: pattern.team.clone(),
    };
    markers.into_iter().map(config).collect()
}

fn report(fleet: &[Drawn], plans: &[SeedablePlan], milliseconds: u64) -> FleetReport {
    let mut report = FleetReport {
        instances: fleet.len(),
        conditions: BTreeMap::new(),
        plans: BTreeMap::new(),
        milliseconds,
    };
    for drawn in fleet {
        let condition = drawn.condition.name().to_owned();
        *report.conditions.entry(condition).or_default() += 1;
        let plan = &plans[drawn.plan];
        let plan = format!("{} {}", plan.offering, plan.name);
        *report.plans.entry(plan).or_default() += 1;
    }
    report
}

fn three() -> usize {
    3
}
