use std::path::Path;

use uuid::Uuid;

use super::{AdapterName, Language};

/// A file of a skeleton. Path and text have placeholders between @ signs.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    pub(super) kind: Kind,
}

/// The purpose of a file.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// It is read.
    Text,
    /// It is run.
    Executable,
}

impl Kind {
    /// Before the user's own mask.
    pub(super) const fn mode(self) -> u32 {
        match self {
            Self::Text => 0o666,
            Self::Executable => 0o777,
        }
    }
}

macro_rules! text {
    ($path:literal from $source:literal) => {
        File {
            path: $path,
            text: include_str!(concat!("../../skeletons/", $source)),
            kind: Kind::Text,
        }
    };
}

/// The files of every adapter.
pub(super) const SHARED: &[File] = &[
    text!("broker.yml" from "shared/broker.yml"),
    text!("jobs/@NAME@-server/job.yml" from "shared/jobs/server/job.yml"),
    text!("jobs/@NAME@-server/password.tera" from "shared/jobs/server/password.tera"),
    text!("jobs/@NAME@-server/ready.sh.tera" from "shared/jobs/server/ready.sh.tera"),
    text!("jobs/@NAME@-server/server.conf.tera" from "shared/jobs/server/server.conf.tera"),
];

/// Further files of an adapter in Rust.
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
        kind: Kind::Executable,
    },
    text!("adapter/binding.json.tera" from "template/binding.json.tera"),
    text!("adapter/manifest.yml.tera" from "template/manifest.yml.tera"),
    text!("adapter/schemas/bind.json" from "template/schemas/bind.json"),
    text!("adapter/schemas/create.json" from "template/schemas/create.json"),
    text!("adapter/schemas/plan-properties.json" from "template/schemas/plan-properties.json"),
    text!("adapter/schemas/update.json" from "template/schemas/update.json"),
];

/// The replacements of the words between @ signs.
pub(super) struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Those of an adapter. The ids of its offering and plans are new each time, since no two offerings of a platform
    /// may share them.
    pub(super) fn new(name: &AdapterName, language: &Language) -> Self {
        let (sdk, broker_file) = match language {
            Language::Rust(sdk) => (sdk.folder(), "broker.yml"),
            Language::Templates => (Path::new(""), "../broker.yml"),
        };
        Self(vec![
            ("@NAME@", name.to_string()),
            ("@SERVICE_ID@", Uuid::new_v4().to_string()),
            ("@SMALL_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@LARGE_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@BROKER_FILE@", broker_file.to_owned()),
            ("@SDK@", sdk.display().to_string()),
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
