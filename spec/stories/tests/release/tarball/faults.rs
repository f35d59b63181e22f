//! Broken tarballs.

use std::process::Command;

use tempfile::TempDir;

use super::{
    small::{build, build_command, inspect, small_release},
    system::{run, succeed, text, unpacked},
};

/// Each fault by itself, in a release that is whole otherwise.
#[test]
fn every_fault_of_a_broken_tarball_is_named() {
    for (script, fault) in [
        ("rm release.MF", "release: `release.MF` is missing"),
        (
            "echo '{' > release.MF",
            "release: `release.MF` is not as BOSH wants it",
        ),
        (
            r"sed -i 's/1\.0\.0/1.0.01/' release.MF",
            "a component of digits begins with `0`",
        ),
        (
            "rm jobs/runner.tgz",
            "job `runner`: `jobs/runner.tgz` is missing",
        ),
        (
            "printf x >> jobs/runner.tgz",
            "job `runner`: its archive has the digest sha256:",
        ),
        (
            "head -c 100 jobs/runner.tgz > x; mv x jobs/runner.tgz",
            "job `runner`: its archive is damaged",
        ),
        (
            "echo > jobs/other.tgz",
            "release: `jobs/other.tgz` is part of the archive, and nothing names it",
        ),
        (
            "repack jobs/runner 'rm monit'",
            "job `runner`: `monit` is missing",
        ),
        (
            "repack jobs/runner 'rm templates/run'",
            "job `runner`: `templates/run` is missing",
        ),
        (
            "repack jobs/runner 'echo > extra'",
            "job `runner`: `extra` is part of the archive, and nothing names it",
        ),
        (
            "repack jobs/runner 'sed -i s/runner/walker/ job.MF'",
            "job `runner`: `job.MF` names it `walker`",
        ),
        (
            "repack jobs/runner 'sed -i s,bin/run,../run, job.MF'",
            "is rendered outside of the job's folder",
        ),
        (
            "repack jobs/runner 'sed -i s/program/gone/ job.MF'",
            "it wants the package `gone`, which is not in the release",
        ),
        (
            "repack jobs/runner 'echo \"provides: [{name: l, type: t, optional: true}]\" >> job.MF'",
            "the link `l` is provided, and cannot be `optional`",
        ),
        (
            "repack jobs/runner 'echo \"properties: []\" >> job.MF'",
            "`job.MF` is not as BOSH wants it",
        ),
        (
            "repack jobs/runner 'echo >> templates/run'",
            "job `runner`: its content has the fingerprint",
        ),
        (
            "repack jobs/runner 'ln -s /etc/passwd templates/link'",
            "`./templates/link` is neither file nor folder",
        ),
        (
            "repack jobs/runner 'chmod 4755 templates/run'",
            "`./templates/run` has mode 4755",
        ),
        (
            "repack packages/program 'rm packaging'",
            "package `program`: `packaging` is missing",
        ),
        (
            "stray packages/program",
            "`../stray` leads out of the folder",
        ),
        (
            "repack packages/program 'mkdir -p program/bin; cp /bin/ls program/bin'",
            "needs the library `libselinux.so.1`",
        ),
        (
            r#"sed -i "s/- 'tool'\$/- 'gone'/" release.MF"#,
            "package `program`: it wants the package `gone`",
        ),
    ] {
        let tarball = broken(script);
        let inspection = inspect(&tarball.path().join("release.tgz"));
        assert_eq!(inspection.status, 1, "{script}");
        assert!(
            inspection.faults.iter().any(|found| found.contains(fault)),
            "{script}: {:#?}",
            inspection.faults
        );
    }
    let whole = broken("true");
    let inspection = inspect(&whole.path().join("release.tgz"));
    assert_eq!((inspection.status, inspection.faults), (0, vec![]));
}

/// A release whose sources are a folder, changed by a script and packed again by `tar`. `repack PART SCRIPT` changes what is in
/// an archive and `release.MF` along with it; `stray PART` adds a path that leads out.
fn broken(script: &str) -> TempDir {
    const FUNCTIONS: &str = r#"
        set -euo pipefail
        stated() { sed -i "s/sha256:$1/sha256:$2/" release.MF; }
        sum() { sha256sum "$1" | cut -d ' ' -f 1; }
        repack() {
          local before
          before=$(sum "$1.tgz")
          mkdir inside; tar -xzf "$1.tgz" -C inside
          (cd inside; eval "$2"); tar -czf "$1.tgz" -C inside .
          rm -r inside; stated "$before" "$(sum "$1.tgz")"
        }
        stray() {
          local before
          before=$(sum "$1.tgz")
          mkdir inside; tar -xzf "$1.tgz" -C inside; echo > stray
          tar -czPf "$1.tgz" -C inside . ../stray
          rm -r inside stray; stated "$before" "$(sum "$1.tgz")"
        }
    "#;
    let folder = small_release();
    let tarball = build(folder.path(), "1.0.0");
    let release = unpacked(&tarball);
    succeed(
        Command::new("bash")
            .args(["-c", &format!("{FUNCTIONS}\n{script}")])
            .current_dir(release.path()),
    );
    let packed = tempfile::tempdir().expect("tests may write temporary files");
    succeed(
        Command::new("tar")
            .arg("-czf")
            .arg(packed.path().join("release.tgz"))
            .arg("-C")
            .arg(release.path())
            .arg("."),
    );
    packed
}

#[test]
fn a_release_folder_that_cannot_become_a_release_is_refused_with_the_file_and_what_helps() {
    for (script, complaint) in [
        ("rm jobs/runner/monit", "jobs/runner/monit` cannot be read"),
        (
            "rm jobs/runner/templates/run",
            "jobs/runner/templates/run` cannot be read",
        ),
        (
            "sed -i s/runner/walker/ jobs/runner/spec",
            "jobs/runner/spec` names `walker`; it has to be the name of its folder",
        ),
        (
            "echo '{' > packages/tool/spec",
            "packages/tool/spec` is not as BOSH wants it",
        ),
        (
            "rm src/tool/tool",
            "packages/tool/spec` fits no file below `src` or `blobs`; put the file there, or drop the pattern",
        ),
        (
            "ln -s run src/program/link",
            "src/program/link` is no plain file; put the file itself in the place of a link",
        ),
        ("rm config/final.yml", "config/final.yml` cannot be read"),
    ] {
        let folder = small_release();
        succeed(
            Command::new("bash")
                .args(["-euc", script])
                .current_dir(folder.path()),
        );
        let tarball = folder.path().join("release.tgz");
        let output = run(&mut build_command(folder.path(), "1.0.0", &tarball));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{script}: {said}");
        assert!(said.contains(complaint), "{script}: {said}");
        assert!(!tarball.exists(), "{script}");
    }
}
