use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use odb_adapter_sdk::protocol::Plan;
use odb_adapter_sdk::yaml;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::file::{
    BrokerConfig, BrokerSettings, DeploymentKeys, Form, InputsFile, Software, Variable,
};
use super::plan::{CatalogPlan, NamedPlan, at};
use super::{FILE_NAME, Forms, Inputs};

/// How far above an executable its package may be: Cargo's are two folders deep.
const FOLDERS: usize = 3;

/// The time for a call unless the inputs give another.
const DEADLINE: Duration = Duration::from_secs(10);

/// Longest time for a call: a broker's request has no more.
const LONGEST_DEADLINE: u64 = 55;

/// The sources of inputs. Values given here override those of a file.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file in the shape of `adapter-check.yml`; the one near the adapter unless it is given.
    pub file: Option<PathBuf>,
    /// A broker's configuration, for service deployment and plans.
    pub broker_config: Option<PathBuf>,
    /// The plans that count: names of those of the inputs, or files with a plan each, in the shape that
    /// adapters get.
    pub plans: Vec<PathBuf>,
    /// A file with a service deployment, in the shape that adapters get.
    pub service_deployment: Option<PathBuf>,
    /// The time for each call.
    pub deadline: Option<Duration>,
}

/// The inputs in an adapter's folder, or beside an executable, or in one of the folders above.
pub(crate) fn near(adapter: &Path) -> Option<PathBuf> {
    let adapter = std::path::absolute(adapter).ok()?;
    adapter
        .ancestors()
        .take(1 + FOLDERS)
        .map(|folder| folder.join(FILE_NAME))
        .find(|file| file.is_file())
}

impl Inputs {
    /// The inputs of the file in an adapter's folder, beside it or in one of the folders above it.
    pub fn beside(adapter: &Path) -> anyhow::Result<Self> {
        Self::of(adapter, &Sources::default())
    }

    /// The inputs of a file.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let sources = Sources {
            file: Some(file.to_owned()),
            ..Sources::default()
        };
        Self::of(file, &sources)
    }

    /// The inputs for an adapter from these sources.
    pub fn of(adapter: &Path, sources: &Sources) -> anyhow::Result<Self> {
        let path = sources.file.clone().or_else(|| near(adapter));
        let file: InputsFile = match &path {
            Some(path) => read::<Option<InputsFile>>(path, "a file of inputs")?.unwrap_or_default(),
            None => InputsFile::default(),
        };
        let named = path.clone().unwrap_or_else(|| PathBuf::from(FILE_NAME));
        let folder = named.parent().unwrap_or(Path::new(""));
        let of_file = file.broker_config.map(|config| folder.join(config));
        let broker_config = sources.broker_config.clone().or(of_file);
        let broker = broker_config.as_deref().map(Broker::read).transpose()?;
        let (settings, of_broker) = match broker {
            Some(broker) => (broker.settings, Some((broker.software, broker.plans))),
            None => (BrokerSettings::default(), None),
        };
        let (broker_software, broker_plans) = of_broker.unzip();
        let Software {
            releases,
            stemcells,
        } = software(sources, file.service_deployment, broker_software)?;
        if let Some((plan, key)) = unknown_key(&file.plans) {
            bail!(
                "`{}` gives plan `{plan}` the key `{key}`; the keys are `name`, `properties`, `lifecycle_errands`, `instance_groups`, `update`",
                named.display()
            );
        }
        let plans = for_adapters(&named, file.plans, &file.global_properties)?;
        let inputs = Self {
            releases,
            stemcells,
            plans: if plans.is_empty() {
                broker_plans.unwrap_or_default()
            } else {
                plans
            },
            environment: environment(folder, file.environment)?,
            forms: match &file.forms {
                Some(forms) => Forms {
                    stdin: forms.contains(&Form::Stdin),
                    arguments: forms.contains(&Form::Arguments),
                },
                None => Forms {
                    stdin: settings.use_stdin.unwrap_or(true),
                    arguments: true,
                },
            },
            secure_manifests: file
                .secure_manifests
                .or(settings.enable_secure_manifests)
                .unwrap_or(true),
            deadline: deadline(&named, sources.deadline, file.deadline_in_seconds)?,
            file: path,
            unknown_parameters: file.unknown_parameters,
            untyped_parameters: file.untyped_parameters,
            plain_secrets: file.plain_secrets,
            required_parameters: file.required_parameters,
            parameters: file.parameters,
            refused_parameters: file.refused_parameters,
            plan_changes: file.plan_changes,
            bindings: file.bindings,
            unbindings: file.unbindings,
        };
        inputs.with_plans_of(&sources.plans)?.checked(&named)
    }

    /// Keeps only these plans, if any is named, and removes the cases that need other plans.
    fn with_plans_of(mut self, chosen: &[PathBuf]) -> anyhow::Result<Self> {
        if !chosen.is_empty() {
            let chosen = chosen.iter().map(|chosen| self.chosen_plan(chosen));
            let chosen: Vec<NamedPlan> = chosen.collect::<Result<_, _>>()?;
            let known = std::mem::replace(&mut self.plans, chosen);
            let chosen = &self.plans;
            let is_of =
                |plans: &[NamedPlan], name: &str| plans.iter().any(|plan| plan.name == name);
            let stays = |name: &str| !is_of(&known, name) || is_of(chosen, name);
            let may_stay = |name: &Option<String>| name.as_deref().is_none_or(stays);
            self.parameters.retain(|case| may_stay(&case.plan));
            self.refused_parameters.retain(|case| may_stay(&case.plan));
            self.plan_changes
                .retain(|change| stays(&change.from) && stays(&change.to));
            if let Some(bindings) = &mut self.bindings {
                bindings.retain(|case| may_stay(&case.plan));
            }
        }
        if self.plans.is_empty() {
            return Err(missing("plans", "`--broker-config` or `--plan`"));
        }
        Ok(self)
    }

    fn chosen_plan(&self, chosen: &Path) -> anyhow::Result<NamedPlan> {
        if let Some(plan) = chosen.to_str().and_then(|name| self.plan(name)) {
            return Ok(plan.clone());
        }
        if chosen.is_file() || self.plans.is_empty() {
            return plan_of_file(chosen);
        }
        Err(anyhow!(
            "unknown plan `{}`: no file has this name; available in the inputs: {}",
            chosen.display(),
            self.plan_names()
        ))
    }

    fn checked(self, path: &Path) -> anyhow::Result<Self> {
        match self.unknown_plan() {
            None => Ok(self),
            Some(name) => Err(anyhow!(
                "unknown plan `{name}` in `{}`; available: {}",
                path.display(),
                self.plan_names()
            )),
        }
    }

    fn unknown_plan(&self) -> Option<&String> {
        let parameters = self.parameters.iter().filter_map(|case| case.plan.as_ref());
        let refused = self.refused_parameters.iter();
        let refused = refused.filter_map(|case| case.plan.as_ref());
        let changes = self.plan_changes.iter();
        let changes = changes.flat_map(|change| [&change.from, &change.to]);
        let bindings = self.bindings.iter().flatten();
        let bindings = bindings.filter_map(|case| case.plan.as_ref());
        let mut named = parameters.chain(refused).chain(changes).chain(bindings);
        named.find(|name| self.plan(name).is_none())
    }
}

