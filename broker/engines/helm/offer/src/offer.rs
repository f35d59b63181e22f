//! An offer: a package with its charts, read by the rules 1 to 8 of a save.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use odb_api_types::finding::Location;
use serde_json::{Map, Value};

use crate::{
    chart::Chart,
    findings::Findings,
    names, near,
    package::{
        Package,
        bind::{self, BindTemplate},
        descriptor::{self, ChartEntry, Crds, Descriptor, ParametersEntry, Scope},
        plans::{self, PlanEntry},
        quota::{self, ResourceQuota},
    },
    section::Found,
    values::{
        Values,
        layer::Layer,
        parameters::{Base, Settable, Validation},
        schema::ValuesSchema,
    },
};

/// A package that passed the rules 1 to 8.
#[derive(Debug)]
pub struct Offer {
    pub name: String,
    /// In the order of installation.
    pub charts: Vec<OfferedChart>,
    pub plans: Vec<Plan>,
    pub parameters: ParameterRules,
    pub bind: Option<BindTemplate>,
    pub bindable: bool,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
    pub display_name: Option<String>,
    pub service_id: String,
}

/// A chart of an offer.
#[derive(Debug)]
pub struct OfferedChart {
    pub chart: Arc<Chart>,
    pub scope: Scope,
    /// Whether it is the one that bindings look at.
    pub is_offered: bool,
    pub overrides: Option<Layer>,
    pub crds: Crds,
    pub timeout: Option<Duration>,
    pub readiness: Vec<Value>,
}

#[derive(Debug)]
pub struct Plan {
    pub name: String,
    pub id: String,
    pub description: String,
    pub values: Option<Layer>,
    /// The registered cluster; none for the default one.
    pub cluster: Option<String>,
    pub quota: Option<ResourceQuota>,
    /// The quota's file.
    pub(crate) quota_text: Vec<u8>,
    pub free: bool,
    pub bindable: bool,
    pub bullets: Vec<String>,
    /// `quotas`, `resource_costs`, `maintenance_info`, `schemas` and `metadata`, as in `broker.yml`.
    pub passed: Map<String, Value>,
}

#[derive(Debug)]
pub struct ParameterRules {
    pub schema: SchemaSource,
    pub settable: Settable,
}

/// What parameters are validated against.
#[derive(Debug)]
pub enum SchemaSource {
    /// The offered chart's schema, if it has one; it describes all values.
    Chart,
    /// A schema of the package, which describes the parameters.
    Package(Box<ValuesSchema>),
    Nothing,
}

impl Offer {
    /// Reads an offer. None when something essential is missing; then and after other errors, `findings` has them.
    pub fn read(
        package: &Package,
        charts: Vec<Chart>,
        clusters: Option<&[String]>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut reader = Reader {
            package,
            used: BTreeSet::new(),
            findings,
        };
        reader.read(charts, clusters)
    }

    /// The chart that bindings and parameters are about.
    pub fn offered(&self) -> &OfferedChart {
        let offered = self.charts.iter().find(|chart| chart.is_offered);
        offered.expect("an offer is only read with an offered chart")
    }

    /// What the parameters of a user are held against. `layers` are overrides and plan of the offered chart, merged.
    pub fn base<'b>(&'b self, layers: &'b Values) -> Base<'b> {
        let chart = &self.offered().chart;
        Base {
            defaults: &chart.defaults,
            layers,
            schema: match &self.parameters.schema {
                SchemaSource::Chart => chart
                    .schema
                    .as_ref()
                    .map_or(Validation::Nothing, Validation::Values),
                SchemaSource::Package(schema) => Validation::Parameters(schema),
                SchemaSource::Nothing => Validation::Nothing,
            },
            settable: &self.parameters.settable,
        }
    }

    pub fn plan(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.name == name)
    }
}

struct Reader<'r> {
    package: &'r Package,
    /// The files that something names.
    used: BTreeSet<String>,
    findings: &'r mut Findings,
}

