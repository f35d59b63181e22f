//! Manifests: whether one may be deployed (`spec/contracts/adapter-protocol.md` §1.9), what one would change, and whether
//! the adapter's manifest for a plan could be deployed: a trial order for a check of the configuration, without a call to
//! an upstream.
//!
//! | file | contents |
//! | --- | --- |
//! | `difference`, `path` | the differences between two, and what of them may be shown |
//! | `planned` | whether an upgrade would change anything, what, and the effect on VMs |

pub(crate) mod difference;
mod path;
pub(crate) mod planned;

use std::{collections::BTreeSet, error};

use odb_adapter_sdk::{
    protocol::{
        GenerateManifest, GeneratedManifest, RequestParameters, ServiceDeployment, UaaClient,
    },
    secrets::Reference,
    yaml,
};
use odb_api_types::{code::Code, ids::InstanceId};
use odb_clients::director::DeploymentName;
use odb_config::{BoshConfigs, Config, Plan, WatchTime};
use odb_core::finding::Finding;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    adapter::{AdapterError, ServiceAdapter, plan_for_adapter},
    error::Error,
    instance::deployment,
    instance_clients::{CfContext, ClientError, client_of_an_order},
    secrets::InstanceSecrets,
};

#[derive(Deserialize)]
struct Checked {
    #[serde(default)]
    name: String,
    #[serde(default)]
    releases: Option<Vec<Versioned>>,
    #[serde(default)]
    stemcells: Option<Vec<Versioned>>,
}

#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    version: String,
}

pub(crate) fn check(manifest: &str, expected: &DeploymentName) -> Result<(), Error> {
    let checked: Checked = yaml::from_str(manifest).map_err(|error| Error::ManifestUnreadable {
        error: error.to_string(),
    })?;
    if checked.name != expected.as_str() {
        return Err(Error::WrongName {
            found: checked.name,
            expected: expected.clone(),
        });
    }
    let releases = checked
        .releases
        .into_iter()
        .flatten()
        .map(|entry| ("release", entry));
    let stemcells = checked
        .stemcells
        .into_iter()
        .flatten()
        .map(|entry| ("stemcell", entry));
    for (what, entry) in releases.chain(stemcells) {
        if entry.version.ends_with("latest") {
            return Err(Error::FloatingVersion {
                what,
                name: entry.name.or(entry.alias).unwrap_or_default(),
                version: entry.version,
            });
        }
    }
    Ok(())
}

const INSTANCE: &str = "0db0c4ec-0000-4000-8000-000000000002";
const ORGANIZATION: &str = "0db0c4ec-0000-4000-8000-00000000000a";
const SPACE: &str = "0db0c4ec-0000-4000-8000-00000000000b";

/// The required keys of a manifest's `update` block.
const NEEDED: [&str; 4] = [
    "canaries",
    "max_in_flight",
    "canary_watch_time",
    "update_watch_time",
];
const WATCH_TIMES: [&str; 2] = ["canary_watch_time", "update_watch_time"];

/// Why an order of a plan would fail.
#[derive(Debug)]
pub struct TrialError {
    /// The finding for `check`, with the code under which an order would fail.
    pub finding: Finding,
    /// The adapter has ended with a failure, as it does when it misses a parameter.
    pub is_rejection: bool,
}

impl TrialError {
    fn new(code: Code, found: impl Into<String>, remedy: &str) -> Self {
        Self {
            finding: Finding::tried(code, None, "", found, remedy),
            is_rejection: false,
        }
    }

