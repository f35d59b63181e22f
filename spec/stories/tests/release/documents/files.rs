//! Blocks that are files, or parts of some.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Output},
};

use odb_adapter_sdk::yaml;
use odb_stories::{Binaries, Document, Fence};
use serde_json::Value;
use tempfile::TempDir;

use super::fences::is_of_others;

/// The base for parts of a `broker.yml`.
const BROKER_FILE: &str = include_str!("files/broker.yml");

/// Every block of a kind, with its place.
pub(super) fn blocks(is_wanted: impl Fn(&Fence) -> bool) -> Vec<(String, Fence)> {
    let mut found = Vec::new();
    for document in Document::all() {
        for fence in document.fences() {
            if is_wanted(&fence) && !is_of_others(&document, &fence) {
                found.push((format!("{}:{}", document.path, fence.line), fence));
            }
        }
    }
    found
}

/// The content of a block of YAML; a comment alone has none.
pub(super) fn load(location: &str, fence: &Fence) -> Value {
    yaml::from_str(&fence.text).unwrap_or_else(|error| panic!("{location}: {error}"))
}

/// Puts a document over another one: maps are merged, everything else is replaced.
pub(super) fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (_, Value::Null) => {}
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// The output of `on-demand-broker check` for a configuration of another machine.
pub(super) fn check(folder: &TempDir, document: &Value) -> Output {
    let file = folder.path().join("broker.yml");
    // JSON is YAML.
    fs::write(&file, format!("{document:#}")).expect("the test made the folder");
    Command::new(Binaries::find().path("on-demand-broker"))
        .args(["check", "--elsewhere", "--config", "broker.yml"])
        .current_dir(folder.path())
        .output()
        .expect("it can be started")
}

#[test]
fn every_part_of_a_broker_yml_is_valid_over_a_small_one() {
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    let small: Value = yaml::from_str(BROKER_FILE).expect("it is a broker.yml");
    let parts = blocks(|fence| fence.information == "yaml broker.yml");
    assert!(!parts.is_empty(), "the parts are not found");
    for (location, fence) in parts {
        let mut document = small.clone();
        lay_over(&mut document, &load(&location, &fence));
        let checked = check(&folder, &document);
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success(), "{location}: {said}");
        assert!(!said.contains(": warning: "), "{location}: {said}");
    }
}

#[test]
fn every_block_of_json_is_json() {
    for (location, fence) in blocks(|fence| fence.information == "json") {
        let lines = fence.text.lines().filter(|line| !line.is_empty());
        let is_document = serde_json::from_str::<Value>(&fence.text);
        if let Err(error) = is_document {
            // Lines of a log are a document each.
            for line in lines {
                let line = serde_json::from_str::<Value>(line);
                assert!(line.is_ok(), "{location}: {error}");
            }
        }
    }
}

/// Configurations of others: YAML without a key twice, and with the keys that say what it is.
#[test]
fn every_configuration_of_an_upstream_is_loaded() {
    let metrics = metrics();
    for (location, fence) in blocks(|fence| fence.language() == "yaml") {
        let wanted: &[&str] = match fence.information.as_str() {
            "yaml prometheus" => &["scrape_configs", "groups"],
            "yaml director" => &["properties", "instance_groups", "variables"],
            "yaml cloud-config" => &["azs", "networks", "vm_types", "vm_extensions", "disk_types"],
            "yaml variables" => &["variables"],
            _ => continue,
        };
        let document = load(&location, &fence);
        let has_one = wanted.iter().any(|key| !document[*key].is_null());
        assert!(has_one, "{location}: there is none of {wanted:?}");
        let named = words(&fence.text).filter(|word| word.starts_with("odb_"));
        for name in named {
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name);
            let is_known = metrics.contains(name) || metrics.contains(family);
            assert!(is_known, "{location}: there is no metric `{name}`");
        }
    }
}

/// The metrics that the broker's own page lists.
fn metrics() -> BTreeSet<String> {
    let page = Document::open("docs/operators/reference/metrics.md");
    let code = page.code().into_iter().map(|(_, code)| code);
    code.filter(|code| code.starts_with("odb_")).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}
