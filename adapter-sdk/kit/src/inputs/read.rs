use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use odb_adapter_sdk::protocol::Plan;
use odb_adapter_sdk::yaml;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::broker_config::BrokerConfig;
use super::file::{DeploymentKeys, InputsFile, Variable};
use super::near::near;
use super::plan::{CatalogPlan, NamedPlan, PlanError, at};
use super::{FILE_NAME, Form, Forms, Inputs};

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

/// Why there are no inputs.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// A file that cannot be read.
    #[error("could not read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// A file with unexpected content.
    #[error("`{}` is not {expected}{location}", path.display())]
    NotValid {
        /// The file.
        path: PathBuf,
        /// The expected type.
        expected: &'static str,
        /// The location, as the end of a sentence.
        location: String,
        /// The underlying error.
        #[source]
        source: yaml::Error,
    },
    /// A plan that is none.
    #[error("`{}` has a plan that cannot be used", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: PlanError,
    },
    /// The plan is not in the inputs.
    #[error("unknown plan `{name}` in `{}`; available: {}", path.display(), names(known))]
    UnknownPlan {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// A plan of the command line that is nowhere.
    #[error("unknown plan `{}`: no file has this name; available in the inputs: {}", chosen.display(), names(known))]
    NoSuchPlan {
        /// The given path.
        chosen: PathBuf,
        /// The existing names.
        known: Vec<String>,
    },
    /// A key that plans do not have.
    #[error("`{}` gives plan `{plan}` the key `{key}`; the keys are `name`, `properties`, `lifecycle_errands`, `instance_groups`, `update`", path.display())]
    UnknownPlanKey {
        /// The file.
        path: PathBuf,
        /// The plan.
        plan: String,
        /// The key.
        key: String,
    },
    /// A deadline that no broker has.
    #[error("`{}` gives {seconds} seconds for a call; give from 1 to {LONGEST_DEADLINE}", path.display())]
    Deadline {
        /// The file.
        path: PathBuf,
        /// The given timeout.
        seconds: u64,
    },
    /// There is nothing to ask the adapter with.
    #[error(
        "{missing} for the adapter's requests are missing; write them into `{FILE_NAME}` beside the adapter, or give {option}"
    )]
    Missing {
        /// The missing part.
        missing: &'static str,
        /// Option of the command line that gives it.
        option: &'static str,
    },
}

