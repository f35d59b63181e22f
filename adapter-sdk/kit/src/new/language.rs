use clap::ValueEnum;

use super::name::AdapterName;
use super::skeleton::File;

/// What an adapter is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// A Rust package with the SDK
    Rust,
    /// Templates, without code
    Templates,
    /// Python 3.9 or newer, without further packages
    Python,
    /// Go 1.19 or newer, without further modules
    Go,
    /// A Bash script with jq
    Bash,
}

macro_rules! file {
    ($path:literal from $source:literal) => {
        File::text($path, include_str!(concat!("../../skeletons/", $source)))
    };
    (executable $path:literal from $source:literal) => {
        File::executable($path, include_str!(concat!("../../skeletons/", $source)))
    };
}

const SHARED: &[File] = &[
    file!("broker.yml" from "shared/broker.yml"),
    file!("jobs/@NAME@-server/job.yml" from "shared/jobs/server/job.yml"),
    file!("jobs/@NAME@-server/password.tera" from "shared/jobs/server/password.tera"),
    file!("jobs/@NAME@-server/ready.sh.tera" from "shared/jobs/server/ready.sh.tera"),
    file!("jobs/@NAME@-server/server.conf.tera" from "shared/jobs/server/server.conf.tera"),
];

const RUST: &[File] = &[
    file!(".gitignore" from "rust/gitignore"),
    file!("Cargo.toml" from "rust/Cargo.toml"),
    file!("README.md" from "rust/README.md"),
    file!("adapter-check.yml" from "shared/adapter-check.yml"),
    file!("src/main.rs" from "rust/src/main.rs"),
    file!("tests/check.rs" from "rust/tests/check.rs"),
];

/// The adapter's folder has no other files, because every template in it belongs to the adapter.
const TEMPLATES: &[File] = &[
    file!(".gitignore" from "template/gitignore"),
    file!("README.md" from "template/README.md"),
    file!("adapter/adapter-check.yml" from "shared/adapter-check.yml"),
    file!(executable "adapter/adapter.yml" from "template/adapter.yml"),
    file!("adapter/binding.json.tera" from "template/binding.json.tera"),
    file!("adapter/manifest.yml.tera" from "template/manifest.yml.tera"),
    file!("adapter/schemas/bind.json" from "template/schemas/bind.json"),
    file!("adapter/schemas/create.json" from "template/schemas/create.json"),
    file!("adapter/schemas/plan-properties.json" from "template/schemas/plan-properties.json"),
    file!("adapter/schemas/update.json" from "template/schemas/update.json"),
];

const PYTHON: &[File] = &[
    file!(".gitignore" from "python/gitignore"),
    file!("README.md" from "python/README.md"),
    file!("adapter-check.yml" from "shared/adapter-check.yml"),
    file!(executable "adapter.py" from "python/adapter.py"),
    file!("test_adapter.py" from "python/test_adapter.py"),
];

const GO: &[File] = &[
    file!(".gitignore" from "go/gitignore"),
    file!("README.md" from "go/README.md"),
    file!("adapter-check.yml" from "shared/adapter-check.yml"),
    file!("adapter.go" from "go/adapter.go"),
    file!("adapter_test.go" from "go/adapter_test.go"),
    file!("go.mod" from "go/go.mod"),
    file!("main.go" from "go/main.go"),
];

const BASH: &[File] = &[
    file!(".gitignore" from "bash/gitignore"),
    file!("README.md" from "bash/README.md"),
    file!("adapter-check.yml" from "shared/adapter-check.yml"),
    file!(executable "adapter.sh" from "bash/adapter.sh"),
];

impl Language {
    pub(super) fn files(self) -> impl Iterator<Item = &'static File> {
        let own = match self {
            Self::Rust => RUST,
            Self::Templates => TEMPLATES,
            Self::Python => PYTHON,
            Self::Go => GO,
            Self::Bash => BASH,
        };
        SHARED.iter().chain(own)
    }

    /// Where the adapter finds `broker.yml`.
    pub(super) fn broker_file(self) -> &'static str {
        match self {
            Self::Templates => "../broker.yml",
            Self::Rust | Self::Python | Self::Go | Self::Bash => "broker.yml",
        }
    }

    /// The forms of a request that the adapter reads.
    pub(super) fn forms(self) -> &'static str {
        match self {
            Self::Rust | Self::Templates => "stdin, arguments",
            Self::Python | Self::Go | Self::Bash => "stdin",
        }
    }

    /// The commands that test the adapter, and build it if necessary.
    pub(super) fn test(self) -> &'static str {
        match self {
            Self::Rust => "cargo test",
            Self::Templates => "odb-adapter check adapter",
            Self::Python => "python3 -m unittest",
            Self::Go => "go test && go build",
            Self::Bash => "odb-adapter check adapter.sh",
        }
    }

    /// The adapter, in its folder.
    pub(super) fn adapter(self, name: &AdapterName) -> String {
        match self {
            Self::Rust => format!("target/debug/{name}"),
            Self::Templates => "adapter".to_owned(),
            Self::Python => "adapter.py".to_owned(),
            Self::Go => name.to_string(),
            Self::Bash => "adapter.sh".to_owned(),
        }
    }
}
