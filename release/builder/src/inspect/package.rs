//! A package, looked at.

use crate::{
    contents::Contents,
    executable::{Requirements, is_elf, unmet_requirements},
    release_manifest::PackageEntry,
};

use super::{Executable, Fault, FaultKind, Part, Place, unpacked};

/// Below this folder of a package are our prebuilt programs; what a toolchain brings is for compilation only.
const PROGRAMS: &str = "bin/";

pub(super) fn read(
    entry: &PackageEntry,
    files: &Contents,
    size: u64,
    faults: &mut Vec<Fault>,
) -> Part {
    let name = &entry.resource.name;
    let mut found = Vec::new();
    if files.get("packaging").is_none() {
        found.push(FaultKind::Missing("packaging".to_owned()));
    }
    let mut executables = Vec::new();
    let programs = format!("{name}/{PROGRAMS}");
    for (path, _) in files.iter().filter(|(path, _)| path.starts_with(&programs)) {
        let bytes = unpacked::bytes(files, path).unwrap_or_default();
        if !is_elf(bytes) {
            continue;
        }
        found.extend(
            unmet_requirements(bytes)
                .into_iter()
                .map(|fault| FaultKind::Executable {
                    path: path.to_owned(),
                    fault,
                }),
        );
        executables.push(Executable {
            path: path.to_owned(),
            size: bytes.len() as u64,
            glibc: Requirements::of(bytes)
                .ok()
                .and_then(|needed| needed.newest_glibc()),
        });
    }
    faults.extend(found.into_iter().map(|kind| Fault {
        place: Place::Package(name.clone()),
        kind,
    }));
    Part {
        name: name.clone(),
        fingerprint: entry.resource.fingerprint.clone(),
        size,
        packages: entry.dependencies.clone(),
        executables,
    }
}
