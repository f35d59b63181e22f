//! Packages that are missing or wait for each other.

use std::collections::BTreeMap;

use crate::release_manifest::PackageEntry;

use super::{Fault, FaultKind, Place};

type Dependencies<'a> = BTreeMap<&'a str, &'a [String]>;

/// Names each dependency that is not there, and each package that is on a circle of dependencies.
pub(super) fn check(packages: &[PackageEntry], faults: &mut Vec<Fault>) {
    let known: Dependencies<'_> = packages
        .iter()
        .map(|package| {
            (
                package.resource.name.as_str(),
                package.dependencies.as_slice(),
            )
        })
        .collect();
    for package in packages {
        let name = &package.resource.name;
        let missing = package
            .dependencies
            .iter()
            .filter(|wanted| !known.contains_key(wanted.as_str()))
            .map(|wanted| FaultKind::NoSuchPackage(wanted.clone()));
        let circle = way_back(name, &known).map(FaultKind::Cycle);
        faults.extend(missing.chain(circle).map(|kind| Fault {
            place: Place::Package(name.clone()),
            kind,
        }));
    }
}

/// A way from a package to itself.
fn way_back(from: &str, known: &Dependencies<'_>) -> Option<Vec<String>> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = Vec::new();
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        for next in known.get(last.as_str()).copied().unwrap_or_default() {
            let mut longer = way.clone();
            longer.push(next.clone());
            if next == from {
                return Some(longer);
            }
            if !seen.contains(next) {
                seen.push(next.clone());
                ways.push(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{digest::Digest, release_manifest::ResourceEntry};

    fn faults(packages: &[(&str, &[&str])]) -> Vec<String> {
        let entries: Vec<PackageEntry> = packages
            .iter()
            .map(|(name, dependencies)| PackageEntry {
                resource: ResourceEntry {
                    name: (*name).to_owned(),
                    version: String::new(),
                    fingerprint: String::new(),
                    sha1: Digest::of(b""),
                },
                dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
            })
            .collect();
        let mut faults = Vec::new();
        check(&entries, &mut faults);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn packages_that_end_somewhere_are_no_fault() {
        let packages: &[(&str, &[&str])] =
            &[("a", &["b", "c"]), ("b", &["c"]), ("c", &[]), ("d", &["c"])];
        assert!(faults(packages).is_empty());
    }

    #[test]
    fn a_missing_package_and_a_circle_are_named() {
        assert_eq!(
            faults(&[("a", &["b"]), ("b", &["c"]), ("c", &["b", "gone"])]),
            [
                "package `b`: it depends on itself: b → c → b",
                "package `c`: it wants the package `gone`, which is not in the release",
                "package `c`: it depends on itself: c → b → c",
            ]
        );
        assert_eq!(
            faults(&[("a", &["a"])]),
            ["package `a`: it depends on itself: a → a"]
        );
    }
}
