//! Bills of materials and licences.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use super::{
    built::{PROJECT, packages},
    machine::succeed,
};

const BILLS: [&str; 4] = [
    "on-demand-broker-image",
    "on-demand-broker-deb",
    "on-demand-broker-chart",
    "odb-tools",
];

fn bill(name: &str) -> Value {
    let text = fs::read_to_string(packages().join(format!("{name}.cdx.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
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
    let image = names(&bill("on-demand-broker-image"));
    for linked in [
        "actix-web",
        "aws-lc-rs",
        "clap",
        "odb-rollout",
        "tera",
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
    assert!(names(&bill("odb-tools")).contains("odb-sandbox"));
    assert!(names(&bill("on-demand-broker-chart")).is_empty());
}

#[test]
fn crates_have_the_digests_of_the_lock_file_and_the_graph_is_closed() {
    let lock = fs::read_to_string(Path::new(PROJECT).join("Cargo.lock")).unwrap();
    for name in BILLS {
        let bill = bill(name);
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
            let of_registry = component["purl"]
                .as_str()
                .unwrap()
                .starts_with("pkg:cargo/")
                && !component["purl"].as_str().unwrap().contains("vcs_url");
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
    for name in BILLS {
        let text = fs::read_to_string(packages().join(format!("{name}.licenses.txt"))).unwrap();
        let sections: Vec<&str> = text.split("\n====").skip(2).collect();
        for component in components(&bill(name)) {
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
    let packages = packages();
    let package = fs::read_dir(&packages)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    succeed(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(package.unwrap())
            .arg(folder.path()),
    );
    let inside = folder.path().join("usr/share/doc/on-demand-broker");
    for (file, beside) in [
        ("LICENSES.gz", "on-demand-broker-deb.licenses.txt"),
        (
            "bill-of-materials.cdx.json.gz",
            "on-demand-broker-deb.cdx.json",
        ),
    ] {
        let text = succeed(
            Command::new("gzip")
                .args(["--decompress", "--stdout"])
                .arg(inside.join(file)),
        );
        assert_eq!(
            text,
            fs::read_to_string(packages.join(beside)).unwrap(),
            "{file}"
        );
    }
}
