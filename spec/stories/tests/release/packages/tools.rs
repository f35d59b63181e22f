//! The tarball of tools, in an empty folder of an author without Rust.

use std::{path::PathBuf, process::Command};

use odb_stories::{Binaries, Process, eventually};
use tempfile::TempDir;

use super::{
    TIMEOUT,
    built::{VERSION, command, packages},
    machine::{succeed, text},
};

/// Unpacks the tarball. Returns the author's folder, and that of the tools in it.
fn unpacked() -> (TempDir, PathBuf) {
    let architecture = succeed(Command::new("dpkg").arg("--print-architecture"));
    let name = format!("odb-tools-{VERSION}-linux-{}", architecture.trim());
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    let tarball = packages().join(format!("{name}.tar.gz"));
    succeed(
        Command::new("tar")
            .arg("-xzf")
            .arg(tarball)
            .arg("-C")
            .arg(folder.path()),
    );
    let tools = folder.path().join(name);
    (folder, tools)
}

#[test]
fn dynamic_programs_are_refused_by_name() {
    let binaries = Binaries::find().path("odb-release");
    let folder = tempfile::tempdir().unwrap();
    let refused = command(&["tools"], binaries.parent().unwrap(), folder.path())
        .env_remove("ODB_DYNAMIC_TOOLS")
        .output()
        .unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("is not static"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn an_author_without_rust_makes_an_adapter_checks_it_and_orders() {
    let (folder, tools) = unpacked();
    for file in [
        "LICENSES",
        "README.md",
        "bill-of-materials.cdx.json",
        "bin/template-service-adapter",
    ] {
        assert!(tools.join(file).is_file(), "{file}");
    }
    // Neither Cargo nor a variable of this machine.
    let run = |script: &str| {
        let mut command = Command::new("/usr/bin/env");
        command
            .args(["-i", &format!("PATH={}/bin:/usr/bin:/bin", tools.display())])
            .args(["bash", "-euo", "pipefail", "-c", script])
            .current_dir(folder.path());
        command
    };
    succeed(&mut run("odb-adapter new cache --lang bash"));
    let checked = run("odb-adapter check cache/adapter.sh").output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stdout));

    let config = tools.join("sandbox/foundation.yml");
    let up = format!(
        "exec odb-sandbox up --config {} --state foundation",
        config.display()
    );
    let mut sandbox = Process::start("sandbox", &mut run(&up), folder.path());
    eventually("the sandbox is ready", TIMEOUT, async || {
        assert!(sandbox.is_running(), "{}", sandbox.errors());
        let printed = sandbox.output();
        if printed.contains("ready ") {
            Ok(())
        } else {
            Err(printed)
        }
    })
    .await;
    let services = succeed(&mut run(
        "ODB_FOUNDATION=$PWD/foundation/foundation.json odb-sandbox cf marketplace",
    ));
    assert!(!services.contains("error"), "{services}");
}
