//! Broken release folders.

use std::process::Command;

use super::{
    small::{build_command, small_release},
    system::{run, succeed, text},
};

#[test]
fn a_release_folder_that_cannot_become_a_release_is_refused_with_the_file_and_what_helps() {
    for (script, message) in [
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
        assert!(said.contains(message), "{script}: {said}");
        assert!(!tarball.exists(), "{script}");
    }
}
