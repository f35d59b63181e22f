//! The input of an adapter, and what a broker makes of its answer.

use std::collections::BTreeMap;

use odb_adapter_sdk::manifest::{JobProperty, Manifest};
use odb_adapter_sdk::protocol::{
    GenerateManifest, GeneratedManifest, Plan, PlanInstanceGroup, RequestParameters, Secrets,
    ServiceDeployment, ServiceRelease, Stemcell,
};
use odb_adapter_sdk::secrets::references_in;
use serde_json::{Value, json};

/// A create of an instance with one group, `server`, out of a release with a few jobs.
pub(crate) fn create() -> GenerateManifest {
    create_of(vec![group("server")])
}

pub(crate) fn create_of(groups: Vec<PlanInstanceGroup>) -> GenerateManifest {
    let jobs = ["server", "exporter", "check", "backup"].map(str::to_owned);
    GenerateManifest::new(
        ServiceDeployment::new(
            "service-instance_1",
            vec![ServiceRelease::new("service", "1.2", jobs.to_vec())],
            vec![Stemcell::new("ubuntu-jammy", "1.80")],
        ),
        Plan::new(groups),
        request(&json!({"service_id": "s", "plan_id": "p", "parameters": {}})),
    )
}

pub(crate) fn group(name: &str) -> PlanInstanceGroup {
    let (networks, azs) = (vec!["net".to_owned()], vec!["z1".to_owned()]);
    PlanInstanceGroup::new(name, "small", 2, networks, azs)
}

pub(crate) fn request(body: &Value) -> RequestParameters {
    RequestParameters::from_json(&body.to_string()).unwrap()
}

/// The broker's state of an instance: the manifest at the Director and the values in CredHub.
#[derive(Default)]
pub(crate) struct Deployed {
    pub(crate) manifest: String,
    credentials: BTreeMap<String, Value>,
}

impl Deployed {
    /// Stores the secrets that the manifest has placeholders for, and deploys.
    pub(crate) fn take(&mut self, answer: &GeneratedManifest) {
        let mut manifest = answer.manifest.as_str().to_owned();
        for (name, value) in answer.secrets.iter().flatten() {
            let placeholder = format!("((odb_secret:{name}))");
            let path = format!("((/odb/s/service-instance_1/{name}))");
            if manifest.contains(&placeholder) {
                manifest = manifest.replace(&placeholder, &path);
                self.credentials.insert(path, value.clone());
            }
        }
        assert!(
            !manifest.contains("((odb_secret:"),
            "the value is unknown: {manifest}"
        );
        self.manifest = manifest;
    }

    /// The values of the manifest's references, as the broker sends them.
    pub(crate) fn secrets(&self) -> Secrets {
        references_in(&self.manifest)
            .filter_map(|reference| {
                let reported = match self.credentials.get(reference)? {
                    Value::String(text) => text.clone(),
                    object => object.to_string(),
                };
                Some((reference, reported))
            })
            .collect()
    }

    pub(crate) fn property(&self, property: JobProperty<'_>) -> Option<Value> {
        let manifest: Manifest = odb_adapter_sdk::yaml::from_str(&self.manifest).unwrap();
        manifest.property(property).cloned()
    }

    /// The value that a job of the instance sees.
    pub(crate) fn value(&self, property: JobProperty<'_>) -> Option<String> {
        let text = self.property(property)?.as_str()?.to_owned();
        Some(match self.secrets().expose(&text) {
            Some(value) => value.to_owned(),
            None => text,
        })
    }

    fn previous(&self, mut call: GenerateManifest) -> GenerateManifest {
        call.previous_manifest = Some(self.manifest.as_str().into());
        call.previous_plan = Some(call.plan.clone());
        call
    }

    pub(crate) fn update(&self, call: GenerateManifest) -> GenerateManifest {
        let mut call = self.previous(call);
        call.previous_secrets = Some(self.secrets());
        call
    }

    pub(crate) fn search_for_pending_changes(&self, call: GenerateManifest) -> GenerateManifest {
        let mut call = self.update(call);
        call.request_parameters = RequestParameters::default();
        call
    }

    pub(crate) fn upgrade(&self, call: GenerateManifest) -> GenerateManifest {
        let mut call = self.previous(call);
        call.request_parameters = request(&json!({"context": null}));
        call
    }
}
