//! `plans.yaml`.

use std::collections::BTreeMap;

use odb_adapter_sdk::document::Node;
use odb_api_types::finding::Location;
use serde_json::{Map, Value};

use crate::{
    findings::Findings,
    section::{File, Found, Section},
};

use super::is_file_name;

pub(crate) const NAMES: &[&str] = &["plans.yaml", "plans.yml"];

const KEYS: &[&str] = &[
    "name",
    "description",
    "file",
    "clusterName",
    "resourceQuotaPath",
    "free",
    "bindable",
    "bullets",
    "plan-id",
    "quotas",
    "resource_costs",
    "maintenance_info",
    "schemas",
    "metadata",
];

/// Keys that are as in the plans of `broker.yml`.
const PASSED: &[&str] = &[
    "quotas",
    "resource_costs",
    "maintenance_info",
    "schemas",
    "metadata",
];

#[derive(Debug)]
pub(crate) struct PlanEntry {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) file: Option<Found<String>>,
    pub(crate) cluster: Option<Found<String>>,
    pub(crate) quota: Option<Found<String>>,
    pub(crate) free: bool,
    pub(crate) bindable: bool,
    pub(crate) bullets: Vec<String>,
    pub(crate) id: Option<String>,
    pub(crate) passed: Map<String, Value>,
}

pub(crate) fn read(file: &File, findings: &mut Findings) -> Vec<PlanEntry> {
    let root = &file.document.root;
    let items = match &root.value {
        Node::List(items) if !items.is_empty() => items,
        Node::List(_) | Node::Null => {
            let found = "the list of plans is empty";
            findings.error(file.at(root), None, found, "add a plan, or remove the file");
            return Vec::new();
        }
        other => {
            let found = format!("the file is {}; it must be a list of plans", other.kind());
            findings.error(
                file.at(root),
                None,
                found,
                "begin each plan with `- name: NAME`",
            );
            return Vec::new();
        }
    };
    let mut plans = Vec::new();
    let mut names: BTreeMap<String, Location> = BTreeMap::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(section) = file.section(item, format!("[{index}]"), findings) else {
            continue;
        };
        let Some(plan) = plan(&section, findings) else {
            continue;
        };
        if names.insert(plan.name.clone(), section.at()).is_some() {
            let key = section.path("name");
            let found = format!("there are two plans `{}`", plan.name);
            findings.error(section.at(), Some(&key), found, "give each its own name");
        }
        if let Some(file) = &plan.file
            && let Some(other) = files.insert(file.value.clone(), plan.name.clone())
        {
            let found = format!("the plans `{other}` and `{}` have the same file", plan.name);
            findings.warning(
                file.at.clone(),
                Some(&file.key),
                found,
                "users find no difference in them",
            );
        }
        plans.push(plan);
    }
    plans
}

fn plan(section: &Section<'_>, findings: &mut Findings) -> Option<PlanEntry> {
    if section.get("credentials").is_some() {
        let key = section.path("credentials");
        let found = format!("`{key}` does not belong into a package");
        let remedy = "name a registered cluster with `clusterName`";
        findings.error(section.at(), Some(&key), found, remedy);
    }
    let known: Vec<&str> = [KEYS, &["credentials"]].concat();
    section.only(&known, findings);
    let required = |key: &str, findings: &mut Findings| {
        let text = section
            .text(key, findings)
            .filter(|text| !text.value.trim().is_empty());
        if text.is_none() {
            let key = section.path(key);
            let found = format!("`{key}` is missing or empty");
            findings.error(section.at(), Some(&key), found, "platforms demand it");
        }
        text
    };
    let name = required("name", findings);
    if let Some(name) = &name
        && !is_plan_name(&name.value)
    {
        let found = format!("is `{}`, which is no name of a plan", name.value);
        let remedy = "use lower-case letters, digits, `-` and `.`, 63 characters at most";
        name.refuse(found, remedy, findings);
    }
    let description = required("description", findings);
    let file = file_in("file", "plans", section, findings);
    let quota = file_in("resourceQuotaPath", "resource-quotas", section, findings);
    let mut passed = Map::new();
    for key in PASSED {
        if let Some(node) = section.get(key) {
            passed.insert((*key).to_owned(), node.value.to_json());
        }
    }
    let bullets = section.texts("bullets", findings);
    Some(PlanEntry {
        file,
        quota,
        cluster: section.text("clusterName", findings),
        free: section.flag("free", findings).unwrap_or(true),
        bindable: section.flag("bindable", findings).unwrap_or(true),
        bullets: bullets.into_iter().map(|bullet| bullet.value).collect(),
        id: section.text("plan-id", findings).map(|id| id.value),
        passed,
        name: name?.value,
        description: description?.value,
    })
}

fn file_in(
    key: &str,
    folder: &str,
    section: &Section<'_>,
    findings: &mut Findings,
) -> Option<Found<String>> {
    section.text(key, findings).filter(|file| {
        let is_fine = is_file_name(&file.value);
        if !is_fine {
            let found = format!("is `{}`, not the name of a file in `{folder}/`", file.value);
            file.refuse(
                found,
                "put the file there and give its name alone",
                findings,
            );
        }
        is_fine
    })
}

fn is_plan_name(name: &str) -> bool {
    let is_letter = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '.' | '-');
    (1..=63).contains(&name.len()) && name.chars().all(is_letter)
}
