//! The parameters of changes: such that the plan accepts them, as far as is known.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Checked, Exchange, Session,
    asks::{with, without},
    offer::{Offer, Plan},
    result::applies,
};

impl Session {
    pub(super) fn change_parameters(&self) -> Value {
        let given = self.settings.update_parameters.clone();
        given.unwrap_or_else(|| json!({}))
    }

    /// The fewest parameters that a change to this plan can have.
    pub(super) fn fewest_parameters(&self, plan: Option<&Plan>) -> Value {
        let none = json!({});
        if plan.is_none_or(|plan| plan.takes_change_with(&none)) {
            none
        } else {
            self.change_parameters()
        }
    }

    /// A broker may reject wrong parameters before any other check. So a 400 proves nothing unless the parameters are
    /// known to be valid: by the plan's schema or, without one, by the caller.
    pub(super) async fn ensure_fitting_parameters(&self, answer: &Arc<Exchange>) -> Checked {
        if !answer.has_status(&[400]) {
            return Ok(());
        }
        let offer = self.offer().await?;
        let body = answer.request_body.as_deref().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let Some(parameters) = body.get("parameters") else {
            return Ok(());
        };
        let current = self.current_plan(offer);
        let plan = body["plan_id"].as_str().unwrap_or(&current);
        let plan = offer.plan_called(plan);
        let has_schema =
            plan.is_some_and(|plan| plan.schema("service_instance", "update").is_some());
        let fits = if has_schema {
            plan.is_none_or(|plan| plan.takes_change_with(parameters))
        } else {
            *parameters == json!({}) || Some(parameters) == self.settings.update_parameters.as_ref()
        };
        applies(
            fits,
            "the change was refused with 400, and no parameters are known that the plan takes: give --update-parameters",
        )
    }

    /// The answer to a change says that another operation is in its way.
    pub(super) async fn ensure_busy(&self, answer: &Arc<Exchange>) -> Checked {
        self.ensure_fitting_parameters(answer).await?;
        answer.expect_word("ConcurrencyError")
    }
}

/// Another change than this one: of the plan that is ordered, with parameters that it takes, if such can be found.
pub(super) fn other_change(offer: &Offer, change: &Value) -> Value {
    let (plan, given) = (&offer.plan, &change["parameters"]);
    let mut other = change.clone();
    other["plan_id"] = plan.id.as_str().into();
    other["parameters"] = other_parameters(plan, given).unwrap_or_else(|| {
        // To another plan with the same parameters is another change as well.
        let is_another = change["plan_id"] != other["plan_id"] && plan.takes_change_with(given);
        if is_another { given.clone() } else { unknown() }
    });
    let other = without(&other, "maintenance_info");
    match plan.version() {
        Some(version) => with(&other, "maintenance_info", json!({ "version": version })),
        None => other,
    }
}

fn unknown() -> Value {
    json!({ "odb_conformance": "other" })
}

fn other_parameters(plan: &Plan, given: &Value) -> Option<Value> {
    let Some(schema) = plan.schema("service_instance", "update") else {
        return Some(unknown());
    };
    variations(schema, given)
        .into_iter()
        .find(|other| other != given && plan.takes_change_with(other))
}

/// These parameters with one of them changed.
fn variations(schema: &Value, given: &Value) -> Vec<Value> {
    let mut variations = Vec::new();
    let Some(properties) = schema["properties"].as_object() else {
        return variations;
    };
    for (name, property) in properties {
        let listed = property["enum"].as_array().cloned().unwrap_or_default();
        let bounds = ["default", "minimum", "maximum"];
        let bounds = bounds
            .into_iter()
            .filter_map(|bound| property.get(bound).cloned());
        let usual = [
            json!(true),
            json!(false),
            json!(1),
            json!(2),
            json!("odb-conformance"),
        ];
        for value in listed.into_iter().chain(bounds).chain(usual) {
            let mut varied = given.clone();
            varied[name] = value;
            variations.push(varied);
        }
    }
    variations
}
