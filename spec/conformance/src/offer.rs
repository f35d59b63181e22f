//! The broker's offering, and the ordered part of it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Objection;

#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) service: Service,
    pub(super) plan: Plan,
    /// Another plan of the same offering, to move to.
    pub(super) other_plan: Option<Plan>,
    pub(super) foreign_plan: Option<String>,
}

/// Which offering and plans the caller wants, by name; else the first that there are.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub service: Option<String>,
    pub plan: Option<String>,
    pub other_plan: Option<String>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "these are what the catalog announces"
)]
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Service {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) bindable: bool,
    #[serde(default)]
    pub(super) instances_retrievable: bool,
    #[serde(default)]
    pub(super) bindings_retrievable: bool,
    #[serde(default)]
    pub(super) allow_context_updates: bool,
    #[serde(default)]
    pub(super) plan_updateable: bool,
    #[serde(default)]
    pub(super) requires: Vec<String>,
    pub(super) plans: Vec<Plan>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Plan {
    pub(super) id: String,
    pub(super) name: String,
    bindable: Option<bool>,
    #[serde(rename = "plan_updateable")]
    updateable: Option<bool>,
    #[serde(default)]
    pub(super) schemas: Value,
    pub(super) maintenance_info: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Catalog {
    services: Vec<Service>,
}

impl Offer {
    pub(super) fn choose(catalog: &Value, choice: &Choice) -> Result<Self, Objection> {
        let unusable =
            |why: String| Objection::not_shown(format!("the catalog cannot be used: {why}"));
        let catalog = Catalog::deserialize(catalog).map_err(|error| unusable(error.to_string()))?;
        let service = named(&catalog.services, choice.service.as_deref(), |it| &it.name)
            .ok_or_else(|| unusable(nothing_called("offering", choice.service.as_deref())))?;
        let plan = named(&service.plans, choice.plan.as_deref(), |it| &it.name)
            .ok_or_else(|| unusable(nothing_called("plan", choice.plan.as_deref())))?;
        let others: Vec<Plan> = service
            .plans
            .iter()
            .filter(|other| other.id != plan.id)
            .cloned()
            .collect();
        let other_plan = named(&others, choice.other_plan.as_deref(), |it| &it.name);
        if other_plan.is_none() && choice.other_plan.is_some() {
            return Err(unusable(nothing_called(
                "other plan",
                choice.other_plan.as_deref(),
            )));
        }
        let foreign_plan = catalog
            .services
            .iter()
            .filter(|other| other.id != service.id)
            .find_map(|other| other.plans.first())
            .map(|plan| plan.id.clone());
        Ok(Self {
            service: service.clone(),
            plan: plan.clone(),
            other_plan: other_plan.cloned(),
            foreign_plan,
        })
    }

    pub(super) fn is_bindable(&self) -> bool {
        self.plan.bindable.unwrap_or(self.service.bindable)
    }

    pub(super) fn can_be_left(&self) -> bool {
        self.plan.updateable.unwrap_or(self.service.plan_updateable)
    }

    pub(super) fn plan_called(&self, id: &str) -> Option<&Plan> {
        self.service.plans.iter().find(|plan| plan.id == id)
    }

    /// A plan of the offering that has a version of its maintenance.
    pub(super) fn plan_with_version(&self) -> Option<&Plan> {
        self.plans().find(|plan| plan.version().is_some())
    }

    pub(super) fn plan_without_version(&self) -> Option<&Plan> {
        self.plans().find(|plan| plan.version().is_none())
    }

    /// The plans of the offering, first the one that is ordered.
    fn plans(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(&self.plan).chain(&self.service.plans)
    }
}

impl Plan {
    pub(super) fn version(&self) -> Option<&str> {
        self.maintenance_info
            .as_ref()
            .and_then(|info| info.get("version"))
            .and_then(Value::as_str)
    }

    /// The schema of the parameters of a `service_instance` or `service_binding`.
    pub(super) fn schema(&self, resource: &str, action: &str) -> Option<&Value> {
        self.schemas
            .get(resource)?
            .get(action)?
            .get("parameters")
            .filter(|schema| schema.is_object())
    }

    /// Whether the parameters of a change fit the plan, according to its schema.
    pub(super) fn takes_change_with(&self, parameters: &Value) -> bool {
        self.schema("service_instance", "update")
            .is_none_or(|schema| {
                // A schema that is none refuses nothing; another check looks at it.
                jsonschema::validator_for(schema)
                    .map_or(true, |validator| validator.is_valid(parameters))
            })
    }
}

fn named<'t, T>(all: &'t [T], wanted: Option<&str>, name: impl Fn(&T) -> &String) -> Option<&'t T> {
    match wanted {
        Some(wanted) => all.iter().find(|one| name(one) == wanted),
        None => all.first(),
    }
}

fn nothing_called(what: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("there is no {what} called `{name}`"),
        None => format!("there is no {what}"),
    }
}