fn names(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

impl Inputs {
    /// The inputs of the file in an adapter's folder, beside it or in one of the folders above it.
    pub fn beside(adapter: &Path) -> Result<Self, InputsError> {
        Self::of(adapter, &Sources::default())
    }

    /// The inputs of a file.
    pub fn read(file: &Path) -> Result<Self, InputsError> {
        let sources = Sources {
            file: Some(file.to_owned()),
            ..Sources::default()
        };
        Self::of(file, &sources)
    }

    /// The inputs for an adapter from these sources.
    pub fn of(adapter: &Path, sources: &Sources) -> Result<Self, InputsError> {
        let path = sources.file.clone().or_else(|| near(adapter));
        let file: InputsFile = match &path {
            Some(path) => read::<Option<InputsFile>>(path, "a file of inputs")?.unwrap_or_default(),
            None => InputsFile::default(),
        };
        let named = path.clone().unwrap_or_else(|| PathBuf::from(FILE_NAME));
        let folder = named.parent().unwrap_or(Path::new("")).to_owned();
        let broker_config = match (&sources.broker_config, &file.broker_config) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(named)) => Some(folder.join(named)),
            (None, None) => None,
        };
        let broker = broker_config.map(|path| Broker::read(&path)).transpose()?;

        let inputs = Self {
            file: path,
            releases: Value::Null,
            stemcells: Value::Null,
            plans: for_adapters_strictly(&named, file.plans, &file.global_properties)?,
            environment: environment(&folder, file.environment)?,
            forms: forms(file.forms, broker.as_ref()),
            secure_manifests: file
                .secure_manifests
                .or(broker.as_ref().and_then(|broker| broker.secure_manifests))
                .unwrap_or(true),
            deadline: deadline(&named, sources.deadline, file.deadline_in_seconds)?,
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
        inputs
            .with_service_deployment(sources, file.service_deployment.as_ref(), broker.as_ref())?
            .with_plans_of(broker, &sources.plans)?
            .checked(&named)
    }

    fn with_service_deployment(
        mut self,
        sources: &Sources,
        keys: Option<&DeploymentKeys>,
        broker: Option<&Broker>,
    ) -> Result<Self, InputsError> {
        (self.releases, self.stemcells) = match (&sources.service_deployment, keys, broker) {
            (Some(path), _, _) => {
                let document: Value = read(path, "a service deployment")?;
                (document["releases"].clone(), document["stemcells"].clone())
            }
            (None, Some(keys), _) => (keys.releases(), keys.stemcells()),
            (None, None, Some(broker)) => (broker.releases.clone(), broker.stemcells.clone()),
            (None, None, None) => {
                return Err(InputsError::Missing {
                    missing: "releases and stemcells",
                    option: "`--broker-config` or `--service-deployment`",
                });
            }
        };
        Ok(self)
    }

    fn with_plans_of(
        mut self,
        broker: Option<Broker>,
        chosen: &[PathBuf],
    ) -> Result<Self, InputsError> {
        if self.plans.is_empty() {
            self.plans = broker.map(|broker| broker.plans).unwrap_or_default();
        }
        if !chosen.is_empty() {
            self = self.with_plans_alone(chosen)?;
        }
        if self.plans.is_empty() {
            return Err(InputsError::Missing {
                missing: "plans",
                option: "`--broker-config` or `--plan`",
            });
        }
        Ok(self)
    }

    /// Keeps only these plans and removes the cases that need other plans.
    fn with_plans_alone(mut self, chosen: &[PathBuf]) -> Result<Self, InputsError> {
        let chosen = chosen.iter().map(|chosen| self.chosen_plan(chosen));
        let chosen: Vec<NamedPlan> = chosen.collect::<Result<_, _>>()?;
        let known = std::mem::replace(&mut self.plans, chosen);
        let chosen = &self.plans;
        let is_of = |plans: &[NamedPlan], name: &str| plans.iter().any(|plan| plan.name == name);
        let stays = |name: &str| !is_of(&known, name) || is_of(chosen, name);
        let may_stay = |name: Option<&str>| name.is_none_or(stays);
        self.parameters
            .retain(|case| may_stay(case.plan.as_deref()));
        self.refused_parameters
            .retain(|case| may_stay(case.plan.as_deref()));
        self.plan_changes
            .retain(|change| stays(&change.from) && stays(&change.to));
        if let Some(bindings) = &mut self.bindings {
            bindings.retain(|case| may_stay(case.plan.as_deref()));
        }
        Ok(self)
    }

    fn chosen_plan(&self, chosen: &Path) -> Result<NamedPlan, InputsError> {
        if let Some(plan) = chosen.to_str().and_then(|name| self.plan(name)) {
            return Ok(plan.clone());
        }
        if chosen.is_file() || self.plans.is_empty() {
            return plan_of_file(chosen);
        }
        Err(InputsError::NoSuchPlan {
            chosen: chosen.to_owned(),
            known: self.plans.iter().map(|plan| plan.name.clone()).collect(),
        })
    }

    /// Checks that every reference to a plan names an existing plan.
    fn checked(self, path: &Path) -> Result<Self, InputsError> {
        let of_parameters = self.parameters.iter().filter_map(|case| case.plan.as_ref());
        let refused = self.refused_parameters.iter();
        let of_refused = refused.filter_map(|case| case.plan.as_ref());
        let changes = self.plan_changes.iter();
        let of_changes = changes.flat_map(|change| [&change.from, &change.to]);
        let bindings = self.bindings.iter().flatten();
        let of_bindings = bindings.filter_map(|case| case.plan.as_ref());
        let unknown = of_parameters
            .chain(of_refused)
            .chain(of_changes)
            .chain(of_bindings)
            .find(|name| self.plan(name).is_none());
        match unknown {
            None => Ok(self),
            Some(name) => Err(InputsError::UnknownPlan {
                path: path.to_owned(),
                name: name.clone(),
                known: self.plans.iter().map(|plan| plan.name.clone()).collect(),
            }),
        }
    }
}

