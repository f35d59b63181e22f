//! Bills of materials and licences.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use super::{
    built::{PROJECT, VERSION, architecture, packages},
    machine::succeed,
};

/// The files that have a bill and licences beside them.
fn files() -> [String; 4] {
    let architecture = architecture();
    [
        format!("on-demand-broker-image-{VERSION}-{architecture}.tar"),
        format!("on-demand-broker_{VERSION}_{architecture}.deb"),
        format!("on-demand-broker-chart-{VERSION}.tgz"),
        format!("odb-tools-{VERSION}-linux-{architecture}.tar.gz"),
    ]
}

fn beside(file: &str, ending: &str) -> String {
    assert!(packages().join(file).is_file(), "{file}");
    fs::read_to_string(packages().join(format!("{file}.{ending}"))).unwrap()
}

fn bill(file: &str) -> Value {
    serde_json::from_str(&beside(file, "cdx.json")).unwrap()
}

fn names(bill: &Value) -> BTreeSet<String> {
    components(bill)
        .map(|component| component["name"].as_str().unwrap().to_owned())
        .collect()
}

fn components(bill: &Value) -> impl Iterator<Item = &Value> {
    bill["components"].as_array().into_iter().flatten()
}

#[test]
fn a_bill_lists_what_is_linked_into_the_programs_and_nothing_else() {
    let [image, _, chart, tools] = files();
    let image = names(&bill(&image));
    for linked in [
        "actix-web",
        "aws-lc-rs",
        "clap",
        "odb-rollout",
        "tera",
        "rust-std",
        "libc6",
        "ca-certificates",
    ] {
        assert!(image.contains(linked), "{linked}: {image:?}");
    }
    // Macros and build scripts, tests, and other programs.
    for absent in [
        "serde_derive",
        "clap_derive",
        "syn",
        "cc",
        "insta",
        "odb-sandbox",
        "odb-stories",
    ] {
        assert!(!image.contains(absent), "{absent}: {image:?}");
    }
    assert!(names(&bill(&tools)).contains("odb-sandbox"));
    assert!(names(&bill(&chart)).is_empty());
}

#[test]
fn crates_have_the_digests_of_the_lock_file_and_the_graph_is_closed() {
    let lock = fs::read_to_string(Path::new(PROJECT).join("Cargo.lock")).unwrap();
    for name in files() {
        let bill = bill(&name);
        let mut references: BTreeSet<&str> = components(&bill)
            .map(|component| component["bom-ref"].as_str().unwrap())
            .collect();
        references.extend(bill["metadata"]["component"]["bom-ref"].as_str());
        for dependency in bill["dependencies"].as_array().unwrap() {
            let uses = dependency["dependsOn"].as_array().unwrap();
            for reference in uses.iter().chain([&dependency["ref"]]) {
                assert!(
                    references.contains(reference.as_str().unwrap()),
                    "{name}: {reference}"
                );
            }
        }
        for component in components(&bill) {
            let digest = component["hashes"][0]["content"].as_str();
            // This project's crates are in no registry.
            let of_registry = component["purl"]
                .as_str()
                .unwrap()
                .starts_with("pkg:cargo/");
            assert_eq!(digest.is_some(), of_registry, "{name}: {component}");
            assert!(
                digest.is_none_or(|digest| lock.contains(digest)),
                "{name}: {component}"
            );
        }
    }
}

#[test]
fn every_part_of_a_package_has_its_licence_in_the_text() {
    for name in files() {
        let text = beside(&name, "licenses.txt");
        let sections: Vec<&str> = text.split("\n====").skip(2).collect();
        for component in components(&bill(&name)) {
            if component["purl"].as_str().unwrap().contains("vcs_url") {
                continue;
            }
            let title = format!(
                "{} {}",
                component["name"].as_str().unwrap(),
                component["version"].as_str().unwrap()
            );
            let has_text = sections.iter().any(|section| {
                let heading = section.lines().nth(2).unwrap_or_default();
                heading.split(", ").any(|of| of == title)
            });
            assert!(has_text, "{name}: {title}");
        }
    }
}

/// The copies inside are those beside it.
#[test]
fn packages_contain_their_own_bill_and_licences() {
    let folder = tempfile::tempdir().unwrap();
    let [_, package, ..] = files();
    succeed(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(packages().join(&package))
            .arg(folder.path()),
    );
    let inside = folder.path().join("usr/share/doc/on-demand-broker");
    for (file, ending) in [
        ("LICENSES.gz", "licenses.txt"),
        ("bill-of-materials.cdx.json.gz", "cdx.json"),
    ] {
        let text = succeed(
            Command::new("gzip")
                .args(["--decompress", "--stdout"])
                .arg(inside.join(file)),
        );
        assert_eq!(text, beside(&package, ending), "{file}");
    }
}