impl Reader<'_> {
    fn read(&mut self, charts: Vec<Chart>, clusters: Option<&[String]>) -> Option<Offer> {
        let package = self.package;
        self.check_names(&charts);
        let file = package.parse_one(descriptor::NAMES, self.findings);
        let descriptor = file.as_ref().and_then(|file| {
            let section = file.map(self.findings)?;
            Some(descriptor::read(&section, self.findings))
        });
        let entries = match descriptor {
            Some(descriptor) => descriptor,
            // Its own error is reported.
            None if descriptor::NAMES
                .iter()
                .any(|name| package.files.contains_key(*name)) =>
            {
                return None;
            }
            None => Descriptor::default(),
        };
        let at = file
            .as_ref()
            .map_or_else(|| package.location(), |file| Location::file(&file.name));
        let offered = self.charts(charts, entries.charts.as_deref(), &at);
        let plans = self.plans(clusters);
        let parameters = self.parameters(entries.parameters);
        let bind = package.parse_one(bind::NAMES, self.findings);
        let bind = bind.and_then(|file| bind::read(&file, self.findings));
        // After an error, nothing may name a file that is meant.
        if self.findings.errors() == 0 {
            self.warn_of_unused_files();
        }
        let charts = offered?;
        let name = match &entries.name {
            Some(name) => name.value.clone(),
            None => charts
                .iter()
                .find(|chart| chart.is_offered)?
                .chart
                .name()
                .to_owned(),
        };
        let service_id = entries
            .service_id
            .unwrap_or_else(|| names::service_id(&name));
        let plans = plans.into_iter().map(|(entry, values, quota)| {
            let (quota, quota_text) = quota.unzip();
            Plan {
                id: entry
                    .id
                    .unwrap_or_else(|| names::plan_id(&service_id, &entry.name)),
                name: entry.name,
                description: entry.description,
                values,
                cluster: entry.cluster.map(|cluster| cluster.value),
                quota,
                quota_text: quota_text.unwrap_or_default(),
                free: entry.free,
                bindable: entry.bindable,
                bullets: entry.bullets,
                passed: entry.passed,
            }
        });
        Some(Offer {
            name,
            charts,
            plans: plans.collect(),
            parameters,
            bind,
            bindable: entries.bindable.unwrap_or(true),
            tags: entries.tags,
            metadata: entries.metadata,
            display_name: entries.display_name,
            service_id,
        })
    }

    fn check_names(&mut self, charts: &[Chart]) {
        for chart in charts {
            let name = chart.name();
            if !names::is_chart_name(name) {
                let at = Location::file(format!("{}/Chart.yaml", chart.origin));
                let found = format!("`name` is `{name}`, which cannot be offered");
                let remedy = "use lower-case letters, digits and `-`, beginning with a letter, 53 characters at most";
                self.findings.error(at, Some("name"), found, remedy);
            }
        }
    }

    fn charts(
        &mut self,
        given: Vec<Chart>,
        entries: Option<&[ChartEntry]>,
        at: &Location,
    ) -> Option<Vec<OfferedChart>> {
        let given: Vec<Arc<Chart>> = given.into_iter().map(Arc::new).collect();
        let Some(entries) = entries else {
            return self.only_chart(&given, at);
        };
        let mut offered = Vec::new();
        let mut scopes = Vec::new();
        for entry in entries {
            let name = &entry.chart;
            if scopes.contains(&(&name.value, entry.scope)) {
                let found = format!("names the chart `{}` twice with one scope", name.value);
                name.refuse(found, "keep one of them", self.findings);
            }
            scopes.push((&name.value, entry.scope));
            if entry.offered == Some(true) && entry.scope == Scope::Cluster {
                let found = "is offered, but has the scope `cluster`";
                name.refuse(
                    found,
                    "offer a chart with the scope `namespace`",
                    self.findings,
                );
            }
            let overrides = entry.overrides.as_ref();
            let overrides = overrides.and_then(|file| self.layer("overrides", file));
            let Some(chart) = given.iter().find(|chart| chart.name() == name.value) else {
                let known: Vec<&str> = given.iter().map(|chart| chart.name()).collect();
                let remedy = match near::nearest(&name.value, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("give `{}-VERSION.tgz`", name.value),
                };
                name.refuse(
                    format!("is `{}`, a chart that is not given", name.value),
                    remedy,
                    self.findings,
                );
                continue;
            };
            self.check_version(entry, chart);
            offered.push(OfferedChart {
                chart: Arc::clone(chart),
                scope: entry.scope,
                is_offered: entry
                    .offered
                    .unwrap_or(entries.len() == 1 && entry.scope == Scope::Namespace),
                overrides,
                crds: entry.crds,
                timeout: entry.timeout,
                readiness: entry.readiness.clone(),
            });
        }
        for chart in &given {
            if !entries
                .iter()
                .any(|entry| entry.chart.value == chart.name())
            {
                let found = format!(
                    "the chart `{}` is given, but `charts` does not name it",
                    chart.name()
                );
                let at = Location::file(&chart.origin);
                self.findings
                    .error(at, None, found, "name it, or leave it out");
            }
        }
        self.check_offered(entries, &offered, at)?;
        Some(offered)
    }

    /// Without a list of charts there is one, which is offered.
    fn only_chart(&mut self, given: &[Arc<Chart>], at: &Location) -> Option<Vec<OfferedChart>> {
        let [chart] = given else {
            let (found, remedy) = if given.is_empty() {
                (
                    "there is no chart",
                    "give `NAME-VERSION.tgz`, or the folder of a chart",
                )
            } else {
                (
                    "several charts are given, and no `charts` says in which order they are installed",
                    "list them in `offer.yaml`",
                )
            };
            // Charts that were refused have their own findings.
            if !given.is_empty() || self.findings.errors() == 0 {
                self.findings
                    .error(at.clone(), Some("charts"), found, remedy);
            }
            return None;
        };
        Some(vec![OfferedChart {
            chart: Arc::clone(chart),
            scope: Scope::Namespace,
            is_offered: true,
            overrides: None,
            crds: Crds::Install,
            timeout: None,
            readiness: Vec::new(),
        }])
    }

    fn check_offered(
        &mut self,
        entries: &[ChartEntry],
        offered: &[OfferedChart],
        at: &Location,
    ) -> Option<()> {
        let claims: Vec<&ChartEntry> = entries
            .iter()
            .filter(|entry| entry.offered == Some(true))
            .collect();
        if let [first, second, ..] = claims.as_slice() {
            let found = format!(
                "`{}` and `{}` are both offered",
                first.chart.value, second.chart.value
            );
            let remedy = "an offer has one offered chart, which bindings look at";
            self.findings
                .error(second.chart.at.clone(), Some("charts"), found, remedy);
            return None;
        }
        if claims.is_empty() && !entries.is_empty() && !offered.iter().any(|chart| chart.is_offered)
        {
            let is_complete = offered.len() == entries.len();
            if is_complete {
                let found = "no chart is offered";
                let remedy = "write `offered: true` at the chart that users order, with the scope `namespace`";
                self.findings
                    .error(at.clone(), Some("charts"), found, remedy);
            }
            return None;
        }
        offered.iter().any(|chart| chart.is_offered).then_some(())
    }

    fn check_version(&mut self, entry: &ChartEntry, chart: &Chart) {
        let Some(version) = &entry.version else {
            let found = format!("names the chart `{}` without a version", entry.chart.value);
            let remedy = format!("add `version: \"{}\"`", chart.version());
            entry.chart.refuse(found, remedy, self.findings);
            return;
        };
        let actual = chart.version().as_str();
        if version.value == actual {
            return;
        }
        let spelling = entry.version_spelling.as_deref().unwrap_or(&version.value);
        if spelling == actual {
            let found = format!(
                "is `{spelling}`, which YAML reads as the number {}; the chart has the version {actual}",
                version.value
            );
            version.refuse(found, format!("quote it: \"{actual}\""), self.findings);
        } else {
            let found = format!(
                "is `{}`; the chart `{}` has the version {actual}",
                version.value,
                chart.name()
            );
            version.refuse(
                found,
                format!("give the chart of that version, or write \"{actual}\""),
                self.findings,
            );
        }
    }

    fn layer(&mut self, folder: &str, file: &Found<String>) -> Option<Layer> {
        let path = format!("{folder}/{}", file.value);
        let bytes = self.bytes(&path, file)?;
        let Ok(text) = String::from_utf8(bytes) else {
            let found = format!("names `{path}`, which is not UTF-8");
            file.refuse(found, "save it as UTF-8", self.findings);
            return None;
        };
        let file = self.package.name(&path);
        Some(Layer { file, text })
    }

    fn bytes(&mut self, path: &str, named: &Found<String>) -> Option<Vec<u8>> {
        self.used.insert(path.to_owned());
        let bytes = self.package.files.get(path).cloned();
        if bytes.is_none() {
            let folder = path.split_once('/').map_or("", |(folder, _)| folder);
            let there = self
                .package
                .files
                .keys()
                .filter_map(|name| name.strip_prefix(folder)?.strip_prefix('/'));
            let remedy = near::remedy(&named.value, &there.collect::<Vec<_>>());
            named.refuse(
                format!("names `{path}`, which is not there"),
                remedy,
                self.findings,
            );
        }
        bytes
    }

    #[expect(
        clippy::type_complexity,
        reason = "the parts of a plan, until the offer has an id"
    )]
    fn plans(
        &mut self,
        clusters: Option<&[String]>,
    ) -> Vec<(PlanEntry, Option<Layer>, Option<(ResourceQuota, Vec<u8>)>)> {
        let package = self.package;
        let file = package.parse_one(plans::NAMES, self.findings);
        let is_there = plans::NAMES
            .iter()
            .any(|name| package.files.contains_key(*name));
        let entries = match &file {
            Some(file) => plans::read(file, self.findings),
            None if is_there => Vec::new(),
            None => vec![default_plan()],
        };
        let read = entries.into_iter().map(|entry| {
            let values = entry
                .file
                .as_ref()
                .and_then(|file| self.layer("plans", file));
            let quota = entry.quota.as_ref().and_then(|file| {
                let path = format!("resource-quotas/{}", file.value);
                let bytes = self.bytes(&path, file)?;
                let quota = quota::read(&package.name(&path), &bytes, self.findings)?;
                Some((quota, bytes))
            });
            if let (Some(clusters), Some(cluster)) = (clusters, &entry.cluster)
                && !clusters.contains(&cluster.value)
            {
                let known: Vec<&str> = clusters.iter().map(String::as_str).collect();
                let found = format!("is `{}`, which is not registered", cluster.value);
                cluster.refuse(found, near::remedy(&cluster.value, &known), self.findings);
            }
            (entry, values, quota)
        });
        read.collect()
    }

    fn parameters(&mut self, entry: ParametersEntry) -> ParameterRules {
        let schema = match entry.schema {
            None => SchemaSource::Chart,
            Some(name) if name.value == "chart" => SchemaSource::Chart,
            Some(name) if name.value == "none" => SchemaSource::Nothing,
            Some(name) => self.own_schema(&name).unwrap_or(SchemaSource::Nothing),
        };
        let settable = match (entry.allow, entry.deny) {
            (Some(allow), _) => Settable::Only(allow),
            (None, Some(deny)) => Settable::AllBut(deny),
            (None, None) => Settable::default(),
        };
        ParameterRules { schema, settable }
    }

    fn own_schema(&mut self, name: &Found<String>) -> Option<SchemaSource> {
        let bytes = self.bytes(&name.value, name)?;
        let read = serde_json::from_slice(&bytes).map_err(|error| error.to_string());
        match read.and_then(ValuesSchema::new) {
            Ok(schema) => Some(SchemaSource::Package(Box::new(schema))),
            Err(why) => {
                let found = format!("names `{}`, which is no JSON Schema: {why}", name.value);
                name.refuse(found, "correct the file", self.findings);
                None
            }
        }
    }

    fn warn_of_unused_files(&mut self) {
        for name in self.package.files.keys() {
            let is_named = |folder: &str| name.starts_with(folder);
            let is_meant = ["plans/", "overrides/", "resource-quotas/"]
                .into_iter()
                .any(is_named);
            if is_meant && !self.used.contains(name) {
                let at = Location::file(self.package.name(name));
                self.findings.warning(
                    at,
                    None,
                    "no plan and no chart names this file",
                    "name it, or remove it",
                );
            }
        }
    }
}

fn default_plan() -> PlanEntry {
    PlanEntry {
        name: "default".to_owned(),
        description: "Plan with default values".to_owned(),
        file: None,
        cluster: None,
        quota: None,
        free: true,
        bindable: true,
        bullets: Vec::new(),
        id: None,
        passed: Map::new(),
    }
}
