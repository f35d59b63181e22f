//! Our own adapters pass the check that they recommend to others.

use std::path::{Path, PathBuf};
use std::process::Command;

use odb_stories::Binaries;

use crate::executable::Executable;

/// Checks an adapter with the inputs in this folder of the project.
#[track_caller]
fn passes(adapter: &Path, folder: &str) {
    let inputs = in_project(folder).join("adapter-check.yml");
    let output = Command::new(Binaries::find().path("odb-adapter"))
        .args(["check", "--deadline", "50", "--inputs"])
        .args([&inputs, adapter])
        .output()
        .unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}{stderr}");
}

fn in_project(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
}

#[test]
fn the_adapter_for_redis_has_no_error() {
    let adapter = Binaries::find().path("redis-service-adapter");
    passes(&adapter, "adapters/redis");
}

#[test]
fn the_adapter_for_kafka_has_no_error() {
    let adapter = Binaries::find().path("kafka-service-adapter");
    passes(&adapter, "adapters/kafka");
}

#[test]
fn our_programs_for_authors_print_their_version() {
    for name in [
        "odb-adapter",
        "go-test-adapter",
        "redis-service-adapter",
        "kafka-service-adapter",
        "template-service-adapter",
    ] {
        let run = Executable::named(name).run(&["--version"], "");
        let expected = format!("{name} {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!((run.code, run.stdout), (Some(0), expected));
    }
}

#[test]
fn the_test_adapter_has_no_error() {
    let adapter = Binaries::find().path("go-test-adapter");
    passes(&adapter, "spec/test-adapter");
}

#[test]
fn the_test_adapter_of_templates_has_no_error() {
    let folder = "spec/test-adapter/templates";
    passes(&in_project(folder), folder);
}

#[test]
fn the_folder_for_postgresql_has_no_error() {
    let folder = "adapters/template/examples/postgres";
    passes(&in_project(folder), folder);
}
