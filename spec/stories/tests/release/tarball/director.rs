//! The content of the tarball, checked without the program that builds it: by `tar`, `sha256sum`, Ruby's YAML and
//! binutils.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Component, Path},
    process::Command,
};

use odb_stories::release;
use serde_json::Value;

use super::system::{packaging, succeed, unpacked};

/// The jobs of the Go broker's release, whose names operators know, and a new one.
const JOBS: [&str; 10] = [
    "broker",
    "delete-all-service-instances",
    "delete-all-service-instances-and-deregister-broker",
    "deregister-broker",
    "orphan-deployments",
    "recreate-all-service-instances",
    "register-broker",
    "service-adapters",
    "service-metrics-adapter",
    "upgrade-all-service-instances",
];

#[test]
fn a_director_finds_in_it_what_its_manifest_names() {
    let release = unpacked(&release::tarball());
    let manifest = yaml_by_ruby(&release.path().join("release.MF"));
    assert_eq!(manifest["name"], "on-demand-broker");
    assert_eq!(manifest["version"], "0.0.0+test");
    assert_eq!(names(&manifest["jobs"]), JOBS);
    assert_eq!(
        names(&manifest["packages"]),
        ["on-demand-broker", "service-adapters"]
    );

    let mut sums = String::new();
    for (kind, entries) in [
        ("jobs", &manifest["jobs"]),
        ("packages", &manifest["packages"]),
    ] {
        for entry in entries.as_array().expect("it is a list") {
            let name = entry["name"].as_str().expect("it is a text");
            assert_eq!(entry["version"], entry["fingerprint"], "{entry}");
            assert_eq!(
                entry["fingerprint"].as_str().map(str::len),
                Some(64),
                "{entry}"
            );
            if kind == "jobs" {
                let packages = entry["packages"].as_array();
                assert!(packages.is_some_and(|names| !names.is_empty()), "{entry}");
            }
            sums += &sum_line(&entry["sha1"], &format!("{kind}/{name}.tgz"));
        }
    }
    sums += &sum_line(&manifest["license"]["sha1"], "license.tgz");
    fs::write(release.path().join("sums"), sums).expect("the test made the folder");
    succeed(
        Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", "sums"])
            .current_dir(release.path()),
    );

    for job in JOBS {
        let archive = release.path().join("jobs").join(format!("{job}.tgz"));
        check_job(&archive, job);
        check_members(&archive);
    }
    for package in names(&manifest["packages"]) {
        check_members(&release.path().join(format!("packages/{package}.tgz")));
    }
    let license = unpacked(&release.path().join("license.tgz"));
    assert!(license.path().join("LICENSE").is_file());
}

/// The requirements of a Director on a job.
fn check_job(archive: &Path, name: &str) {
    let folder = unpacked(archive);
    let job = yaml_by_ruby(&folder.path().join("job.MF"));
    assert_eq!(job["name"], name);
    assert!(folder.path().join("monit").is_file(), "{name}");
    let templates = job["templates"].as_object().cloned().unwrap_or_default();
    for (template, rendered) in &templates {
        let path = folder.path().join("templates").join(template);
        assert!(path.is_file(), "`{}` of `{name}`", path.display());
        let rendered = Path::new(rendered.as_str().expect("it is a text"));
        let mut parts = rendered.components();
        let stays = parts.all(|part| matches!(part, Component::Normal(_)));
        assert!(stays, "`{}` of `{name}`", rendered.display());
    }
    let files = succeed(
        Command::new("find")
            .args(["templates", "-type", "f"])
            .current_dir(folder.path()),
    );
    assert_eq!(
        files.lines().count(),
        templates.len(),
        "`{name}` has files that nothing names"
    );
    for package in job["packages"].as_array().into_iter().flatten() {
        assert!(
            ["on-demand-broker", "service-adapters"]
                .contains(&package.as_str().unwrap_or_default()),
            "{package} of `{name}`"
        );
    }
}

/// Files alone, which stay in their folder and have one of the two modes that releases know.
fn check_members(archive: &Path) {
    let listed = succeed(Command::new("tar").arg("-tvzf").arg(archive));
    for line in listed.lines() {
        let is_file = line.starts_with("-rw-r--r-- ") || line.starts_with("-rwxr-xr-x ");
        let path = line.split_whitespace().last().unwrap_or_default();
        let stays = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
        assert!(is_file && stays, "{line} in {}", archive.display());
    }
}

/// The packaging of programs on compilation VMs.
#[test]
fn its_packages_install_programs_that_run_and_are_stripped() {
    let release = unpacked(&release::tarball());
    for (package, programs) in [
        (
            "on-demand-broker",
            &["on-demand-broker", "odb", "odb-errand"][..],
        ),
        (
            "service-adapters",
            &[
                "kafka-service-adapter",
                "redis-service-adapter",
                "template-service-adapter",
            ],
        ),
    ] {
        let source = unpacked(&release.path().join(format!("packages/{package}.tgz")));
        let target = tempfile::tempdir().expect("tests may write temporary files");
        succeed(&mut packaging(source.path(), target.path()));
        for program in programs {
            let installed = target.path().join("bin").join(program);
            let mode = fs::metadata(&installed)
                .expect("it is installed")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o755, "{program}");
            let sections = succeed(
                Command::new("readelf")
                    .arg("--section-headers")
                    .arg(&installed),
            );
            assert!(!sections.contains(".symtab"), "{program} is not stripped");
            assert_eq!(newest_glibc(&installed).max((2, 35)), (2, 35), "{program}");
        }
        if package == "on-demand-broker" {
            let version =
                succeed(Command::new(target.path().join("bin/on-demand-broker")).arg("--version"));
            assert!(version.starts_with("on-demand-broker "), "{version}");
        }
    }
}

/// By binutils, for a second opinion.
fn newest_glibc(program: &Path) -> (u32, u32) {
    let versions = succeed(Command::new("readelf").arg("--version-info").arg(program));
    versions
        .split("GLIBC_")
        .skip(1)
        .filter_map(|rest| {
            let text: String = rest
                .chars()
                .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
                .collect();
            let mut numbers = text.split('.').map(|part| part.parse().ok());
            Some((numbers.next()??, numbers.next()??))
        })
        .max()
        .expect("it needs glibc")
}

pub(super) fn yaml_by_ruby(path: &Path) -> Value {
    let program = "require 'yaml'; require 'json'; puts YAML.load_file(ARGV[0]).to_json";
    let text = succeed(Command::new("ruby").args(["-e", program]).arg(path));
    serde_json::from_str(&text).expect("Ruby writes JSON")
}

fn names(entries: &Value) -> Vec<&str> {
    entries
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["name"].as_str())
        .collect()
}

fn sum_line(digest: &Value, path: &str) -> String {
    let digits = digest
        .as_str()
        .and_then(|digest| digest.strip_prefix("sha256:"));
    format!("{}  {path}\n", digits.expect("digests are SHA-256"))
}
