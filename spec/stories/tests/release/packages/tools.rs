//! The tarball of tools, in an empty folder of an author without Rust.

use std::{fs, path::PathBuf, process::Command};

use odb_stories::{Binaries, Process, eventually};
use tempfile::TempDir;

use super::{
    TIMEOUT,
    built::{VERSION, architecture, command, commands_of, packages},
    machine::{succeed, text},
};

/// Unpacks the tarball. Returns the author's folder, and that of the tools in it.
pub(super) fn unpacked() -> (TempDir, PathBuf) {
    let name = format!("odb-tools-{VERSION}-linux-{}", architecture());
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
fn dynamic_programs_are_refused_by_name_unless_they_are_allowed() {
    let binaries = Binaries::find().path("odb-release");
    let folder = tempfile::tempdir().unwrap();
    let refused = command(&["tools"], binaries.parent().unwrap(), folder.path())
        .output()
        .unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("is not static"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let allowed = command(&["tools"], binaries.parent().unwrap(), folder.path())
        .arg("--allow-dynamic")
        .output()
        .unwrap();
    let said = text(&allowed.stderr);
    assert!(allowed.status.success(), "{said}");
    assert!(
        said.contains("warning: odb-sandbox is dynamic: do not publish"),
        "{said}"
    );
}

#[tokio::test]
async fn the_guide_leads_an_author_without_rust_to_an_order() {
    let (folder, tools) = unpacked();
    for file in [
        "LICENSES",
        "README.md",
        "bill-of-materials.cdx.json",
        "bin/template-service-adapter",
    ] {
        assert!(tools.join(file).is_file(), "{file}");
    }
    let name = tools
        .file_name()
        .expect("it has a name")
        .to_string_lossy()
        .into_owned();
    let guide = commands_of("docs/authors/tools.md", "to_an_order");
    let texts: Vec<String> = guide
        .iter()
        .map(|fence| fence.text.replace("odb-tools-1.0.0-linux-amd64", &name))
        .collect();
    let [begin, up, order] = &texts[..] else {
        panic!("other commands than these: {guide:#?}")
    };
    // Neither Cargo nor a variable of this machine.
    let run = |script: &str| {
        let mut command = Command::new("/usr/bin/env");
        command
            .args([
                "-i",
                "PATH=/usr/bin:/bin",
                "bash",
                "-euo",
                "pipefail",
                "-c",
                script,
            ])
            .current_dir(folder.path());
        command
    };
    let tarball = packages().join(format!("{name}.tar.gz"));
    succeed(Command::new("cp").arg(tarball).arg(folder.path()));
    succeed(&mut run(begin));

    let path = format!("export PATH=$PWD/{name}/bin:$PATH\n");
    let mut sandbox = Process::start(
        "sandbox",
        &mut run(&format!("{path}exec {up}")),
        folder.path(),
    );
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
    let ordered = succeed(&mut run(order));
    // The adapter's binding. The progress of an order is on stderr.
    assert!(ordered.contains("host:"), "{ordered}");
    assert!(ordered.contains("password:"), "{ordered}");
}
