//! The bill as JSON of CycloneDX 1.6. It has no time and no random number, so that builds can be compared.

use anyhow::Context;
use serde_json::{Value, json};

use super::{Component, Origin, Subject, uuid_of};

pub(super) fn document(subject: &Subject, components: &[Component]) -> anyhow::Result<String> {
    let root = format!("pkg:generic/{}@{}", subject.name, subject.version);
    let mut dependencies: Vec<Value> = components
        .iter()
        .map(|component| json!({"ref": component.purl, "dependsOn": component.uses}))
        .collect();
    let direct: Vec<&str> = components
        .iter()
        .filter(|component| {
            matches!(component.origin, Origin::Debian | Origin::Toolchain)
                || subject.programs.contains(&component.name)
        })
        .map(|component| component.purl.as_str())
        .collect();
    dependencies.insert(0, json!({"ref": root, "dependsOn": direct}));
    let listed: Vec<Value> = components.iter().map(entry).collect();
    let identity = json!([root, listed]).to_string();
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{}", uuid_of(&identity)),
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": subject.name,
                "version": subject.version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": root,
            },
        },
        "components": listed,
        "dependencies": dependencies,
    });
    let mut text = serde_json::to_string_pretty(&document).context("the bill cannot be written")?;
    text.push('\n');
    Ok(text)
}

fn entry(component: &Component) -> Value {
    let mut entry = json!({
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    });
    if let Some(license) = &component.license {
        entry["licenses"] = json!([{"expression": license}]);
    }
    if let Some(digits) = &component.sha256 {
        entry["hashes"] = json!([{"alg": "SHA-256", "content": digits}]);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_number_changes_with_the_content_alone() {
        let subject = Subject {
            name: "tools".to_owned(),
            file: String::new(),
            version: "1.0.0".to_owned(),
            programs: Vec::new(),
            target: String::new(),
            debian: Vec::new(),
        };
        let serial = |subject: &Subject| -> Value {
            let text = document(subject, &[]).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()["serialNumber"].clone()
        };
        let first = serial(&subject);
        assert_eq!(first, serial(&subject));
        let text = first.as_str().unwrap();
        assert_eq!(text.len(), "urn:uuid:".len() + 36, "{text}");
        let version = "1.0.1".to_owned();
        assert_ne!(first, serial(&Subject { version, ..subject }));
    }
}
