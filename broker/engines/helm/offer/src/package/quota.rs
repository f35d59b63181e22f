//! A `ResourceQuota` of Kubernetes for the namespace of an instance.

use odb_adapter_sdk::document::Node;
use serde_json::Value;

use crate::{
    findings::Findings,
    section::{File, Found},
};

/// The quota as its file has it.
#[derive(Clone, Debug)]
pub struct ResourceQuota {
    pub manifest: Value,
}

pub(crate) fn read(name: &str, bytes: &[u8], findings: &mut Findings) -> Option<ResourceQuota> {
    let file = File::parse(name, bytes, findings)?;
    let section = file.map(findings)?;
    let before = findings.errors();
    for (key, expected) in [("apiVersion", "v1"), ("kind", "ResourceQuota")] {
        match section.text(key, findings) {
            Some(found) if found.value == expected => {}
            Some(found) => {
                let text = format!("is `{}`; it must be `{expected}`", found.value);
                found.refuse(text, "", findings);
            }
            None => {
                let found = format!("`{key}` is missing; it must be `{expected}`");
                findings.error(section.at(), Some(key), found, "");
            }
        }
    }
    let metadata = section.map("metadata", findings);
    if metadata
        .and_then(|metadata| metadata.text("name", findings))
        .is_none()
    {
        let found = "`metadata.name` is missing";
        findings.error(section.at(), Some("metadata.name"), found, "name the quota");
    }
    if let Some(hard) = section
        .map("spec", findings)
        .and_then(|spec| spec.map("hard", findings))
    {
        for key in hard.names() {
            if let Some(quantity) = hard.text(key, findings) {
                check_quantity(&quantity, findings);
            }
        }
    } else {
        let found = "`spec.hard` is missing";
        findings.error(
            section.at(),
            Some("spec.hard"),
            found,
            "limit something, such as `pods: 4`",
        );
    }
    (findings.errors() == before).then(|| ResourceQuota {
        manifest: match &file.document.root.value {
            Node::Map(_) => file.document.root.value.to_json(),
            _ => Value::Null,
        },
    })
}

fn check_quantity(quantity: &Found<String>, findings: &mut Findings) {
    if !is_quantity(&quantity.value) {
        let found = format!("is `{}`, which is no quantity", quantity.value);
        let remedy = "write it like `500m`, `2` or `1Gi`";
        quantity.refuse(found, remedy, findings);
    }
}

/// A number with a suffix of Kubernetes.
fn is_quantity(text: &str) -> bool {
    const SUFFIXES: &[&str] = &[
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let end = unsigned
        .find(|letter| !is_number(letter))
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let is_exponent = suffix
        .strip_prefix(['e', 'E'])
        .is_some_and(|exponent| exponent.parse::<i32>().is_ok());
    number.parse::<f64>().is_ok() && (SUFFIXES.contains(&suffix) || is_exponent)
}

#[cfg(test)]
mod tests {
    use super::is_quantity;

    #[test]
    fn quantities_have_the_suffixes_of_kubernetes() {
        for text in ["1", "0.5", "500m", "1Gi", "2E", "1e3", "-1", "1."] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["1Gib", "1gi", "Gi", "", "1 Gi", "1.2.3", "1e"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
