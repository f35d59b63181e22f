//! The life of an instance: what is asked for, and what the broker keeps in between.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    manifest::{parsed, references},
    promises::{self, Change},
    service::{DEPLOYMENT, Service},
};
use crate::executable::Run;

const OFFERING: &str = "svc-1";

/// An operation on an instance.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    plan: Value,
    parameters: Map<String, Value>,
    has_client: bool,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    kind: Kind,
    /// The form in which the Director gives the manifest back.
    form: Form,
}

#[derive(Clone, Debug)]
enum Kind {
    Update {
        plan: Value,
        parameters: Map<String, Value>,
    },
    /// The operator has changed the plan, offers the next release and upgrades.
    Upgrade { plan: Value },
}

#[derive(Clone, Copy, Debug)]
enum Form {
    AsWritten,
    Json,
    KeysSorted,
}

/// A deployed instance.
pub(crate) struct Instance<'s> {
    service: &'s Service,
    version: usize,
    plan: Value,
    deployed: String,
    /// ODB-managed secrets by their paths in CredHub.
    vault: BTreeMap<String, Value>,
    configs: BTreeMap<String, Value>,
    has_client: bool,
}

/// An answer to `generate-manifest`.
struct Generated {
    text: String,
    secrets: Map<String, Value>,
    configs: Map<String, Value>,
}

pub(crate) fn lives(service: &Service) -> impl Strategy<Value = Life> + use<> {
    let kind = prop_oneof![
        3 => (service.plans.clone(), service.parameters.clone())
            .prop_map(|(plan, parameters)| Kind::Update { plan, parameters }),
        1 => service.plans.clone().prop_map(|plan| Kind::Upgrade { plan }),
    ];
    let form = prop_oneof![
        Just(Form::AsWritten),
        Just(Form::Json),
        Just(Form::KeysSorted)
    ];
    let step = (kind, form).prop_map(|(kind, form)| Step { kind, form });
    (
        service.plans.clone(),
        service.parameters.clone(),
        any::<bool>(),
        prop::collection::vec(step, 1..5),
    )
        .prop_map(|(plan, parameters, has_client, steps)| Life {
            plan,
            parameters,
            has_client,
            steps,
        })
}

impl<'s> Instance<'s> {
    /// Orders an instance, which must be had.
    pub(crate) fn order(service: &'s Service, life: &Life) -> Self {
        let mut instance = Self {
            service,
            version: 0,
            plan: life.plan.clone(),
            deployed: String::new(),
            vault: BTreeMap::new(),
            configs: BTreeMap::new(),
            has_client: life.has_client,
        };
        let client = if life.has_client {
            client("hush")
        } else {
            Value::Null
        };
        let run = instance.ask(&CallInput {
            plan: &life.plan,
            request: request(&life.parameters),
            previous_manifest: "",
            previous_plan: &Value::Null,
            previous_secrets: Value::Null,
            previous_configs: Value::Null,
            client,
        });
        let generated = generated(&run);
        instance.deploy(&generated);
        instance.expect_no_changes(Form::AsWritten);
        instance
    }

    /// Updates or upgrades it, and holds what comes of it against what was.
    pub(crate) fn undergo(&mut self, step: &Step) {
        let (before, version_before) = (self.deployed.clone(), self.version);
        let plan_before = self.plan.clone();
        let wanted = self.wanted(&step.kind);
        let run = self.ask(&CallInput {
            plan: &wanted.plan,
            request: wanted.request,
            previous_manifest: &formed(&before, step.form),
            previous_plan: &wanted.previous_plan,
            previous_secrets: wanted.previous_secrets,
            previous_configs: json!(self.configs),
            client: if self.has_client {
                client("")
            } else {
                Value::Null
            },
        });
        assert!(!run.is_a_crash(), "{run:?}");
        if (self.service.refuses)(&plan_before, &wanted.plan) {
            assert!(
                !run.rejection().is_empty(),
                "the user reads nothing: {run:?}"
            );
            self.version = version_before;
            return;
        }
        let vault_before = self.vault.clone();
        self.plan = wanted.plan;
        self.deploy(&generated(&run));

        let changed = changed_names(&plan_before, &self.plan, &wanted.parameters);
        let change = Change {
            service: self.service,
            before: &before,
            after: &self.deployed,
            changed: &changed,
            groups: &groups_of(&self.plan),
        };
        promises::nothing_is_lost(&change);
        promises::no_secret_changes(&change, &vault_before, &self.vault);
        promises::no_secret_is_said(&run, &self.vault);
        self.expect_no_changes(step.form);
    }

    /// The inputs that the broker sends for it.
    fn wanted(&mut self, kind: &Kind) -> Wanted {
        match kind {
            Kind::Update { plan, parameters } => Wanted {
                plan: plan.clone(),
                parameters: parameters.clone(),
                request: request(parameters),
                previous_plan: self.plan.clone(),
                previous_secrets: self.secrets(),
            },
            Kind::Upgrade { plan } => {
                self.version = (self.version + 1).min(self.service.versions.len() - 1);
                let mut plan = plan.clone();
                let properties = plan["properties"].as_object_mut().unwrap();
                for name in self.service.not_upgraded {
                    properties.remove(*name);
                    if let Some(deployed) = self.plan["properties"].get(name) {
                        properties.insert((*name).to_owned(), deployed.clone());
                    }
                }
                Wanted {
                    parameters: Map::new(),
                    request: json!({ "context": null }),
                    // Today's plan as well: what it was is in the manifest alone.
                    previous_plan: plan.clone(),
                    plan,
                    previous_secrets: Value::Null,
                }
            }
        }
    }

