//! The commands of `release/README.md`, and that of the operators' guide to begin with.

use std::{os::unix::fs::symlink, path::Path};

use odb_stories::{Binaries, Document, Reader, manifest::Manifest};

const README: &str = "release/README.md";
const GUIDE: &str = "docs/operators/install.md";
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// With the executables under test in the place of those which the script would compile.
#[tokio::test]
async fn the_readme_shows_how_to_make_releases_and_verify_them() {
    let program = Binaries::find().path("odb-release");
    let binaries = program.parent().expect("it is in a folder");
    let script = format!(
        "{PROJECT}/scripts/build-release --binaries {}",
        binaries.display()
    );
    // The folder beside the clone.
    let beside = tempfile::tempdir().expect("tests may write temporary files");
    let kept_folder = beside.path().join("my-release");
    let mut reader = Reader::new()
        .of(README)
        .with_word("../my-release", &kept_folder.display().to_string())
        .with_word("scripts/build-release", &script);
    let mut said = Vec::new();
    for fence in Document::open(README).fences() {
        if fence
            .run_by
            .iter()
            .any(|name| name.ends_with("the_readme_shows_how_to_make_releases_and_verify_them"))
        {
            said.push(reader.follow(&fence).await);
        }
    }
    let [built, named, kept, listed] = &said[..] else {
        panic!("the commands are not found: {said:#?}")
    };
    for report in [built, named, kept] {
        assert!(report.contains(" bytes, sha256:"), "{report}");
    }
    assert!(named.contains("on-demand-broker/1.0.0-rc.1\n"), "{named}");
    assert!(listed.contains("name: 'on-demand-broker'"), "{listed}");
    for path in [
        "config/final.yml",
        "config/blobs.yml",
        "jobs/broker/spec",
        "src/on-demand-broker/bin/odb-errand",
    ] {
        let path = kept_folder.join(path);
        assert!(path.is_file(), "{}", path.display());
    }
}

/// One program replaces all, because compiling takes long and only the version matters.
#[tokio::test]
async fn the_guide_shows_how_to_make_the_release_that_its_manifests_ask_for() {
    let fence = Document::open(GUIDE).fences().into_iter().find(|fence| {
        let mut names = fence.run_by.iter();
        names.any(|name| name.ends_with("that_its_manifests_ask_for"))
    });
    let fence = fence.expect("the guide has the command");
    let binaries = tempfile::tempdir().expect("tests may write temporary files");
    for program in [
        "on-demand-broker",
        "odb",
        "odb-errand",
        "kafka-service-adapter",
        "redis-service-adapter",
        "template-service-adapter",
        "odb-release",
    ] {
        symlink(
            Binaries::find().path("odb-release"),
            binaries.path().join(program),
        )
        .expect("the test made the folder");
    }
    let script = format!(
        "{PROJECT}/scripts/build-release --binaries {}",
        binaries.path().display()
    );
    let mut reader = Reader::new()
        .of(GUIDE)
        .with_word("scripts/build-release", &script);

    let report = reader.follow(&fence).await;

    assert!(report.contains(" bytes, sha256:"), "{report}");
    let variables = Path::new(PROJECT).join("manifests/vars/example.yml");
    let variables = Manifest::read(&variables).expect("it is YAML");
    let version = &variables.document()["on_demand_broker_version"];
    let version = version.as_str().expect("versions are quoted");
    let named = format!("on-demand-broker/{version}\n");
    assert!(report.contains(&named), "{named} {report}");
    assert!(reader.folder().join("on-demand-broker.tgz").is_file());
}
