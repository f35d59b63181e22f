//! The page of the jobs' properties (`docs/operators/reference/properties.md`), made of the specifications of the
//! release.

use std::fmt::Write;

use serde_json::Value;

use crate::release::Jobs;

const PREFACE: &str = "\
# Properties of the BOSH jobs

A property of the job `broker` sets the [key](configuration.md) of `broker.yml` with the same name; keys of the section `broker`
have no prefix. The table lists only those with another name, or with a default other than false and empty. The specifications in
`release/jobs` have an example of each property. **New**: the Go release does not have the property. A Director silently drops
undeclared properties.
";

/// Properties of job `broker` with another name in `broker.yml`. A property outside of these sections belongs to
/// `broker`.
const OTHERWISE: [(&str, &str); 8] = [
    ("tls.certificate", "broker.tls.cert_file"),
    ("tls.private_key", "broker.tls.key_file"),
    (
        "bosh.authentication.uaa.client_id",
        "bosh.authentication.uaa.client_credentials.client_id",
    ),
    (
        "bosh.authentication.uaa.client_secret",
        "bosh.authentication.uaa.client_credentials.client_secret",
    ),
    ("secure_binding_credentials.enabled", "credhub.api_url"),
    (
        "secure_binding_credentials.authentication.uaa.client_id",
        "credhub.client_id",
    ),
    (
        "secure_binding_credentials.authentication.uaa.client_secret",
        "credhub.client_secret",
    ),
    (
        "secure_binding_credentials.authentication.uaa.ca_cert",
        "credhub.internal_uaa_ca_cert",
    ),
];

/// Properties of job `broker` that are no key of the file: other files of the job are made of them, or other keys.
const NO_KEYS: [&str; 6] = [
    "cf.authentication",
    "environment",
    "log_filter",
    "metrics.prom_scraper.",
    "service_deployment.stemcell.",
    "service_catalog.global_quotas.resource_limits",
];

/// The sections of `broker.yml` beside `broker`.
const SECTIONS: [&str; 8] = [
    "bosh",
    "bosh_credhub",
    "cf",
    "service_adapter",
    "service_catalog",
    "service_deployment",
    "service_instances_api",
    "ui",
];

pub fn properties_page() -> String {
    let jobs = Jobs::of_project();
    let mut names = jobs.names();
    // The job that most readers look for comes first.
    names.sort_by_key(|name| (name != "broker", name.clone()));
    let mut page = PREFACE.to_owned();
    let mut tables: Vec<(String, String)> = Vec::new();
    for name in names {
        let specification = jobs.specification(&name);
        let description = one_line(&specification["description"]);
        let links = links(&specification);
        add(&mut page, &format!("\n## {name}\n\n{description}{links}\n"));
        let Some(properties) = specification["properties"]
            .as_object()
            .filter(|properties| !properties.is_empty())
        else {
            continue;
        };
        let is_broker = name == "broker";
        let mut rows = String::new();
        for (property, declared) in properties {
            let default = match &declared["default"] {
                Value::Null => String::new(),
                value => format!("`{value}`"),
            };
            let meaning = match key(property).filter(|_| is_broker) {
                Some(key) if is_empty(&declared["default"]) && has_its_name(property, &key) => {
                    continue;
                }
                Some(key) => format!("[`{key}`](configuration.md#{key})"),
                None => meaning(declared),
            };
            add(
                &mut rows,
                &format!("`{property}` | {default} | {meaning}\n"),
            );
        }
        let same = tables.iter().find(|(_, table)| *table == rows);
        if let Some((first, _)) = same {
            add(
                &mut page,
                &format!("\nProperties as those of [{first}](#{first}).\n"),
            );
            continue;
        }
        add(&mut page, "\nproperty | default | meaning\n---|---|---\n");
        page.push_str(&rows);
        tables.push((name.clone(), rows));
    }
    page
}

fn add(page: &mut String, text: &str) {
    page.write_str(text).expect("a text takes everything");
}

/// Whether a default is none, false or empty.
fn is_empty(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) => false,
    }
}

/// Whether a property has the name of its key; keys of the section `broker` have no prefix.
fn has_its_name(property: &str, key: &str) -> bool {
    key.strip_prefix("broker.").unwrap_or(key) == property
}

/// The key of `broker.yml` that a property of job `broker` becomes.
fn key(property: &str) -> Option<String> {
    if NO_KEYS.iter().any(|none| property.starts_with(none)) {
        return None;
    }
    if let Some((_, key)) = OTHERWISE.iter().find(|(name, _)| *name == property) {
        return Some((*key).to_owned());
    }
    let property = property.replace("bosh_credhub_api", "bosh_credhub");
    let section = property.split('.').next().unwrap_or_default();
    Some(if SECTIONS.contains(&section) {
        property
    } else {
        format!("broker.{property}")
    })
}

fn links(specification: &Value) -> String {
    let names = |list: &Value| {
        let links = list.as_array().into_iter().flatten();
        let names = links.filter_map(|link| Some(format!("`{}`", link["name"].as_str()?)));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut reported = String::new();
    for (verb, list) in [("Consumes", "consumes"), ("Provides", "provides")] {
        let names = names(&specification[list]);
        if !names.is_empty() {
            add(&mut reported, &format!(" {verb} link {names}."));
        }
    }
    reported
}

/// The description, in which a mark says that the Go release does not have the property.
fn meaning(declared: &Value) -> String {
    let description = one_line(&declared["description"]).replace('|', "\\|");
    let Some((before, after)) = description.split_once("Not a property of the Go release") else {
        return description;
    };
    let after = after.split_once('.').map_or("", |(_, after)| after);
    let parts = [before.trim(), "**New.**", after.trim()];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn one_line(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
