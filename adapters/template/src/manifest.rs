//! Answers `generate-manifest`.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context as _;
use odb_adapter_sdk::manifest::Manifest;
use odb_adapter_sdk::protocol::{GenerateManifest, GeneratedManifest, ManifestText};
use odb_adapter_sdk::{AdapterError, json, yaml};
use serde_json::{Map, Value};

use crate::folder::{Folder, MANIFEST, Storage, item};
use crate::manifest_check::{self, Made};
use crate::secrets::{self, Before};
use crate::template::SecretFacts;
use crate::{context, needs, values};

pub(crate) fn generate(
    folder: &Folder,
    call: &GenerateManifest,
) -> Result<GeneratedManifest, AdapterError> {
    needs::plan_properties(folder, &call.plan.properties)?;
    let schema = if call.previous_manifest.is_some() {
        &folder.schemas.update
    } else {
        &folder.schemas.create
    };
    needs::parameters(schema, call.request_parameters.fields())?;
    needs::no_references(folder, &call.request_parameters)?;
    let previous = Previous::of(call)?;
    needs::deployment(
        folder,
        &call.service_deployment,
        previous.as_ref().map(|previous| &previous.manifest),
    )
    .map_err(|error| folder.unfit(error))?;

    let previous_document = previous.as_ref().map(|previous| &previous.document);
    let omit = folder.engine.session.omit();
    let mut context = context::of_manifest(call, previous_document, &folder.settings, &omit);
    {
        let mut facts = folder.engine.session.facts();
        facts.deployment = Some(call.service_deployment.clone());
        facts.plan = Some(call.plan.clone());
        facts.previous_manifest = previous_document.cloned();
    }
    needs::instance_groups(folder, call, &context)?;
    let values = values::decide(folder, &context, previous_document)?;
    context.insert("values".to_owned(), Value::Object(values));
    let locations = values::secret_locations(folder, &context)?;
    let before = Before {
        manifest: previous_document,
        secrets: call.previous_secrets.as_ref(),
    };
    let decided = secrets::decide(folder, &context, &locations, &before)?;
    folder.engine.session.facts().secrets = SecretFacts::References(decided.references.clone());

    let document = folder
        .made(folder.engine.yaml(MANIFEST, &context))?
        .ok_or_else(|| AdapterError::for_operator(format!("`{MANIFEST}` renders nothing")))?;
    let manifest: Manifest = serde_json::from_value(document.clone())
        .map_err(json::Error::from)
        .with_context(|| format!("`{MANIFEST}` renders no BOSH manifest"))?;
    let text = ManifestText::try_from(&manifest)?;
    manifest_check::check(&Made {
        call,
        manifest: &manifest,
        document: &document,
        text: text.as_str(),
        locations: &locations,
        decided: &decided,
    })?;
    report_unused_groups(call, &manifest);

    let mut answer = GeneratedManifest::from_text(text);
    let mut secrets = folder.description.secrets.values();
    if secrets.any(|secret| secret.stored == Storage::OdbManaged) {
        answer.secrets = Some(decided.entries);
    }
    answer.configs = configs(folder, &context)?;
    answer.labels = labels(folder, &context)?;
    let configs = answer.configs.iter().flatten();
    let configs = configs.map(|(kind, text)| (format!("the {kind} config"), text.clone()));
    let labels = answer.labels.iter();
    let labels = labels.map(|(name, label)| (format!("label `{name}`"), label.to_string()));
    manifest_check::without_placeholders(configs.chain(labels))?;
    Ok(answer)
}

/// Reports unused instance groups to the operator; a manifest may leave them out.
fn report_unused_groups(call: &GenerateManifest, manifest: &Manifest) {
    for group in &call.plan.instance_groups {
        let name = &group.name;
        if manifest.instance_groups.iter().all(|one| one.name != *name) {
            // A failure to write is ignored.
            let _ = writeln!(
                std::io::stderr(),
                "[template-service-adapter] warning: the plan's instance group `{name}` is not in the manifest"
            );
        }
    }
}

/// The last deployed manifest, parsed and as text.
struct Previous {
    manifest: Manifest,
    document: Value,
}

impl Previous {
    fn of(call: &GenerateManifest) -> Result<Option<Self>, yaml::Error> {
        let Some(text) = &call.previous_manifest else {
            return Ok(None);
        };
        Ok(Some(Self {
            manifest: text.parse()?,
            document: yaml::from_str(text.as_str())?,
        }))
    }
}

/// The BOSH configs of the instance; nothing if the folder has no template for any.
fn configs(
    folder: &Folder,
    context: &Map<String, Value>,
) -> Result<Option<BTreeMap<String, String>>, AdapterError> {
    let mut configs = BTreeMap::new();
    let mut is_answered = false;
    for (kind, template) in folder.configs() {
        is_answered = true;
        let rendered = folder.made(folder.engine.yaml(template, context))?;
        let text = match rendered {
            None | Some(Value::Null) => continue,
            // A complete config of the user stays unchanged.
            Some(Value::String(text)) if text.trim().is_empty() => continue,
            Some(Value::String(text)) => text,
            Some(document) => yaml::to_string(&document)?,
        };
        configs.insert(kind.to_owned(), text);
    }
    Ok(is_answered.then_some(configs))
}

fn labels(
    folder: &Folder,
    context: &Map<String, Value>,
) -> Result<Map<String, Value>, AdapterError> {
    let mut labels = Map::new();
    for (name, label) in &folder.description.labels {
        let key = item(&format!("labels.{name}"));
        let value = match label {
            Value::String(_) => folder.made(folder.engine.value(&key, context))?,
            other => Some(other.clone()),
        };
        labels.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(labels)
}