    fn because(self, error: &(dyn error::Error + 'static)) -> Self {
        Self {
            finding: self.finding.because(error),
            ..self
        }
    }
}

impl From<AdapterError> for TrialError {
    fn from(error: AdapterError) -> Self {
        let remedy = "correct the plan or the adapter, or leave the trial out (`--adapter off`) where every order needs parameters";
        Self {
            is_rejection: matches!(error, AdapterError::Failed { .. }),
            ..Self::new(error.code(), "the adapter generates no manifest", remedy).because(&error)
        }
    }
}

impl From<ClientError> for TrialError {
    fn from(error: ClientError) -> Self {
        let found = "the UAA client of an instance cannot be made";
        let remedy = "correct `cf.uaa.client_definition`";
        Self::new(Code::InstanceClient, found, remedy).because(&error)
    }
}

/// The result of a trial order.
#[derive(Debug, Default)]
pub struct Tried {
    /// Why orders would fail.
    pub errors: Vec<TrialError>,
    /// Instance groups of the plan that the manifest does not have.
    pub ignored_groups: Vec<String>,
}

/// Orders an instance of a plan without parameters, as far as the manifest.
pub async fn try_order(config: &Config, adapter: &ServiceAdapter, plan: &Plan) -> Tried {
    let instance = InstanceId::try_from(INSTANCE.to_owned()).expect("a UUID travels");
    let mut tried = Tried::default();
    let answer = match generate(config, adapter, plan, &instance).await {
        Ok(answer) => answer,
        Err(error) => {
            tried.errors.push(error);
            return tried;
        }
    };
    if let Err(error) = check(answer.manifest.as_str(), &deployment(&instance)) {
        let found = "the adapter's manifest cannot be deployed";
        let error = invalid(found, "correct the plan, or the adapter").because(&error);
        tried.errors.push(error);
        return tried;
    }
    let document: Value = yaml::from_str(answer.manifest.as_str()).unwrap_or_default();
    let errors = &mut tried.errors;
    let returns_configs = answer.configs.as_ref().is_some_and(|all| !all.is_empty());
    if returns_configs && config.broker.bosh_configs == BoshConfigs::Disabled {
        let remedy = "unset `broker.disable_bosh_configs`";
        errors.push(invalid("the adapter returns BOSH configs", remedy));
    }
    // Placeholders stay where no secrets are stored. Only jobs that have a property for them miss their values.
    if config.bosh_credhub.is_some() {
        let secrets = InstanceSecrets::new(None, config.offering.id.clone());
        let wanted = secrets.wanted(&instance, answer.manifest.as_str(), answer.secrets.as_ref());
        if let Err(error) = wanted {
            let found = "the adapter's secrets cannot be stored";
            errors.push(invalid(found, "correct the adapter").because(&error));
        }
    }
    errors.extend(check_references(&document));
    errors.extend(check_update(&document["update"]));
    tried.ignored_groups = ignored_groups(plan, &document);
    tried
}

/// A manifest, or what comes with it, that could not be deployed.
fn invalid(found: impl Into<String>, remedy: &str) -> TrialError {
    TrialError::new(Code::Manifest, found, remedy)
}

async fn generate(
    config: &Config,
    adapter: &ServiceAdapter,
    plan: &Plan,
    instance: &InstanceId,
) -> Result<GeneratedManifest, TrialError> {
    let request = request(config, plan);
    let mut question = GenerateManifest::new(
        ServiceDeployment::new(
            deployment(instance).as_str(),
            config.software.releases.clone(),
            config.software.stemcells.clone(),
        ),
        plan_for_adapter(&config.offering, plan),
        request.clone(),
    );
    question.uaa_client = client(config, instance, &request)?;
    let deadline = Instant::now() + config.broker.timings.adapter_call;
    Ok(adapter.generate_manifest(&question, deadline).await?)
}

/// The body of an order as Cloud Foundry sends it.
fn request(config: &Config, plan: &Plan) -> RequestParameters {
    let body = json!({
        "service_id": config.offering.id,
        "plan_id": plan.id,
        "organization_guid": ORGANIZATION,
        "space_guid": SPACE,
        "context": {
            "platform": "cloudfoundry",
            "organization_guid": ORGANIZATION,
            "organization_name": "trial",
            "space_guid": SPACE,
            "space_name": "trial",
            "instance_name": "trial",
        },
        "parameters": {},
    });
    match body {
        Value::Object(fields) => RequestParameters::from_fields(fields),
        _ => RequestParameters::default(),
    }
}

fn client(
    config: &Config,
    instance: &InstanceId,
    request: &RequestParameters,
) -> Result<Option<UaaClient>, ClientError> {
    let cf = config.cloud_foundry.as_ref();
    cf.and_then(|cf| cf.client_definition.as_ref())
        .map(|definition| {
            let location = CfContext::of(request);
            client_of_an_order(definition, &config.offering.id, instance, &location)
        })
        .transpose()
}

/// A new deployment has no other variables than those that its manifest declares.
fn check_references(document: &Value) -> Option<TrialError> {
    let declared: BTreeSet<&str> = list(document, "variables")
        .filter_map(|variable| variable["name"].as_str())
        .collect();
    let mut unresolved = BTreeSet::new();
    for text in texts(document) {
        for reference in Reference::all_in(text) {
            let is_resolved = reference.placeholder().is_some()
                || reference.is_absolute()
                || [reference.root(), reference.name()]
                    .iter()
                    .any(|name| declared.contains(name));
            if !is_resolved {
                unresolved.insert(reference.text());
            }
        }
    }
    if unresolved.is_empty() {
        return None;
    }
    let references: Vec<_> = unresolved.into_iter().collect();
    let references = references.join("`, `");
    Some(invalid(
        format!("the adapter's manifest refers to `{references}`, which nothing resolves"),
        "give the value in the place of the reference, an absolute name, or have the adapter declare the variable",
    ))
}

fn check_update(update: &Value) -> Vec<TrialError> {
    let is_missing = |key: &&str| update[*key].is_null() || update[*key] == "";
    let mut errors: Vec<_> = NEEDED
        .into_iter()
        .filter(|key| is_missing(key))
        .map(|key| {
            let found = format!("the adapter's manifest has no `update.{key}`");
            invalid(found, "give it by `update` of the plan")
        })
        .collect();
    for key in WATCH_TIMES.into_iter().filter(|key| !is_missing(key)) {
        let value = match &update[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if WatchTime::read(&value) != WatchTime::Right {
            errors.push(invalid(
                format!("the adapter's manifest has `{value}` for `update.{key}`"),
                "have it be milliseconds, from and to, such as `30000-240000`",
            ));
        }
    }
    errors
}

/// An adapter may leave out unknown members.
fn ignored_groups(plan: &Plan, document: &Value) -> Vec<String> {
    let is_there =
        |name: &str| list(document, "instance_groups").any(|group| group["name"] == name);
    plan.instance_groups
        .iter()
        .filter(|group| group.instances > 0 && !is_there(&group.name))
        .map(|group| group.name.clone())
        .collect()
}

fn list<'d>(document: &'d Value, key: &str) -> impl Iterator<Item = &'d Value> {
    document[key].as_array().into_iter().flatten()
}

