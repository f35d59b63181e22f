//! A job, looked at. What a Director checks is in `release_job.rb` of its sources.

use std::{collections::BTreeSet, path::Path};

use crate::{
    contents::{Contents, name_in_archive},
    release_manifest::ResourceEntry,
    specification::{JobSpecification, Link, from_yaml},
};

use super::{Fault, FaultKind, Part, Place, unpacked};

pub(super) fn read(
    entry: &ResourceEntry,
    files: &Contents,
    size: u64,
    packages: &BTreeSet<&str>,
    faults: &mut Vec<Fault>,
) -> Part {
    let mut part = Part {
        name: entry.name.clone(),
        fingerprint: entry.fingerprint.clone(),
        size,
        packages: Vec::new(),
        executables: Vec::new(),
    };
    let mut found = Vec::new();
    if let Some(specification) = specification(files, &mut found) {
        if specification.name != entry.name {
            found.push(FaultKind::OtherName(specification.name.clone()));
        }
        check_files(&specification, files, &mut found);
        for package in &specification.packages {
            if !packages.contains(package.as_str()) {
                found.push(FaultKind::NoSuchPackage(package.clone()));
            }
        }
        check_links(&specification, &mut found);
        part.packages = specification.packages;
    }
    faults.extend(found.into_iter().map(|kind| Fault {
        place: Place::Job(entry.name.clone()),
        kind,
    }));
    part
}

fn specification(files: &Contents, found: &mut Vec<FaultKind>) -> Option<JobSpecification> {
    let path = "job.MF";
    let Some(text) = unpacked::text(files, path) else {
        found.push(FaultKind::Missing(path.to_owned()));
        return None;
    };
    from_yaml(&text)
        .map_err(|error| {
            found.push(FaultKind::Document {
                path: path.to_owned(),
                fault: error.to_string(),
            });
        })
        .ok()
}

/// Directors take `NAME.monit` in the place of `monit` too; the `bosh` command line writes none.
fn check_files(job: &JobSpecification, files: &Contents, found: &mut Vec<FaultKind>) {
    if files.get("monit").is_none() {
        found.push(FaultKind::Missing("monit".to_owned()));
    }
    let mut named: BTreeSet<String> = ["job.MF", "monit", "properties_schema.json"]
        .map(str::to_owned)
        .into();
    for (template, rendered) in &job.templates {
        let path = format!("templates/{template}");
        if files.get(&path).is_none() {
            found.push(FaultKind::Missing(path.clone()));
        }
        if name_in_archive(Path::new(rendered)).is_none() {
            found.push(FaultKind::StrayTemplate(template.clone()));
        }
        named.insert(path);
    }
    for (path, _) in files.iter() {
        if !named.contains(path) {
            found.push(FaultKind::Unnamed(path.to_owned()));
        }
    }
}

fn check_links(job: &JobSpecification, found: &mut Vec<FaultKind>) {
    let provides = job.provides.as_deref().unwrap_or_default();
    for link in provides {
        if link.optional.is_some() {
            found.push(fault(link, "is provided, and cannot be `optional`"));
        }
    }
    check_twice(provides, "is provided twice", found);
    let consumes = job.consumes.as_deref().unwrap_or_default();
    check_twice(consumes, "is consumed twice", found);
}

fn check_twice(links: &[Link], what: &'static str, found: &mut Vec<FaultKind>) {
    let mut names = BTreeSet::new();
    for link in links {
        if !names.insert(&link.name) {
            found.push(fault(link, what));
        }
    }
}

fn fault(link: &Link, fault: &'static str) -> FaultKind {
    FaultKind::Link {
        link: link.name.clone(),
        fault,
    }
}
