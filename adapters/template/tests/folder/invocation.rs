use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::{env, fs};

use crate::harness::{Folder, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_template-service-adapter");

#[test]
fn a_folder_is_named_by_the_first_argument() {
    let folder = Folder::example();
    let file = folder.path().join("adapter.yml");
    for path in [folder.path(), &file] {
        let mut command = Command::new(PROGRAM);
        command.env_clear().arg(path).arg("explode");
        let run = run(command, "");
        assert!(
            run.stderr.contains("this adapter implements: create-binding, dashboard-url, delete-binding, generate-manifest, generate-plan-schemas"),
            "{run:?}"
        );
    }
}

#[test]
fn a_description_can_be_the_executable() {
    let folder = Folder::example();
    let file = folder.path().join("adapter.yml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("#!{PROGRAM}\n{text}")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&file);
    command.env_clear().arg("explode");
    let run = run(command, "");
    assert!(
        run.stderr.contains("unknown subcommand `explode`"),
        "{run:?}"
    );
}

#[test]
fn a_link_to_the_program_serves_the_folder_that_it_is_in() {
    let folder = Folder::example();
    let link = folder.path().join("service-adapter");
    symlink(PROGRAM, &link).unwrap();
    let mut command = Command::new(&link);
    command.env_clear().arg("explode");
    let run = run(command, "");
    assert!(
        run.stderr.contains("unknown subcommand `explode`"),
        "{run:?}"
    );
}

#[test]
fn without_a_folder_the_operator_reads_where_one_can_be() {
    let mut command = Command::new(PROGRAM);
    command.env_clear().arg("generate-manifest");
    let run = run(command, "");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("`SERVICE_ADAPTER_FOLDER`"), "{run:?}");
}
