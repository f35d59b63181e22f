//! The values of the charts of an offer for one plan.

use std::rc::Rc;

use odb_api_types::finding::Location;
use serde_json::Value;

use crate::{
    findings::Findings,
    names::{self, Prefix},
    near,
    offer::{Offer, OfferedChart, Plan},
    package::descriptor::Scope,
    values::{
        Values,
        layer::{RenderedLayer, Renderer, Subject},
        merge,
    },
};

/// What an order is about, apart from offer and plan.
#[derive(Clone, Debug)]
pub struct Order {
    pub instance_id: String,
    pub organization: String,
    pub space: String,
    pub instance_name: String,
    pub cluster: String,
    pub prefix: Prefix,
}

impl Order {
    /// An order without a platform.
    pub fn example() -> Self {
        Self {
            instance_id: "00000000-0000-4000-8000-000000000000".to_owned(),
            organization: "example-organization".to_owned(),
            space: "example-space".to_owned(),
            instance_name: "example-instance".to_owned(),
            cluster: "default".to_owned(),
            prefix: Prefix::default(),
        }
    }
}

/// The operator's layers of one chart for one plan.
#[derive(Debug)]
pub struct ChartValues<'o> {
    pub chart: &'o OfferedChart,
    pub release: String,
    pub namespace: String,
    pub overrides: Option<RenderedLayer>,
    pub plan: Option<PlanPart>,
}

/// What a plan file has for one chart.
#[derive(Debug)]
pub struct PlanPart {
    pub values: Values,
    layer: Rc<RenderedLayer>,
    /// The keys that lead to the values in the file.
    inside: Vec<String>,
}

impl PlanPart {
    pub(crate) fn at(&self, path: &[&str]) -> Location {
        let whole: Vec<&str> = self
            .inside
            .iter()
            .map(String::as_str)
            .chain(path.iter().copied())
            .collect();
        self.layer.at(&whole)
    }
}

impl ChartValues<'_> {
    /// Overrides and plan, merged.
    pub fn merged(&self) -> Values {
        let overrides = self.overrides.as_ref().map(|layer| layer.values.clone());
        let mut values = overrides.unwrap_or_default();
        if let Some(plan) = &self.plan {
            merge(&mut values, &plan.values);
        }
        values
    }
}

/// Renders the layers of all charts. Charts whose layers have errors are left out.
pub fn of_plan<'o>(
    offer: &'o Offer,
    plan: &Plan,
    order: &Order,
    renderer: Renderer<'_>,
    findings: &mut Findings,
) -> Vec<ChartValues<'o>> {
    let subject = |chart: &OfferedChart| {
        let name = chart.chart.name();
        let (release, namespace) = match chart.scope {
            Scope::Namespace => (
                names::release(&order.instance_id, name),
                order.prefix.namespace(&order.instance_id),
            ),
            Scope::Cluster => (name.to_owned(), order.prefix.chart_namespace(name)),
        };
        Subject {
            instance_id: order.instance_id.clone(),
            release,
            namespace,
            offer: offer.name.clone(),
            plan: plan.name.clone(),
            organization: order.organization.clone(),
            space: order.space.clone(),
            instance_name: order.instance_name.clone(),
            cluster: plan
                .cluster
                .clone()
                .unwrap_or_else(|| order.cluster.clone()),
        }
    };
    let plan_layer = match &plan.values {
        Some(layer) => match layer.render_stably(renderer, &subject(offer.offered()), findings) {
            Some(layer) => Some(Rc::new(layer)),
            None => return Vec::new(),
        },
        None => None,
    };
    if let Some(layer) = &plan_layer {
        check_charts(offer, layer, findings);
    }
    let values = offer.charts.iter().filter_map(|chart| {
        let subject = subject(chart);
        let overrides = match &chart.overrides {
            Some(layer) => Some(layer.render_stably(renderer, &subject, findings)?),
            None => None,
        };
        let part = plan_layer
            .as_ref()
            .and_then(|layer| part(offer, chart, layer));
        Some(ChartValues {
            chart,
            release: subject.release,
            namespace: subject.namespace,
            overrides,
            plan: part,
        })
    });
    values.collect()
}

/// With several charts, `charts.NAME` of a plan file has the values of another chart than the offered one.
fn part(offer: &Offer, chart: &OfferedChart, layer: &Rc<RenderedLayer>) -> Option<PlanPart> {
    let has_several = offer.charts.len() > 1;
    let (values, inside) = if chart.is_offered {
        let mut values = layer.values.clone();
        if has_several {
            values.remove("charts");
        }
        (values, Vec::new())
    } else {
        let charts = layer.values.get("charts")?.as_object()?;
        let values = charts.get(chart.chart.name())?.as_object()?.clone();
        (
            values,
            vec!["charts".to_owned(), chart.chart.name().to_owned()],
        )
    };
    Some(PlanPart {
        values,
        layer: Rc::clone(layer),
        inside,
    })
}

fn check_charts(offer: &Offer, layer: &RenderedLayer, findings: &mut Findings) {
    if offer.charts.len() < 2 {
        return;
    }
    let others = offer.charts.iter().filter(|chart| !chart.is_offered);
    let known: Vec<&str> = others.map(|chart| chart.chart.name()).collect();
    match layer.values.get("charts") {
        None => {}
        Some(Value::Object(charts)) => {
            for (name, values) in charts {
                let key = format!("charts.{name}");
                let at = layer.at(&["charts", name]);
                if !known.contains(&name.as_str()) {
                    let found = format!("`{key}` is no other chart of this offer");
                    findings.error(at, Some(&key), found, near::remedy(name, &known));
                } else if !values.is_object() {
                    findings.error(at, Some(&key), format!("`{key}` is not a map"), "");
                }
            }
        }
        Some(_) => {
            let found = "`charts` is not a map of the offer's other charts";
            findings.error(layer.at(&["charts"]), Some("charts"), found, "");
        }
    }
}
