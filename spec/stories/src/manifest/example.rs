//! The variables of the project's example, with certificates where it says whose belong there.

use serde_json::{Value, json};

use super::{Manifest, Variables, generated, in_project};

const EXAMPLE: &str = "manifests/vars/example.yml";

/// How the example writes a certificate that a site has to put in.
const BLANK_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n(";

impl Variables {
    /// Those of `manifests/vars/example.yml`. Where that says which certificate belongs there, there is one that can be
    /// used.
    pub fn of_example() -> Self {
        let authority = json!({"variables": [{
            "name": "ca",
            "type": "certificate",
            "options": {"is_ca": true, "common_name": "of the site"},
        }]});
        let authority = generated::generate(&authority, &Self::new());
        let authority = authority.expect("it is never requested").variables;
        let certificate = authority.get("ca").map(|ca| ca["certificate"].clone());
        let certificate = certificate.unwrap_or_default();
        let example = Self::new().with_file(&in_project(EXAMPLE));
        let mut example = example.unwrap_or_else(|error| panic!("{error}: {error:?}"));
        for value in example.0.values_mut() {
            let is_blank = |text: &str| text.starts_with(BLANK_CERTIFICATE);
            if value.as_str().is_some_and(is_blank) {
                value.clone_from(&certificate);
            }
        }
        example
    }

    /// Those that a manifest asks for.
    #[must_use]
    pub fn for_manifest(self, manifest: &Manifest) -> Self {
        self.only(&Self::asked_for_by(manifest.document()))
    }
}

impl Manifest {
    /// The names that a manifest asks for and does not list under `variables:`: what an operator has to give.
    pub fn variables_to_give(&self) -> Vec<String> {
        let made = self.document["variables"].as_array().into_iter().flatten();
        let made: Vec<&str> = made.filter_map(|made| made["name"].as_str()).collect();
        let asked = Variables::asked_for_by(self.document());
        let is_given = |name: &String| !made.contains(&name.as_str());
        asked.into_iter().filter(is_given).collect()
    }

    /// The value at a path of an ops file, such as `/instance_groups/name=broker/jobs/name=broker`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        find(&self.document, path)
    }
}

/// The value at a path of an ops file, if something is there.
pub fn find<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    let mut steps = path.split('/').skip(1);
    steps.try_fold(document, |value, step| {
        match (value, step.split_once('=')) {
            (Value::Array(items), Some((key, wanted))) => {
                items.iter().find(|item| item[key] == wanted)
            }
            (Value::Array(items), None) => items.get(step.parse::<usize>().ok()?),
            (_, _) => value.get(step),
        }
    })
}