    /// The manifest as the Director has it.
    pub(crate) fn deployed(&self) -> &str {
        &self.deployed
    }

    /// The broker's request before an update: the same instance again, to look for pending changes.
    pub(crate) fn look_for_changes(&self, previous_manifest: &str) -> Run {
        self.ask(&CallInput {
            plan: &self.plan,
            request: json!({}),
            previous_manifest,
            previous_plan: &self.plan,
            previous_secrets: self.secrets(),
            previous_configs: json!(self.configs),
            client: Value::Null,
        })
    }

    fn expect_no_changes(&self, form: Form) {
        let run = self.look_for_changes(&formed(&self.deployed, form));
        let regenerated = generated(&run).text;
        promises::nothing_is_pending(&self.deployed, &regenerated);
    }

    fn ask(&self, call_input: &CallInput<'_>) -> Run {
        let input = json!({
            "service_deployment": self.service.deployment(self.version).to_string(),
            "plan": call_input.plan.to_string(),
            "previous_plan": call_input.previous_plan.to_string(),
            "previous_manifest": call_input.previous_manifest,
            "request_parameters": call_input.request.to_string(),
            "previous_secrets": call_input.previous_secrets.to_string(),
            "previous_configs": call_input.previous_configs.to_string(),
            "uaa_client": call_input.client.to_string(),
        });
        self.service.executable.ask("generate-manifest", &input)
    }

    /// Stores the secrets, puts their paths in the place of the placeholders, and deploys.
    fn deploy(&mut self, generated: &Generated) {
        let manifest = parsed(&generated.text);
        assert_eq!(manifest["name"], DEPLOYMENT, "{}", generated.text);
        let mut text = generated.text.clone();
        for reference in references(&generated.text) {
            let Some(name) = reference.strip_prefix("odb_secret:") else {
                continue;
            };
            let secret = generated.secrets.get(name);
            let secret = secret.unwrap_or_else(|| panic!("nothing is reported of secret `{name}`"));
            let path = format!("/odb/{OFFERING}/{DEPLOYMENT}/{name}");
            text = text.replace(&format!("(({reference}))"), &format!("(({path}))"));
            self.vault.insert(path, secret.clone());
        }
        for (kind, config) in &generated.configs {
            self.configs.insert(kind.clone(), config.clone());
        }
        self.deployed = text;
    }

    /// Every secret of the deployed manifest by its reference.
    fn secrets(&self) -> Value {
        references(&self.deployed)
            .into_iter()
            .map(|reference| {
                let value = match self.vault.get(reference) {
                    Some(Value::String(secret)) => secret.clone(),
                    Some(structured) => structured.to_string(),
                    None => format!("value of {reference}"),
                };
                (format!("(({reference}))"), value.into())
            })
            .collect::<Map<_, _>>()
            .into()
    }
}

/// The inputs of one step of a life.
struct Wanted {
    plan: Value,
    parameters: Map<String, Value>,
    request: Value,
    previous_plan: Value,
    previous_secrets: Value,
}

struct CallInput<'q> {
    plan: &'q Value,
    request: Value,
    previous_manifest: &'q str,
    previous_plan: &'q Value,
    previous_secrets: Value,
    previous_configs: Value,
    client: Value,
}

fn generated(run: &Run) -> Generated {
    assert!(!run.is_a_crash(), "{run:?}");
    let answer = run.answer();
    let members = |name: &str| answer[name].as_object().cloned().unwrap_or_default();
    Generated {
        text: answer["manifest"].as_str().unwrap().to_owned(),
        secrets: members("secrets"),
        configs: members("configs"),
    }
}

fn request(parameters: &Map<String, Value>) -> Value {
    json!({
        "service_id": OFFERING, "plan_id": "plan-1",
        "context": {"platform": "cloudfoundry", "instance_name": "one"},
        "parameters": parameters,
    })
}

/// UAA returns the secret of a client once.
fn client(secret: &str) -> Value {
    json!({
        "client_id": "c0ffee00-1111-4222-8333-444455556666", "client_secret": secret, "name": "one",
        "scopes": "a,b", "resource_ids": "r", "authorities": "x", "authorized_grant_types": "client_credentials",
    })
}

fn formed(manifest: &str, form: Form) -> String {
    match form {
        Form::AsWritten => manifest.to_owned(),
        Form::Json => parsed(manifest).to_string(),
        Form::KeysSorted => format!(
            "--- # as another author would write it\n{:#}\n",
            sorted(parsed(manifest))
        ),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.into_iter().collect();
            let members = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}

/// The names of what changed: parameters, plan properties and other members of the plan.
fn changed_names(
    before: &Value,
    after: &Value,
    parameters: &Map<String, Value>,
) -> BTreeSet<String> {
    let members = |plan: &Value, section: Option<&str>| {
        let object = section.map_or(plan, |section| &plan[section]);
        object.as_object().cloned().unwrap_or_default()
    };
    let mut changed: BTreeSet<_> = parameters.keys().cloned().collect();
    for section in [None, Some("properties")] {
        let (before, after) = (members(before, section), members(after, section));
        let names = before.keys().chain(after.keys());
        changed.extend(
            names
                .filter(|name| before.get(*name) != after.get(*name))
                .cloned(),
        );
    }
    changed
}

fn groups_of(plan: &Value) -> BTreeSet<String> {
    let groups = plan["instance_groups"].as_array();
    groups
        .into_iter()
        .flatten()
        .filter_map(|group| group["name"].as_str().map(str::to_owned))
        .collect()
}
