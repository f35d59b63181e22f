//! The commands of the guide, run unchanged.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The commands in fences with this information string, in their order.
fn commands(guide: &str, information: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if line.strip_prefix("```") == Some(information) {
            let block = lines.by_ref().take_while(|line| *line != "```");
            found.push(block.collect::<Vec<_>>().join("\n"));
        }
    }
    found
}

fn shell(folder: &Path, script: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_odb-sandbox"));
    let binaries = binary.parent().unwrap().display();
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            &format!("PATH={binaries}:$PATH\nset -euo pipefail\n{script}"),
        ])
        .current_dir(folder);
    command
}

/// A sandbox that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has noticed otherwise.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn what_the_guide_suggests_works_in_its_order() {
    let guide = fs::read_to_string(format!("{PROJECT}/docs/authors/sandbox.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(
        format!("{PROJECT}/manifests"),
        folder.path().join("manifests"),
    )
    .unwrap();
    let start = commands(&guide, "sh up");
    assert_eq!(start.len(), 1);
    let mut sandbox = shell(folder.path(), &format!("exec {}", start[0]))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(sandbox.stdout.take().unwrap());
    let _sandbox = Running(sandbox);
    let mut ready = String::new();
    output.read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready "), "{ready:?}");

    let others = commands(&guide, "sh");
    assert!(others.len() > 6, "{others:?}");
    let run = shell(folder.path(), &others.join("\n")).output().unwrap();

    let (reported, errors) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{reported}\n{errors}");
    assert!(reported.contains("resident_kib"), "{reported}");
}

#[test]
fn the_guide_lists_every_route_of_the_control_api() {
    let guide = fs::read_to_string(format!("{PROJECT}/docs/authors/sandbox.md")).unwrap();
    let sources = fs::read_dir(format!("{PROJECT}/sandbox/src/control")).unwrap();
    let mut routes = Vec::new();
    for source in sources {
        let text = fs::read_to_string(source.unwrap().path()).unwrap();
        let found = text.split("web::resource(\"").skip(1);
        routes.extend(found.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    assert!(routes.len() > 8, "{routes:?}");

    let missing: Vec<_> = routes
        .into_iter()
        .filter(|route| {
            let placeholder = route.replace("{id}", "ID").replace("{vm}", "VM");
            let placeholder = placeholder
                .replace("{name}", "NAME")
                .replace("{server}", "SERVER");
            !guide.contains(&format!("{placeholder}`"))
        })
        .collect();

    assert!(missing.is_empty(), "{missing:?}");
}
