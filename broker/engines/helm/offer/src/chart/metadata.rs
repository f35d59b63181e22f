//! `Chart.yaml`.

use crate::{
    findings::Findings,
    section::{File, Section},
};

use super::version::ChartVersion;

/// What an offer uses of `Chart.yaml`.
#[derive(Clone, Debug)]
pub struct Metadata {
    pub name: String,
    pub version: ChartVersion,
    pub description: Option<String>,
    pub icon: Option<String>,
    pub home: Option<String>,
    pub source: Option<String>,
    pub maintainer: Option<String>,
    pub keywords: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) has_v1_layout: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
}

/// Reads it. Reports what Helm, or an offer, does not take.
pub(super) fn read(file: &File, is_subchart: bool, findings: &mut Findings) -> Option<Metadata> {
    let chart = file.map(findings)?;
    let api = chart.text("apiVersion", findings);
    let has_v1_layout = match &api {
        None => true,
        Some(api) if api.value == "v1" => true,
        Some(api) if api.value == "v2" => false,
        Some(api) => {
            let found = format!("is `{}`, which Helm 4 does not install", api.value);
            api.refuse(found, "charts have `v1` or `v2`", findings);
            return None;
        }
    };
    if let Some(kind) = chart.text("type", findings).filter(|_| !is_subchart)
        && kind.value == "library"
    {
        let found = "is `library`: Helm 3 and 4 do not install library charts";
        kind.refuse(found, "offer a chart that uses it", findings);
    }
    if chart.flag("deprecated", findings) == Some(true) && !is_subchart {
        let found = "the chart is deprecated by its authors";
        findings.warning(
            chart.at(),
            Some("deprecated"),
            found,
            "look for its successor",
        );
    }
    let name = chart.text("name", findings);
    if name.is_none() {
        findings.error(
            chart.at(),
            Some("name"),
            "`name` is missing",
            "name the chart",
        );
    }
    let version = version(&chart, findings);
    let text = |key, findings: &mut Findings| Some(chart.text(key, findings)?.value);
    let first = |key, findings: &mut Findings| chart.texts(key, findings).into_iter().next();
    let maintainers = chart.maps("maintainers", findings).unwrap_or_default();
    let maintainer = maintainers
        .first()
        .and_then(|one| one.text("name", findings));
    Some(Metadata {
        description: text("description", findings),
        icon: text("icon", findings),
        home: text("home", findings),
        source: first("sources", findings).map(|source| source.value),
        maintainer: maintainer.map(|name| name.value),
        keywords: chart
            .texts("keywords", findings)
            .into_iter()
            .map(|word| word.value)
            .collect(),
        dependencies: dependencies(&chart, findings),
        has_v1_layout,
        name: name?.value,
        version: version?,
    })
}

fn version(chart: &Section<'_>, findings: &mut Findings) -> Option<ChartVersion> {
    let Some(version) = chart.text("version", findings) else {
        let found = "`version` is missing";
        findings.error(
            chart.at(),
            Some("version"),
            found,
            "give a version such as 1.0.0",
        );
        return None;
    };
    let parsed = ChartVersion::parse(&version.value);
    if parsed.is_none() {
        let found = format!("is `{}`, which is no version", version.value);
        version.refuse(found, "give a semantic version such as 1.0.0", findings);
    }
    parsed
}

/// Those of `Chart.yaml` or, in the layout of Helm 2, of `requirements.yaml`.
pub(super) fn dependencies(chart: &Section<'_>, findings: &mut Findings) -> Vec<Dependency> {
    let sections = chart.maps("dependencies", findings).unwrap_or_default();
    let dependencies = sections.iter().filter_map(|section| {
        let alias = section.text("alias", findings);
        Some(Dependency {
            name: section.text("name", findings)?.value,
            alias: alias.map(|alias| alias.value),
        })
    });
    dependencies.collect()
}
