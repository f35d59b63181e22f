//! `manifests/monitoring/alerts.yml`: rules that can come true, and `docs/operators/monitor.md`: what to do then.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use odb_adapter_sdk::yaml;
use serde_json::Value;

use super::{project_file, rows};

/// The labels that Prometheus adds to every target.
const OF_EVERY_TARGET: [&str; 2] = ["instance", "job"];

#[test]
fn every_alert_asks_for_metrics_and_labels_that_there_are_and_says_what_it_means() {
    let metrics = metrics();
    let alerts = alerts();
    assert!(alerts.len() > 8, "the alerts are not found");
    for alert in &alerts {
        let name = alert["alert"].as_str().expect("an alert has a name");
        let expression = alert["expr"].as_str().expect("an alert has an expression");
        let asked: BTreeSet<&str> = words(expression)
            .filter(|word| word.starts_with("odb_") || word.starts_with("process_"))
            .collect();
        let is_of_prometheus = words(expression).any(|word| word == "up");
        assert!(!asked.is_empty() || is_of_prometheus, "{name} asks nothing");
        let mut labels: BTreeSet<&str> = OF_EVERY_TARGET.into();
        for metric in asked {
            let known = metrics.get(metric);
            let known = known.unwrap_or_else(|| panic!("{name}: there is no `{metric}`"));
            labels.extend(known.iter().map(String::as_str));
        }
        let chosen = expression.split('{').skip(1).filter_map(|rest| {
            let matchers = rest.split_once('}')?.0;
            matchers.split(['=', '!']).next()
        });
        for label in chosen {
            assert!(
                labels.contains(label.trim()),
                "{name}: there is no `{label}`"
            );
        }
        for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
            let count = |wanted| expression.matches(wanted).count();
            assert_eq!(count(open), count(close), "{name}: {expression}");
        }
        // An aggregation keeps only the labels that it groups by.
        let kept = expression
            .split_once("by (")
            .and_then(|(_, rest)| rest.split_once(')'));
        if let Some((kept, _)) = kept {
            labels = kept.split(',').map(str::trim).collect();
        }
        for text in ["summary", "description"] {
            let text = alert["annotations"][text].as_str();
            let text = text.unwrap_or_else(|| panic!("{name} has no text"));
            for rest in text.split("$labels.").skip(1) {
                let label = words(rest).next().unwrap_or_default();
                assert!(labels.contains(label), "{name}: there is no `{label}`");
            }
        }
        let severity = alert["labels"]["severity"].as_str();
        assert!(
            matches!(severity, Some("critical" | "warning" | "info")),
            "{name}"
        );
    }
}

/// By Prometheus itself: `alerts_test.yml` has what fires when.
#[test]
fn alerts_fire_when_they_say_and_not_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/monitoring");
    let output = Command::new("promtool")
        .args(["test", "rules", "alerts_test.yml"])
        .current_dir(folder)
        .output()
        .expect("promtool is there: Debian has it in the package `prometheus`");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    // Without files or tests it succeeds as well.
    assert!(said.contains("SUCCESS"), "{said}");
}

#[test]
fn the_chapter_has_what_to_do_about_every_alert() {
    let chapter = project_file("docs/operators/monitor.md");
    let reported: Vec<&str> = rows(&chapter, |cell| cell.starts_with("`OnDemandBroker"))
        .into_iter()
        .map(|cells| cells[0].trim_matches('`'))
        .collect();
    let alerts = alerts();
    let names: Vec<&str> = alerts
        .iter()
        .filter_map(|alert| alert["alert"].as_str())
        .collect();
    assert_eq!(reported, names);
}

fn alerts() -> Vec<Value> {
    let file: Value = yaml::from_str(&project_file("manifests/monitoring/alerts.yml"))
        .expect("it is a file of rules");
    let groups = file["groups"].as_array().expect("it has groups");
    let rules = groups.iter().filter_map(|group| group["rules"].as_array());
    rules.flatten().cloned().collect()
}

/// The labels of each metric of the guide, which has every metric that there is (`metrics`).
pub(super) fn metrics() -> BTreeMap<String, Vec<String>> {
    let document = project_file("docs/operators/reference/metrics.md");
    let listed = rows(&document, |cell| cell.starts_with('`'));
    let listed = listed.into_iter().map(|cells| {
        let labels = cells[2].split(", ");
        let labels = labels.map(|label| label.trim_matches('`').to_owned());
        (cells[0].trim_matches('`').to_owned(), labels.collect())
    });
    listed.collect()
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}
