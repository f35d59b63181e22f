//! Generated pages are up to date, and the change log has a section for the current version.

use std::{env, fs, path::Path, process::Command};

use odb_stories::{Binaries, Document, properties_page};

/// Has the pages written anew that tests make.
const WRITE: &str = "ODB_WRITE_PAGES";

#[test]
fn the_reference_of_keys_is_the_one_that_the_broker_prints() {
    let printed = Command::new(Binaries::find().path("on-demand-broker"))
        .args(["schema", "--format", "markdown"])
        .output()
        .expect("it can be started");
    assert!(printed.status.success());
    let printed = String::from_utf8(printed.stdout).expect("it prints text");
    assert!(
        printed == Document::open("docs/operators/reference/configuration.md").text,
        "run `on-demand-broker schema --format markdown > docs/operators/reference/configuration.md`"
    );
}

#[test]
fn the_page_of_properties_is_made_of_the_specifications_of_the_jobs() {
    let (path, made) = ("docs/operators/reference/properties.md", properties_page());
    if env::var_os(WRITE).is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(path);
        fs::write(file, &made).expect("the project's folder can be written");
    }
    assert!(
        made == Document::open(path).text,
        "run this test with {WRITE}=1 in its environment, which writes {path}"
    );
}

#[test]
fn the_change_log_has_a_section_of_the_version_that_is_built() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    let log = Document::open("CHANGELOG.md").text;
    let sections: Vec<&str> = log.lines().filter(|line| line.starts_with("## ")).collect();
    assert!(
        sections.iter().any(|section| section.starts_with(&heading)),
        "there is no `{heading}` among {sections:?}"
    );
}
