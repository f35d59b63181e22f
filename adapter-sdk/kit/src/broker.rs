//! What a broker does around a call: it passes on the platform's request, stores secrets, and asks the Director for
//! addresses.

use odb_adapter_sdk::protocol::{BoshVms, RequestParameters, Secrets};
use odb_adapter_sdk::secrets::{SecretReference, references_in};
use serde_json::{Map, Value, json};

/// The ids and names in the requests of a command (`spec/contracts/adapter-protocol.md`, "Request parameters").
pub(crate) struct Platform {
    pub(crate) service_id: &'static str,
    pub(crate) organization: &'static str,
    pub(crate) organization_name: &'static str,
    pub(crate) space: &'static str,
    pub(crate) space_name: &'static str,
    pub(crate) instance_name: &'static str,
}

impl Platform {
    pub(crate) fn order(
        &self,
        plan_id: &str,
        parameters: &Map<String, Value>,
    ) -> RequestParameters {
        body(json!({
            "service_id": self.service_id,
            "plan_id": plan_id,
            "organization_guid": self.organization,
            "space_guid": self.space,
            "context": self.context(),
            "parameters": parameters,
        }))
    }

    pub(crate) fn update(
        &self,
        plan_id: &str,
        previous_plan_id: &str,
        parameters: &Map<String, Value>,
    ) -> RequestParameters {
        body(json!({
            "service_id": self.service_id,
            "plan_id": plan_id,
            "previous_values": {
                "plan_id": previous_plan_id,
                "service_id": self.service_id,
                "organization_id": self.organization,
                "space_id": self.space,
            },
            "context": self.context(),
            "parameters": parameters,
        }))
    }

    pub(crate) fn upgrade(&self) -> RequestParameters {
        body(json!({ "context": self.context() }))
    }

    /// `app_guid` is empty for a binding without an application.
    pub(crate) fn bind(
        &self,
        plan_id: &str,
        app_guid: &str,
        parameters: &Map<String, Value>,
    ) -> RequestParameters {
        let mut request = json!({
            "app_guid": app_guid,
            "service_id": self.service_id,
            "plan_id": plan_id,
            "context": self.context(),
            "parameters": parameters,
        });
        if !app_guid.is_empty() {
            request["bind_resource"] = json!({"app_guid": app_guid, "space_guid": self.space});
        }
        body(request)
    }

    pub(crate) fn unbind(&self, plan_id: &str) -> RequestParameters {
        body(json!({"plan_id": plan_id, "service_id": self.service_id}))
    }

    fn context(&self) -> Value {
        json!({
            "platform": "cloudfoundry",
            "organization_guid": self.organization,
            "organization_name": self.organization_name,
            "space_guid": self.space,
            "space_name": self.space_name,
            "instance_name": self.instance_name,
        })
    }
}

fn body(body: Value) -> RequestParameters {
    match body {
        Value::Object(fields) => RequestParameters::from_fields(fields),
        _ => RequestParameters::default(),
    }
}

/// The manifest with the paths of stored secrets in place of their placeholders, and the value of each of its references
/// (`spec/contracts/adapter-protocol.md`, "Secrets going out"). `made_up` has those that the adapter did not answer: the
/// Director generates them, or an operator has stored them in CredHub.
pub(crate) fn deployed(
    manifest: &str,
    answered: &Map<String, Value>,
    folder: &str,
    made_up: impl Fn(&str) -> String,
) -> (String, Secrets) {
    let stored = |name: &str| format!("(({folder}/{name}))");
    let manifest = answered.keys().fold(manifest.to_owned(), |text, name| {
        text.replace(SecretReference::placeholder(name).as_str(), &stored(name))
    });
    let secrets = references_in(&manifest).map(|reference| {
        let entry = answered.iter().find(|(name, _)| stored(name) == reference);
        let value = match entry {
            // Texts as they are, anything else as JSON, as readers of CredHub get it.
            Some((_, Value::String(value))) => value.clone(),
            Some((_, value)) => value.to_string(),
            None => made_up(reference),
        };
        (reference.to_owned(), value)
    });
    let secrets = secrets.collect();
    (manifest, secrets)
}

pub(crate) fn secrets_folder(service_id: &str, deployment: &str) -> String {
    format!("/odb/{service_id}/{deployment}")
}

/// An address for each instance of each group that is no errand.
pub(crate) fn made_up_vms(manifest: &Value) -> BoshVms {
    let groups = manifest["instance_groups"].as_array().into_iter().flatten();
    groups
        .filter(|group| group["lifecycle"] != "errand")
        .enumerate()
        .filter_map(|(nth, group)| {
            let instances = group["instances"].as_u64().unwrap_or(1).min(200);
            let addresses =
                (0..instances).map(|instance| format!("10.0.{}.{}", nth % 256, instance + 10));
            Some((group["name"].as_str()?.to_owned(), addresses.collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_becomes_the_location_of_its_secret_and_the_rest_stays() {
        let text = "a: ((odb_secret:pass))\nb: ((odb_secret:none))\nc: ((variable.ca))\n";
        let answered = Map::from_iter([
            ("pass".to_owned(), json!("hunter2")),
            ("unused".to_owned(), json!("x")),
        ]);
        let folder = secrets_folder("service-id", "service-instance_1");

        let (manifest, secrets) = deployed(text, &answered, &folder, |_| "made up".to_owned());

        let location = "((/odb/service-id/service-instance_1/pass))";
        let expected = format!("a: {location}\nb: ((odb_secret:none))\nc: ((variable.ca))\n");
        assert_eq!(manifest, expected);
        assert_eq!(secrets.expose(location), Some("hunter2"));
        assert_eq!(secrets.expose("((variable.ca))"), Some("made up"));
        assert_eq!(secrets.references().count(), 3);
    }
}
