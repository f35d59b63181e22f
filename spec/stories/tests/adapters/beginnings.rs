//! `odb-adapter new`: an author begins an adapter. The story of the tutorial compiles the result in Rust.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use odb_adapter_sdk::yaml;
use serde_json::Value;

use crate::author::Author;

#[test]
fn an_adapter_of_templates_passes_the_check_as_it_is_made() {
    let author = Author::new();

    author.types(&["new", "my-cache", "--template"]).succeeded();
    let report = author.types(&["check", "my-cache/adapter"]).succeeded();

    assert!(report.output.contains("0 errors, 0 warnings"), "{report:?}");
    let adapter = author.folder().join("my-cache/adapter/adapter.yml");
    let mode = fs::metadata(adapter)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o100, 0o100, "it can be run by itself");
}

#[test]
fn an_adapter_in_rust_finds_the_sdk_and_the_versions_that_it_is_tested_with() {
    let author = Author::new();

    author.types(&["new", "my-store"]).succeeded();

    let package = author.read("my-store/Cargo.toml");
    let path = package
        .lines()
        .find_map(|line| line.strip_prefix("odb-adapter-sdk = { path = \""))
        .and_then(|rest| rest.split('"').next())
        .expect("it needs the SDK");
    assert!(Path::new(path).join("src/lib.rs").is_file(), "{path}");
    assert!(
        author
            .read("my-store/Cargo.lock")
            .contains("name = \"serde-saphyr\"")
    );
    assert!(
        author.read("my-store/src/main.rs").lines().count() < 80,
        "it is one screen"
    );
}

#[test]
fn no_two_adapters_share_ids_and_no_placeholder_remains() {
    let author = Author::new();
    let mut ids = Vec::new();
    for (name, option) in [("one-service", "--template"), ("two-service", "--template")] {
        author.types(&["new", name, option]).succeeded();
        for file in files(&author.folder().join(name)) {
            let text = fs::read_to_string(&file).expect("it is text");
            assert!(!text.contains('@'), "{} has a placeholder", file.display());
            assert!(!file.to_string_lossy().contains('@'), "{}", file.display());
        }
        let broker: Value = yaml::from_str(&author.read(&format!("{name}/broker.yml")))
            .expect("it is a broker.yml");
        let catalog = &broker["service_catalog"];
        assert_eq!(catalog["service_name"], name);
        ids.push(catalog["id"].clone());
        let plans = catalog["plans"].as_array().expect("there are plans");
        ids.extend(plans.iter().map(|plan| plan["plan_id"].clone()));
    }
    assert_eq!(ids.len(), 6);
    let mut unique = ids.clone();
    unique.sort_by_key(Value::to_string);
    unique.dedup();
    assert_eq!(unique.len(), 6, "{ids:?}");
}

#[test]
fn a_folder_that_exists_is_left_alone() {
    let author = Author::new();
    fs::create_dir(author.folder().join("my-cache")).expect("the test made the folder");
    author.write("my-cache/precious", "mine");

    let ran = author.types(&["new", "my-cache", "--template"]);

    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("already exists"), "{ran:?}");
    assert_eq!(files(&author.folder().join("my-cache")).len(), 1);
}

#[test]
fn a_name_that_cannot_be_is_refused_and_nothing_is_made() {
    let author = Author::new();
    for name in ["My_Cache", "test", "x", "-x"] {
        let ran = author.types(&["new", "--template", "--", name]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.errors.contains(&format!("`{name}`")), "{ran:?}");
    }
    let ran = author.types(&["new", "my-cache", "--sdk", "."]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("is not the SDK"), "{ran:?}");
    assert_eq!(files(author.folder()), Vec::<std::path::PathBuf>::new());
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    entries
        .map(|entry| entry.expect("it can be read").path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
