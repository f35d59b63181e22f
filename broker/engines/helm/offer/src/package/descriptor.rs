//! `offer.yaml`, also under its older names `tsmgr.yaml` and `ksm.yaml`.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{
    findings::Findings,
    section::{Found, Section},
    values::paths::Pattern,
};

use super::is_file_name;

pub(crate) const NAMES: &[&str] = &["offer.yaml", "tsmgr.yaml", "ksm.yaml"];

const KEYS: &[&str] = &[
    "offer-name",
    "charts",
    "parameters",
    "bindable",
    "tags",
    "metadata",
    "display-name",
    "service-id",
];

const CHART_KEYS: &[&str] = &[
    "chart",
    "version",
    "offered",
    "scope",
    "overrideValuesFile",
    "readiness",
    "timeout",
    "crds",
];

/// Where a chart is installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Once for each instance.
    #[default]
    Namespace,
    /// Once for each cluster.
    Cluster,
}

/// What becomes of the CRDs of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Crds {
    #[default]
    Install,
    Skip,
}

#[derive(Debug, Default)]
pub(crate) struct Descriptor {
    pub(crate) name: Option<Found<String>>,
    pub(crate) charts: Option<Vec<ChartEntry>>,
    pub(crate) parameters: ParametersEntry,
    pub(crate) bindable: Option<bool>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) display_name: Option<String>,
    pub(crate) service_id: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ChartEntry {
    pub(crate) chart: Found<String>,
    pub(crate) version: Option<Found<String>>,
    /// As the version is written, where YAML reads a number.
    pub(crate) version_spelling: Option<String>,
    pub(crate) offered: Option<bool>,
    pub(crate) scope: Scope,
    pub(crate) overrides: Option<Found<String>>,
    pub(crate) crds: Crds,
    pub(crate) timeout: Option<Duration>,
    pub(crate) readiness: Vec<Value>,
}

#[derive(Debug, Default)]
pub(crate) struct ParametersEntry {
    pub(crate) schema: Option<Found<String>>,
    pub(crate) deny: Option<Vec<Pattern>>,
    pub(crate) allow: Option<Vec<Pattern>>,
}

pub(crate) fn read(file: &Section<'_>, findings: &mut Findings) -> Descriptor {
    file.only(KEYS, findings);
    let name = file.text("offer-name", findings);
    if let Some(name) = &name
        && !is_offer_name(&name.value)
    {
        let remedy = "use lower-case letters, digits, `-` and `.`, 63 characters at most";
        name.refuse(
            format!("is `{}`, which is no offer name", name.value),
            remedy,
            findings,
        );
    }
    let charts = file.maps("charts", findings).map(|sections| {
        if sections.is_empty() {
            let found = "`charts` is empty";
            findings.error(
                file.at(),
                Some("charts"),
                found,
                "name a chart, or remove the key",
            );
        }
        let entries = sections
            .iter()
            .filter_map(|section| chart(section, findings));
        entries.collect()
    });
    Descriptor {
        name,
        charts,
        parameters: parameters(file, findings),
        bindable: file.flag("bindable", findings),
        tags: file
            .texts("tags", findings)
            .into_iter()
            .map(|tag| tag.value)
            .collect(),
        metadata: file.object("metadata", findings).unwrap_or_default(),
        display_name: file.text("display-name", findings).map(|name| name.value),
        service_id: file.text("service-id", findings).map(|id| id.value),
    }
}

