//! The check of an offer: the rules 1 to 8 by reading it, 9 and 10 by rendering each plan.

use std::path::Path;

use odb_api_types::finding::Location;

use crate::{
    chart::Chart,
    findings::Findings,
    helm::{Class, Helm, HelmError, HelmFailure, Rendering},
    near,
    offer::{Offer, Plan},
    package::Package,
    plan_values::{self, ChartValues, Order},
    values::{Kinds, Values, changes_of_kind, effective, large_integers, layer::Renderer, paths},
};

/// How an offer is checked.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// None leaves out what needs it.
    pub helm: Option<Helm>,
    /// The version of Kubernetes that templates see; helm's own if there is none.
    pub kube_version: Option<String>,
    /// The registered clusters, where they are known.
    pub clusters: Option<Vec<String>>,
}

/// Reads a package and its charts from the disk, and checks all of it. None when no offer can be made of them.
pub fn open(
    folder: &Path,
    charts: &[impl AsRef<Path>],
    options: &Options,
    findings: &mut Findings,
) -> Option<Offer> {
    let package = Package::open(folder, findings)?;
    let before = findings.errors();
    let packed = package
        .charts()
        .filter_map(|(name, bytes)| Chart::read(&name, bytes, findings));
    let mut all: Vec<Chart> = packed.collect();
    all.extend(
        charts
            .iter()
            .filter_map(|path| Chart::open(path.as_ref(), findings)),
    );
    let is_complete = findings.errors() == before;
    let mut own = Findings::default();
    let offer = Offer::read(&package, all, options.clusters.as_deref(), &mut own);
    if !is_complete {
        // A chart that is refused is missing in the offer.
        own.retain(|finding| {
            finding
                .key
                .as_deref()
                .is_none_or(|key| !key.starts_with("charts"))
        });
    }
    findings.extend(own);
    offer.filter(|_| is_complete)
}

/// Renders every plan, and reports what does not work. For an offer without other errors.
pub fn render_plans(offer: &Offer, options: &Options, findings: &mut Findings) {
    let renderer = Renderer {
        helm: options.helm.as_ref(),
        kube_version: options.kube_version.as_deref(),
    };
    for plan in &offer.plans {
        let order = Order::example();
        for values in plan_values::of_plan(offer, plan, &order, renderer, findings) {
            check_layers(&values, findings);
            let before = findings.errors();
            check_schema(plan, &values, findings);
            if findings.errors() == before
                && let Some(helm) = renderer.helm
            {
                check_manifests(helm, plan, &values, renderer.kube_version, findings);
            }
        }
    }
}

/// What the author's layers change in a way that is rarely meant.
fn check_layers(chart: &ChartValues<'_>, findings: &mut Findings) {
    let defaults = &chart.chart.chart.defaults;
    if let Some(layer) = &chart.overrides {
        check_layer(defaults, &layer.values, |path| layer.at(path), findings);
    }
    if let Some(part) = &chart.plan {
        check_layer(defaults, &part.values, |path| part.at(path), findings);
    }
}

fn check_layer(
    defaults: &Values,
    layer: &Values,
    at: impl Fn(&[&str]) -> Location,
    findings: &mut Findings,
) {
    changes_of_kind(defaults, layer, &mut |path, kinds| {
        let key = path.join(".");
        let found = match kinds {
            Kinds::MapBy(kind) => format!("`{key}` is a map in the chart, here it is {kind}"),
            Kinds::ByMap(kind) => format!("`{key}` is {kind} in the chart, here it is a map"),
        };
        findings.warning(at(path), Some(&key), found, "keep the chart's kind");
    });
    for (key, number) in large_integers(layer) {
        let path: Vec<&str> = key.split('.').collect();
        let found = format!("`{key}` is {number}, which a template prints with an exponent");
        let remedy = "quote it, unless the chart uses `int64` or `toString`";
        findings.warning(at(&path), Some(&key), found, remedy);
    }
    unknown_keys(defaults, layer, &mut Vec::new(), &at, findings);
}

