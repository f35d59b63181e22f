use uuid::Uuid;

use super::name::AdapterName;
use super::sdk::Sdk;

/// A file of a skeleton. Path and text have placeholders between @ signs.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    pub(super) is_executable: bool,
}

macro_rules! text {
    ($path:literal from $source:literal) => {
        File {
            path: $path,
            text: include_str!(concat!("../../skeletons/", $source)),
            is_executable: false,
        }
    };
}

pub(super) const SHARED: &[File] = &[
    text!("broker.yml" from "shared/broker.yml"),
    text!("jobs/@NAME@-server/job.yml" from "shared/jobs/server/job.yml"),
    text!("jobs/@NAME@-server/password.tera" from "shared/jobs/server/password.tera"),
    text!("jobs/@NAME@-server/ready.sh.tera" from "shared/jobs/server/ready.sh.tera"),
    text!("jobs/@NAME@-server/server.conf.tera" from "shared/jobs/server/server.conf.tera"),
];

pub(super) const RUST: &[File] = &[
    text!(".gitignore" from "rust/gitignore"),
    text!("Cargo.toml" from "rust/Cargo.toml"),
    text!("README.md" from "rust/README.md"),
    text!("adapter-check.yml" from "shared/adapter-check.yml"),
    text!("src/main.rs" from "rust/src/main.rs"),
    text!("tests/check.rs" from "rust/tests/check.rs"),
];

/// Further files of an adapter of templates. The adapter's folder has no other files, because every template in it
/// belongs to the adapter.
pub(super) const TEMPLATES: &[File] = &[
    text!(".gitignore" from "template/gitignore"),
    text!("README.md" from "template/README.md"),
    text!("adapter/adapter-check.yml" from "shared/adapter-check.yml"),
    File {
        path: "adapter/adapter.yml",
        text: include_str!("../../skeletons/template/adapter.yml"),
        is_executable: true,
    },
    text!("adapter/binding.json.tera" from "template/binding.json.tera"),
    text!("adapter/manifest.yml.tera" from "template/manifest.yml.tera"),
    text!("adapter/schemas/bind.json" from "template/schemas/bind.json"),
    text!("adapter/schemas/create.json" from "template/schemas/create.json"),
    text!("adapter/schemas/plan-properties.json" from "template/schemas/plan-properties.json"),
    text!("adapter/schemas/update.json" from "template/schemas/update.json"),
];

pub(super) struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Those of an adapter. The ids of its offering and plans are new each time, since no two offerings of a platform
    /// may share them.
    pub(super) fn new(name: &AdapterName, sdk: Option<&Sdk>) -> Self {
        let sdk_folder = sdk.map(|sdk| sdk.folder.display().to_string());
        let broker_file = if sdk.is_some() {
            "broker.yml"
        } else {
            "../broker.yml"
        };
        Self(vec![
            ("@NAME@", name.to_string()),
            ("@SERVICE_ID@", Uuid::new_v4().to_string()),
            ("@SMALL_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@LARGE_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@BROKER_FILE@", broker_file.to_owned()),
            ("@SDK@", sdk_folder.unwrap_or_default()),
        ])
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let Self(placeholders) = self;
        placeholders
            .iter()
            .fold(text.to_owned(), |text, (placeholder, value)| {
                text.replace(placeholder, value)
            })
    }
}