fn chart(section: &Section<'_>, findings: &mut Findings) -> Option<ChartEntry> {
    section.only(CHART_KEYS, findings);
    let chart = section.text("chart", findings);
    if chart.is_none() {
        let key = section.path("chart");
        let found = format!("`{key}` is missing");
        findings.error(section.at(), Some(&key), found, "give the chart's name");
    }
    let scope = section
        .text("scope", findings)
        .map(|scope| match scope.value.as_str() {
            "namespace" => Scope::Namespace,
            "cluster" => Scope::Cluster,
            other => {
                let found = format!("is `{other}`; it must be `namespace` or `cluster`");
                scope.refuse(found, "", findings);
                Scope::default()
            }
        });
    let overrides = section.text("overrideValuesFile", findings).filter(|file| {
        let is_fine = is_file_name(&file.value);
        if !is_fine {
            let found = format!(
                "is `{}`, not the name of a file in `overrides/`",
                file.value
            );
            file.refuse(
                found,
                "put the file there and give its name alone",
                findings,
            );
        }
        is_fine
    });
    let crds = section
        .text("crds", findings)
        .map(|crds| match crds.value.as_str() {
            "install" => Crds::Install,
            "skip" => Crds::Skip,
            other => {
                let found = format!("is `{other}`; it must be `install` or `skip`");
                crds.refuse(found, "", findings);
                Crds::default()
            }
        });
    let readiness = section.maps("readiness", findings).unwrap_or_default();
    for entry in &readiness {
        let known = [
            "group",
            "kind",
            "name",
            "namespace",
            "condition",
            "jsonpath",
            "equals",
        ];
        entry.only(&known, findings);
    }
    let list = section.get("readiness").map(|node| node.value.to_json());
    Some(ChartEntry {
        version: section.text("version", findings),
        version_spelling: section.spelling("version"),
        offered: section.flag("offered", findings),
        scope: scope.unwrap_or_default(),
        overrides,
        crds: crds.unwrap_or_default(),
        timeout: timeout(section, findings),
        readiness: list
            .and_then(|list| list.as_array().cloned())
            .unwrap_or_default(),
        chart: chart?,
    })
}

fn parameters(file: &Section<'_>, findings: &mut Findings) -> ParametersEntry {
    let Some(section) = file.map("parameters", findings) else {
        return ParametersEntry::default();
    };
    section.only(&["schema", "deny", "allow"], findings);
    let mut patterns = |key: &str| {
        section.get(key)?;
        let texts = section.texts(key, findings);
        let patterns = texts.into_iter().filter_map(|text| {
            let pattern = Pattern::parse(&text.value);
            if pattern.is_none() {
                let found = format!("is `{}`, which is no path", text.value);
                text.refuse(
                    found,
                    "write keys with dots, and `*` for any one key",
                    findings,
                );
            }
            pattern
        });
        Some(patterns.collect::<Vec<_>>())
    };
    let (deny, allow) = (patterns("deny"), patterns("allow"));
    if deny.is_some() && allow.is_some() {
        let found = "`parameters` has both `allow` and `deny`";
        findings.error(
            section.at(),
            Some("parameters"),
            found,
            "keep one; `allow` is the safer one",
        );
    }
    ParametersEntry {
        schema: section.text("schema", findings),
        deny,
        allow,
    }
}

fn timeout(section: &Section<'_>, findings: &mut Findings) -> Option<Duration> {
    let text = section.text("timeout", findings)?;
    let duration = duration(&text.value).filter(|duration| !duration.is_zero());
    if duration.is_none() {
        let found = format!("is `{}`, which is no duration", text.value);
        text.refuse(found, "write it like `90s`, `20m` or `1h30m`", findings);
    }
    duration
}

/// Reads `1h30m`.
fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0_u64;
    for part in text.split_inclusive(['h', 'm', 's']) {
        let (number, unit) = part.split_at_checked(part.len().checked_sub(1)?)?;
        let unit = match unit {
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
    }
    Some(Duration::from_secs(seconds))
}

/// `^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`.
pub(crate) fn is_offer_name(name: &str) -> bool {
    let is_edge = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    let is_inner = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '.' | '-');
    name.len() <= 63
        && is_edge(name.chars().next())
        && is_edge(name.chars().last())
        && name.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let seconds = |text| duration(text).map(|duration| duration.as_secs());
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("90s"), Some(90));
        for text in ["90", "s", "1.5h", "-1s", "99999999999999999999h"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn offer_names_fit_into_addresses() {
        assert!(is_offer_name("redis-7.2") && is_offer_name("a"));
        for name in ["", "-a", "a-", "A", "a/b", &"a".repeat(64)] {
            assert!(!is_offer_name(name), "{name}");
        }
    }
}