/// The values of a broker's configuration.
struct Broker {
    releases: Value,
    stemcells: Value,
    plans: Vec<NamedPlan>,
    secure_manifests: Option<bool>,
    uses_stdin: bool,
}

impl Broker {
    fn read(path: &Path) -> Result<Self, InputsError> {
        let config: BrokerConfig = read(path, "a broker's configuration")?;
        let global = config.service_catalog.global_properties.unwrap_or_default();
        Ok(Self {
            releases: config.service_deployment.releases(),
            stemcells: config.service_deployment.stemcells(),
            plans: for_adapters(path, config.service_catalog.plans, &global)?,
            secure_manifests: config.broker.enable_secure_manifests,
            uses_stdin: config.broker.use_stdin.unwrap_or(true),
        })
    }
}

fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, InputsError> {
    let text = fs::read_to_string(path).map_err(|source| InputsError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let mut location = String::new();
    let read = yaml::with_deserializer(&text, |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            location = at(error.path());
            error.into_inner()
        })
    });
    read.map_err(|source| InputsError::NotValid {
        path: path.to_owned(),
        expected,
        location,
        source,
    })
}

fn for_adapters_strictly(
    path: &Path,
    plans: Vec<CatalogPlan>,
    global: &Map<String, Value>,
) -> Result<Vec<NamedPlan>, InputsError> {
    for plan in &plans {
        if let Some(key) = plan.other.keys().next() {
            return Err(InputsError::UnknownPlanKey {
                path: path.to_owned(),
                plan: plan.name().to_owned(),
                key: key.clone(),
            });
        }
    }
    for_adapters(path, plans, global)
}

fn for_adapters(
    path: &Path,
    plans: Vec<CatalogPlan>,
    global: &Map<String, Value>,
) -> Result<Vec<NamedPlan>, InputsError> {
    let plans = plans.into_iter().map(|plan| plan.for_adapters(global));
    plans
        .collect::<Result<_, _>>()
        .map_err(|source| InputsError::Plan {
            path: path.to_owned(),
            source,
        })
}

fn plan_of_file(path: &Path) -> Result<NamedPlan, InputsError> {
    let plan: Plan = read(path, "a plan")?;
    let document = serde_json::to_value(plan).expect("a plan can be written as JSON");
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    NamedPlan::of_document(name.into_owned(), document).map_err(|source| InputsError::Plan {
        path: path.to_owned(),
        source,
    })
}

fn environment(
    folder: &Path,
    variables: BTreeMap<String, Variable>,
) -> Result<BTreeMap<String, OsString>, InputsError> {
    let value = |variable| match variable {
        Variable::Text(text) => Ok(text.into()),
        Variable::Flag(flag) => Ok(flag.to_string().into()),
        Variable::Number(number) => Ok(number.to_string().into()),
        // The adapter runs in another folder.
        Variable::File(variable) => {
            let path = folder.join(variable.file);
            match fs::canonicalize(&path) {
                Ok(path) => Ok(path.into()),
                Err(source) => Err(InputsError::Unreadable { path, source }),
            }
        }
    };
    variables
        .into_iter()
        .map(|(name, variable)| Ok((name, value(variable)?)))
        .collect()
}

fn forms(named: Option<Vec<Form>>, broker: Option<&Broker>) -> Forms {
    match (named, broker) {
        (Some(named), _) => Forms {
            stdin: named.contains(&Form::Stdin),
            arguments: named.contains(&Form::Arguments),
        },
        (None, Some(broker)) if !broker.uses_stdin => Forms {
            stdin: false,
            arguments: true,
        },
        (None, _) => Forms {
            stdin: true,
            arguments: true,
        },
    }
}

fn deadline(
    path: &Path,
    given: Option<Duration>,
    seconds: Option<u64>,
) -> Result<Duration, InputsError> {
    match (given, seconds) {
        (Some(given), _) => Ok(given),
        (None, None) => Ok(DEADLINE),
        (None, Some(seconds @ 1..=LONGEST_DEADLINE)) => Ok(Duration::from_secs(seconds)),
        (None, Some(seconds)) => Err(InputsError::Deadline {
            path: path.to_owned(),
            seconds,
        }),
    }
}

#[cfg(test)]
mod tests;
