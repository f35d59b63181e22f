use odb_adapter_sdk::protocol::{GeneratedManifest, ManifestText, Secrets};
use odb_adapter_sdk::secrets::{SecretReference, references_in};
use serde_json::Value;

use super::request::SERVICE_ID;

/// A manifest as it is deployed, and the secrets that it refers to.
pub(super) struct Deployed {
    pub(super) manifest: ManifestText,
    pub(super) secrets: Secrets,
}

impl Deployed {
    /// The result of a broker with secure manifests: each secret is stored, and its CredHub path replaces the
    /// placeholder (`spec/contracts/adapter-protocol.md`, "Secrets going out").
    pub(super) fn of(generated: &GeneratedManifest, deployment: &str) -> Self {
        let mut text = generated.manifest.as_str().to_owned();
        let mut secrets = Secrets::default();
        for (name, value) in generated.secrets.iter().flatten() {
            let placeholder = SecretReference::placeholder(name);
            if text.contains(placeholder.as_str()) {
                let reference = format!("((/odb/{SERVICE_ID}/{deployment}/{name}))");
                text = text.replace(placeholder.as_str(), &reference);
                secrets.insert(reference, stored(value));
            }
        }
        let manifest = ManifestText::from(text);
        secrets_of_variables(&manifest, &mut secrets);
        Self { manifest, secrets }
    }

    /// A deployed manifest, with generated values for its references.
    pub(super) fn from_text(manifest: ManifestText) -> Self {
        let mut secrets = Secrets::default();
        secrets_of_variables(&manifest, &mut secrets);
        Self { manifest, secrets }
    }
}

/// Values that the Director would have generated, or that an operator would have stored in CredHub.
fn secrets_of_variables(manifest: &ManifestText, secrets: &mut Secrets) {
    for reference in references_in(manifest.as_str()) {
        if secrets.expose(reference).is_none() {
            let name = reference.trim_start_matches("((").trim_end_matches("))");
            secrets.insert(reference, format!("made-up value of {name}"));
        }
    }
}

/// Texts as they are, anything else as JSON, as CredHub's readers get it.
fn stored(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::{GeneratedManifest, ManifestText};
    use serde_json::{Map, json};

    use super::Deployed;

    #[test]
    fn a_placeholder_becomes_the_location_of_its_secret_and_the_rest_stays() {
        let text = "a: ((odb_secret:pass))\nb: ((odb_secret:none))\nc: ((variable.ca))\n";
        let mut generated = GeneratedManifest::from_text(ManifestText::from(text));
        generated.secrets = Some(Map::from_iter([
            ("pass".to_owned(), json!("hunter2")),
            ("unused".to_owned(), json!("x")),
        ]));

        let deployed = Deployed::of(&generated, "service-instance_1");

        let location = "((/odb/service-id/service-instance_1/pass))";
        assert_eq!(
            deployed.manifest.as_str(),
            format!("a: {location}\nb: ((odb_secret:none))\nc: ((variable.ca))\n")
        );
        assert_eq!(deployed.secrets.expose(location), Some("hunter2"));
        assert!(deployed.secrets.expose("((variable.ca))").is_some());
        assert_eq!(deployed.secrets.references().count(), 3);
    }
}