/// All texts of a document but the names of keys, which the Director does not resolve.
fn texts(document: &Value) -> Vec<&str> {
    match document {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> DeploymentName {
        "service-instance_i1".parse().unwrap()
    }

    #[test]
    fn an_exact_manifest_passes() {
        let manifest = "name: service-instance_i1\nreleases: [{name: r, version: 1.10}]\nstemcells: [{alias: s, os: o, version: '1.2'}]\n";
        assert!(check(manifest, &name()).is_ok());
    }

    #[test]
    fn a_manifest_of_another_deployment_is_refused() {
        let error = check("name: cf\n", &name()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the adapter's manifest is named `cf`; it must be `service-instance_i1`"
        );
    }

    #[test]
    fn floating_versions_are_refused() {
        for manifest in [
            "name: service-instance_i1\nreleases: [{name: r, version: latest}]\n",
            "name: service-instance_i1\nstemcells: [{alias: s, version: 3112.latest}]\n",
        ] {
            assert!(
                matches!(check(manifest, &name()), Err(Error::FloatingVersion { .. })),
                "{manifest}"
            );
        }
    }

    #[test]
    fn a_error_never_quotes_the_manifest() {
        let error = check("name: [hunter2\n", &name()).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    fn document(text: &str) -> Value {
        yaml::from_str(text).unwrap()
    }

    #[test]
    fn a_reference_that_nothing_resolves_is_named() {
        let resolved = "variables: [{name: admin, type: user}, {name: /shared/ca, type: certificate}]\n\
            a: ((admin.password))\nb: 'x-((admin))-((/else/where.ca))'\nc: ((odb_secret:token))\nd: {((key)): 1} # ((comment))\n";
        assert!(check_references(&document(resolved)).is_none());
        let error = check_references(&document("a: ((x))\nb: [{c: 'u((y.z))'}]\nvariables: ~\n"));
        let reported = error.unwrap().finding.to_string();
        assert!(
            reported.contains("refers to `((x))`, `((y.z))`, which nothing resolves; "),
            "{reported}"
        );
    }

    #[test]
    fn an_update_block_is_whole_and_its_watch_times_can_be_read() {
        let reported = |update: &str| -> Vec<String> {
            let errors = check_update(&document(update));
            errors
                .iter()
                .map(|error| error.finding.to_string())
                .collect()
        };
        let whole =
            "{canaries: 0, max_in_flight: 1, canary_watch_time: 1000, update_watch_time: 1-2}";
        assert_eq!(reported(whole), [""; 0]);
        let lacking = reported("{canaries: 0, canary_watch_time: 60s, update_watch_time: ''}");
        assert_eq!(lacking.len(), 3, "{lacking:?}");
        for (error, words) in lacking.iter().zip([
            "no `update.max_in_flight`",
            "no `update.update_watch_time`",
            "has `60s` for `update.canary_watch_time`",
        ]) {
            assert!(error.contains(words), "{lacking:?}");
        }
        assert_eq!(reported("~").len(), 4);
    }
}