/// Keys that no default of the chart has. Below the first level, only those that are near a known one: many maps are open.
fn unknown_keys<'v>(
    defaults: &Values,
    layer: &'v Values,
    path: &mut Vec<&'v str>,
    at: &impl Fn(&[&str]) -> Location,
    findings: &mut Findings,
) {
    for (key, value) in layer {
        let known = || defaults.keys().map(String::as_str);
        path.push(key);
        match (defaults.get(key), value) {
            (Some(serde_json::Value::Object(defaults)), serde_json::Value::Object(layer)) => {
                unknown_keys(defaults, layer, path, at, findings);
            }
            (Some(_), _) => {}
            (None, _) => {
                let meant = near::nearest(key, known());
                if meant.is_some() || (path.len() == 1 && !defaults.is_empty() && key != "global") {
                    let whole = path.join(".");
                    let found = format!("`{whole}` has no default in the chart");
                    let remedy = match meant {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => "check the chart's documentation".to_owned(),
                    };
                    findings.warning(at(path), Some(&whole), found, remedy);
                }
            }
        }
        path.pop();
    }
}

fn check_schema(plan: &Plan, chart: &ChartValues<'_>, findings: &mut Findings) {
    let Some(schema) = &chart.chart.chart.schema else {
        return;
    };
    let values = effective(&chart.chart.chart.defaults, &chart.merged());
    for violation in schema.violations(&values) {
        let path: Vec<&str> = violation.path.iter().map(String::as_str).collect();
        let key = path.join(".");
        let is_kind = violation.text.contains("must be of type");
        let given = paths::at(&values, &path)
            .filter(|_| is_kind)
            .map(crate::values::kind);
        let given = given
            .map(|kind| format!(", not {kind}"))
            .unwrap_or_default();
        let at = place(chart, &path);
        let found = format!("plan `{}`: {}{given}", plan.name, violation.text);
        findings.error(
            at,
            Some(&key),
            found,
            "see the chart's `values.schema.json`",
        );
    }
}

/// Where a value is set: in the plan, in the overrides, or in the chart.
fn place(chart: &ChartValues<'_>, path: &[&str]) -> Location {
    let sets =
        |values: &Values| (1..=path.len()).any(|end| paths::at(values, &path[..end]).is_some());
    if let Some(part) = chart.plan.as_ref().filter(|part| sets(&part.values)) {
        return part.at(path);
    }
    if let Some(layer) = chart.overrides.as_ref().filter(|layer| sets(&layer.values)) {
        return layer.at(path);
    }
    Location::file(format!("{}/values.yaml", chart.chart.chart.origin))
}

fn check_manifests(
    helm: &Helm,
    plan: &Plan,
    values: &ChartValues<'_>,
    kube_version: Option<&str>,
    findings: &mut Findings,
) {
    let chart = &values.chart.chart;
    let rendering = Rendering {
        release: &values.release,
        namespace: &values.namespace,
        kube_version,
    };
    let Err(error) = helm.template(chart, &values.merged(), rendering) else {
        return;
    };
    let (at, reason, remedy) = match &error {
        HelmError::Failed(HelmFailure { class, text, place }) => {
            let at = match place {
                Some(place) => chart.at(
                    &place.file,
                    place.line,
                    place.column.map(|column| column + 1),
                ),
                None => Location::file(&chart.origin),
            };
            let remedy = match class {
                Class::Refused => "set what the chart asks for in `overrides/` or in the plan",
                Class::KubeVersion => "give the version of your clusters with `--kube-version`",
                _ => "correct the values, or the chart",
            };
            (at, text.clone(), remedy)
        }
        other => (
            Location::file(&chart.origin),
            other.to_string(),
            "try again, or make the chart smaller",
        ),
    };
    let found = format!(
        "plan `{}`: the chart `{}` cannot be rendered: {reason}",
        plan.name,
        chart.name()
    );
    findings.error(at, None, found, remedy);
}
