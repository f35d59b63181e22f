//! The commands of `docs/operators/migrate.md` turn a manifest of the Go release into one for this release, and back.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use odb_stories::{Document, Fence, release};
use serde_json::Value;

use crate::samples::{Machine, filled_in, rendered, text_of_contract};

/// Every job of the Go release (`spec/contracts/config-and-release.md` §2).
const JOBS: [&str; 9] = [
    "broker",
    "register-broker",
    "deregister-broker",
    "upgrade-all-service-instances",
    "recreate-all-service-instances",
    "delete-all-service-instances",
    "delete-all-service-instances-and-deregister-broker",
    "orphan-deployments",
    "service-metrics-adapter",
];

#[test]
fn the_commands_of_the_guide_turn_the_manifest_of_the_go_release_into_one_for_this_release() {
    let guide = Document::open("docs/operators/migrate.md").fences();
    let changes: Vec<&Fence> = guide
        .iter()
        .filter(|fence| fence.text.contains("sed "))
        .collect();
    let [there, back] = changes.as_slice() else {
        panic!("the guide changes a manifest twice: {changes:?}");
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifest.yml");
    let theirs = text_of_contract();
    fs::write(&file, theirs).unwrap();

    type_in(folder.path(), there);

    let own = fs::read_to_string(&file).unwrap();
    let lines = own.lines().zip(theirs.lines());
    let different = lines.filter(|(one, other)| one != other).count();
    assert_eq!(different, JOBS.len() + 1, "{own}");
    expect_to_be_complete(&own);
    expect_to_be_deployed(&guide, &own, folder.path());

    type_in(folder.path(), back);
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
}

#[test]
fn the_program_comes_out_of_the_tarball_by_the_commands_of_the_guide() {
    let guide = Document::open("docs/operators/migrate.md").fences();
    let block = guide.iter().find(|fence| fence.text.contains("tar -x"));
    let folder = tempfile::tempdir().unwrap();
    let tarball = folder.path().join("on-demand-broker.tgz");
    std::os::unix::fs::symlink(release::tarball(), tarball).unwrap();

    type_in(folder.path(), block.expect("the guide unpacks the tarball"));

    let version = Command::new(folder.path().join("on-demand-broker"))
        .arg("--version")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&version.stdout);
    assert!(said.starts_with("on-demand-broker "), "{version:?}");
}

/// All jobs are those of this release, and the broker accepts its file.
fn expect_to_be_complete(manifest: &str) {
    let manifest = filled_in(manifest);
    let release = &manifest["releases"][0];
    assert_eq!(release["name"], "on-demand-broker");
    assert_ne!(release["version"], "0.50.4", "that is a version of theirs");
    let rendered = rendered(&manifest);
    for job in JOBS {
        assert!(rendered.job(job).files().count() > 1, "{job}");
    }
    let machine = Machine::new();
    machine.put(rendered.job("broker"));
    machine.expect_no_findings();
}

/// The other commands deploy that file, under its name.
fn expect_to_be_deployed(guide: &[Fence], manifest: &str, folder: &Path) {
    let manifest: Value = filled_in(manifest);
    let lines = guide.iter().flat_map(|fence| fence.text.lines());
    let commands: Vec<&str> = lines.filter(|line| line.contains(" deploy ")).collect();
    assert!(!commands.is_empty(), "nothing is deployed");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let [program, "-d", name, "deploy", options @ .., file] = words.as_slice() else {
            panic!("`{command}` deploys nothing");
        };
        assert_eq!(*program, "bosh");
        assert_eq!(Some(*name), manifest["name"].as_str(), "{command}");
        assert!(
            options.iter().all(|option| *option == "--dry-run"),
            "{command}"
        );
        assert!(folder.join(file).exists(), "{command}");
    }
}

fn type_in(folder: &Path, block: &Fence) {
    let typed = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &block.text])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(typed.status.success(), "{}\n{typed:?}", block.text);
}
