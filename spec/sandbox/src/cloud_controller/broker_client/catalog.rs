//! A broker's catalog, and what a Cloud Controller takes of it (`spec/contracts/osb-api.md`, "What CF checks in a catalog").

mod members;
mod problems;

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};

use self::{members::Members, problems::Problems};
use super::answer::{BrokerFailure, RawAnswer};
use crate::cloud_controller::model::{Feature, MaintenanceInfo};

const TAGS_LIMIT: usize = 2_048;
const PERMISSIONS: [&str; 3] = ["syslog_drain", "route_forwarding", "volume_mount"];

/// A catalog in which everything is as it must be.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) services: Vec<CatalogService>,
}

#[derive(Debug)]
pub(crate) struct CatalogService {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) features: BTreeSet<Feature>,
    pub(crate) tags: Vec<String>,
    pub(crate) requires: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) plans: Vec<CatalogPlan>,
}

#[derive(Debug)]
pub(crate) struct CatalogPlan {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) free: bool,
    pub(crate) bindable: Option<bool>,
    pub(crate) updateable: Option<bool>,
    pub(crate) maximum_polling_duration: Option<Duration>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) schemas: Value,
    pub(crate) metadata: Map<String, Value>,
}

impl Catalog {
    pub(super) fn from_answer(answer: &RawAnswer) -> Result<Self, BrokerFailure> {
        match answer.status.as_u16() {
            200 => {}
            401 => {
                return Err(BrokerFailure::Authentication {
                    url: answer.url.clone(),
                });
            }
            408 => {
                return Err(BrokerFailure::Timeout {
                    url: answer.url.clone(),
                });
            }
            _ => return Err(answer.error()),
        }
        let object = answer.object().ok_or_else(|| answer.malformed())?;
        Self::checked(&object).map_err(|problems| BrokerFailure::InvalidCatalog {
            problems: problems.to_string(),
        })
    }

    /// Reads all of it before it judges: the operator gets every problem at once.
    fn checked(object: &Map<String, Value>) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let services: Vec<_> = objects(object, "services", &mut problems)
            .into_iter()
            .map(|service| read_service(service, &mut problems))
            .collect();
        if services.is_empty() {
            problems.say("Service broker must provide at least one service");
        }
        let every_plan = || services.iter().flat_map(|service| &service.plans);
        problems.refuse_repeats(
            "Service ids must be unique",
            services.iter().map(|service| &service.id),
        );
        problems.refuse_repeats(
            "Service names must be unique",
            services.iter().map(|service| &service.name),
        );
        problems.refuse_repeats("Plan ids must be unique", every_plan().map(|plan| &plan.id));
        if problems.are_none() {
            Ok(Self { services })
        } else {
            Err(problems)
        }
    }
}

fn read_service(object: &Map<String, Value>, problems: &mut Problems) -> CatalogService {
    let mut found = Problems::default();
    let mut members = Members {
        object,
        kind: "Service",
        problems: &mut found,
    };
    let mut service = CatalogService {
        id: members.required_text("id"),
        name: members.required_text("name"),
        description: members.description(),
        features: members.features(),
        tags: members.texts("tags"),
        requires: members.texts("requires"),
        metadata: members.object("metadata"),
        plans: Vec::new(),
    };
    members.dashboard_client();
    if service.tags.iter().map(String::len).sum::<usize>() > TAGS_LIMIT {
        found.say(format_args!(
            "Service tags must be {TAGS_LIMIT} characters or less in all"
        ));
    }
    for unknown in service
        .requires
        .iter()
        .filter(|permission| !PERMISSIONS.contains(&permission.as_str()))
    {
        found.say(format_args!(
            "Service requires an unknown permission: '{unknown}'"
        ));
    }
    let plans = objects(object, "plans", &mut found);
    service.plans = plans
        .into_iter()
        .map(|plan| read_plan(plan, &mut found))
        .collect();
    if service.plans.is_empty() {
        found.say("At least one plan is required");
    }
    found.refuse_repeats(
        "Plan names must be unique within a service",
        service.plans.iter().map(|plan| &plan.name),
    );
    problems.below(&format!("Service {}", service.name), &found);
    service
}

fn read_plan(object: &Map<String, Value>, problems: &mut Problems) -> CatalogPlan {
    let mut found = Problems::default();
    let mut members = Members {
        object,
        kind: "Plan",
        problems: &mut found,
    };
    let plan = CatalogPlan {
        id: members.required_text("id"),
        name: members.required_text("name"),
        description: members.description(),
        free: members.flag("free").unwrap_or(true),
        bindable: members.flag("bindable"),
        updateable: members.flag("plan_updateable"),
        maximum_polling_duration: members.seconds("maximum_polling_duration"),
        maintenance_info: members.maintenance_info(),
        schemas: members.schemas(),
        metadata: members.object("metadata"),
    };
    problems.below(&format!("Plan {}", plan.name), &found);
    plan
}

fn objects<'a>(
    object: &'a Map<String, Value>,
    key: &str,
    problems: &mut Problems,
) -> Vec<&'a Map<String, Value>> {
    let items = match object.get(key) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            problems.say(format_args!("'{key}' must be an array"));
            return Vec::new();
        }
    };
    let found: Vec<_> = items.iter().filter_map(Value::as_object).collect();
    if found.len() < items.len() {
        problems.say(format_args!("'{key}' must hold objects only"));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(catalog: &Value) -> String {
        Catalog::checked(catalog.as_object().unwrap())
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn every_problem_is_told_at_once_by_service_and_plan() {
        let catalog = json!({"services": [{
            "id": "redis", "name": "p.redis", "description": "Redis", "bindable": "yes", "requires": ["root"],
            "plans": [
                {"id": "a", "name": "small", "description": "", "maintenance_info": {"version": "1", "public": {}}},
                {"id": "a", "name": "small", "description": "x", "schemas": {"service_instance": {"create": {
                    "parameters": {"properties": {"x": {"$ref": "http://elsewhere"}}}}}}},
            ],
        }, {"id": "empty", "name": "empty", "description": "x", "bindable": true}]});

        insta::assert_snapshot!(problems(&catalog), @r"
        Service p.redis
          Service bindable must be a boolean
          Service requires an unknown permission: 'root'
          Plan small
            Plan description must not be blank
            Plan maintenance_info contains an invalid key: 'public'
            Plan maintenance_info version must be a semantic version
          Plan small
            Plan schema service_instance.create.parameters must not have external references
          Plan names must be unique within a service: 'small' is there twice
        Service empty
          At least one plan is required
        Plan ids must be unique: 'a' is there twice
        ");
    }

    #[test]
    fn a_catalog_without_services_is_refused() {
        assert_eq!(
            problems(&json!({"services": []})),
            "Service broker must provide at least one service"
        );
        assert_eq!(
            problems(&json!({})),
            "Service broker must provide at least one service"
        );
    }
}
