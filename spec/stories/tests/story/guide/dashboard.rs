//! `manifests/monitoring/dashboard.json`: panels that show metrics that there are.
//!
//! `scripts/lib/dashboard.py` compares the form with the types of Grafana.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::{Value, json};

use super::{
    alerts::{metrics, words},
    project_file,
};

/// Parts of a histogram.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

fn panels() -> Vec<Value> {
    let file = project_file("manifests/monitoring/dashboard.json");
    let file: Value = serde_json::from_str(&file).expect("it is JSON");
    let panels = file["panels"].as_array().expect("it has panels").clone();
    assert!(panels.len() > 20, "the panels are not found");
    panels
}

fn expressions(panel: &Value) -> Vec<&str> {
    let targets = panel["targets"].as_array().into_iter().flatten();
    targets
        .map(|target| target["expr"].as_str().expect("a target has an expression"))
        .collect()
}

#[test]
fn every_panel_shows_metrics_that_there_are_and_says_what_it_means() {
    let metrics = metrics();
    let mut shown = BTreeSet::new();
    for panel in panels() {
        let title = panel["title"].as_str().expect("a panel has a title");
        if panel["type"] == "row" {
            continue;
        }
        let description = panel["description"].as_str();
        assert!(description.is_some_and(|text| text.len() > 5), "{title}");
        let expressions = expressions(&panel);
        assert!(!expressions.is_empty(), "{title} shows nothing");
        for expression in expressions {
            let of_us = |word: &&str| word.starts_with("odb_") || word.starts_with("process_");
            for word in words(expression).filter(of_us) {
                let name = SUFFIXES.iter().find_map(|suffix| word.strip_suffix(suffix));
                let name = name
                    .filter(|name| metrics.contains_key(*name))
                    .unwrap_or(word);
                assert!(metrics.contains_key(name), "{title}: there is no `{name}`");
                shown.insert(name.to_owned());
            }
        }
    }
    assert!(shown.len() > 15, "{shown:?}");
}

#[test]
fn prometheus_understands_every_expression() {
    let panels = panels();
    let rules: Vec<Value> = panels
        .iter()
        .flat_map(|panel| expressions(panel))
        .enumerate()
        .map(|(number, expression)| {
            // As Grafana replaces the variable.
            let expression = expression.replace("$instance", ".*");
            json!({ "record": format!("panel_{number}"), "expr": expression })
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("panels.yml");
    let document = json!({ "groups": [{ "name": "panels", "rules": rules }] });
    fs::write(&file, document.to_string()).unwrap();
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&file)
        .output()
        .expect("promtool is there: Debian has it in the package `prometheus`");
    let output = [checked.stdout, checked.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    assert!(checked.status.success(), "{output}");
    assert!(
        output.contains(&format!("{} rules found", rules.len())),
        "{output}"
    );
}

#[test]
fn no_panel_covers_another_one() {
    let panels = panels();
    let mut covered = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in &panels {
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
        let at = |name: &str| panel["gridPos"][name].as_u64().expect("it has a place");
        assert!(at("x") + at("w") <= 24, "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(covered.insert((x, y)), "{panel}");
            }
        }
    }
}