struct Broker {
    software: Software,
    plans: Vec<NamedPlan>,
    settings: BrokerSettings,
}

impl Broker {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let config: BrokerConfig = read(path, "a broker's configuration")?;
        let global = config.service_catalog.global_properties.unwrap_or_default();
        Ok(Self {
            software: config.service_deployment.into(),
            plans: for_adapters(path, config.service_catalog.plans, &global)?,
            settings: config.broker,
        })
    }
}

fn software(
    sources: &Sources,
    keys: Option<DeploymentKeys>,
    broker: Option<Software>,
) -> anyhow::Result<Software> {
    if let Some(path) = &sources.service_deployment {
        return read(path, "a service deployment");
    }
    keys.map(Software::from).or(broker).ok_or_else(|| {
        let option = "`--broker-config` or `--service-deployment`";
        missing("releases and stemcells", option)
    })
}

fn missing(missing: &str, option: &str) -> anyhow::Error {
    anyhow!(
        "{missing} for the adapter's requests are missing; write them into `{FILE_NAME}` beside the adapter, or give {option}"
    )
}

fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(unreadable(path))?;
    let mut location = String::new();
    let read = yaml::with_deserializer(&text, |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            location = at(error.path());
            error.into_inner()
        })
    });
    read.with_context(|| format!("`{}` is not {expected}{location}", path.display()))
}

/// A key that plans of the check's own file do not have, and its plan.
fn unknown_key(plans: &[CatalogPlan]) -> Option<(&str, &str)> {
    plans.iter().find_map(|plan| {
        let key = plan.other.keys().next()?;
        Some((plan.name.as_str(), key.as_str()))
    })
}

fn for_adapters(
    path: &Path,
    plans: Vec<CatalogPlan>,
    global: &Map<String, Value>,
) -> anyhow::Result<Vec<NamedPlan>> {
    let plans = plans.into_iter().map(|plan| plan.for_adapters(global));
    plans.collect::<Result<_, _>>().with_context(unusable(path))
}

fn plan_of_file(path: &Path) -> anyhow::Result<NamedPlan> {
    let plan: Plan = read(path, "a plan")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    NamedPlan::of_document(name.into_owned(), &json!(plan)).with_context(unusable(path))
}

fn unreadable(path: &Path) -> impl Fn() -> String {
    move || format!("could not read `{}`", path.display())
}

fn unusable(path: &Path) -> impl Fn() -> String {
    move || format!("`{}` has a plan that cannot be used", path.display())
}

fn environment(
    folder: &Path,
    variables: BTreeMap<String, Variable>,
) -> anyhow::Result<BTreeMap<String, OsString>> {
    let value = |variable| -> anyhow::Result<OsString> {
        Ok(match variable {
            Variable::Text(text) => text.into(),
            Variable::Flag(flag) => flag.to_string().into(),
            Variable::Number(number) => number.to_string().into(),
            // The adapter runs in another folder.
            Variable::File(variable) => {
                let path = folder.join(variable.file);
                fs::canonicalize(&path)
                    .with_context(unreadable(&path))?
                    .into()
            }
        })
    };
    variables
        .into_iter()
        .map(|(name, variable)| Ok((name, value(variable)?)))
        .collect()
}

fn deadline(
    path: &Path,
    given: Option<Duration>,
    seconds: Option<u64>,
) -> anyhow::Result<Duration> {
    match (given, seconds) {
        (Some(given), _) => Ok(given),
        (None, None) => Ok(DEADLINE),
        (None, Some(seconds @ 1..=LONGEST_DEADLINE)) => Ok(Duration::from_secs(seconds)),
        (None, Some(seconds)) => Err(anyhow!(
            "`{}` gives {seconds} seconds for a call; give from 1 to {LONGEST_DEADLINE}",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests;
