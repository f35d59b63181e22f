//! Finds the uploaded release or stemcell that a manifest means: an exact version, the latest, or the latest of a line.

use super::manifest::{StemcellRef, WantedStemcell};
use crate::director::{
    UploadedRelease, UploadedStemcell, deployments::NameVersion, tasks::TaskFailure,
};

pub(in crate::director) fn release_version<'a>(
    wanted: &NameVersion,
    uploaded: &'a [UploadedRelease],
) -> Result<&'a UploadedRelease, TaskFailure> {
    let of_name: Vec<&UploadedRelease> = uploaded
        .iter()
        .filter(|release| release.name == wanted.name)
        .collect();
    if of_name.is_empty() {
        return Err(TaskFailure::NoSuchRelease(wanted.name.clone()));
    }
    best(&wanted.version, &of_name, |release| &release.version).ok_or_else(|| {
        TaskFailure::NoSuchReleaseVersion {
            name: wanted.name.clone(),
            version: wanted.version.clone(),
        }
    })
}

/// The stemcell of this name or operating system, and version.
pub(super) fn stemcell_version(
    wanted: &StemcellRef,
    uploaded: &[UploadedStemcell],
) -> Result<NameVersion, TaskFailure> {
    let of_kind: Vec<&UploadedStemcell> = uploaded
        .iter()
        .filter(|stemcell| match &wanted.wanted {
            WantedStemcell::Name(name) => *name == stemcell.name,
            WantedStemcell::Os(os) => *os == stemcell.os,
        })
        .collect();
    let found = best(&wanted.version, &of_kind, |stemcell| &stemcell.version);
    let stemcell = found.ok_or_else(|| TaskFailure::NoSuchStemcell(missing(wanted)))?;
    Ok(NameVersion {
        name: stemcell.name.clone(),
        version: stemcell.version.clone(),
    })
}

fn best<'a, T>(wanted: &str, uploaded: &[&'a T], version: impl Fn(&T) -> &String) -> Option<&'a T> {
    let line = if wanted == "latest" {
        Some("")
    } else {
        wanted.strip_suffix(".latest")
    };
    let Some(line) = line else {
        let mut found = uploaded.iter();
        return found.find(|item| version(item) == wanted).copied();
    };
    let of_line = uploaded.iter().copied().filter(|item| {
        let rest = version(item).strip_prefix(line);
        line.is_empty() || rest.is_some_and(|rest| rest.starts_with('.'))
    });
    of_line.max_by(|one, other| numbers(version(one)).cmp(&numbers(version(other))))
}

/// The parts of a version, to be compared: numbers before words, `+` as another dot.
fn numbers(version: &str) -> Vec<(bool, u64, &str)> {
    version
        .split(['.', '+', '-'])
        .map(|part| match part.parse() {
            Ok(number) => (true, number, ""),
            Err(_) => (false, 0, part),
        })
        .collect()
}

fn missing(stemcell: &StemcellRef) -> String {
    let version = &stemcell.version;
    match &stemcell.wanted {
        WantedStemcell::Name(name) => format!("Stemcell '{name}/{version}' doesn't exist"),
        WantedStemcell::Os(os) => {
            format!("Stemcell version '{version}' for OS '{os}' doesn't exist")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wanted: &str, versions: &[&str]) -> Option<String> {
        let uploaded: Vec<UploadedRelease> = versions
            .iter()
            .map(|version| UploadedRelease {
                name: "r".to_owned(),
                version: (*version).to_owned(),
                jobs: Vec::new(),
            })
            .collect();
        let wanted = NameVersion {
            name: "r".to_owned(),
            version: wanted.to_owned(),
        };
        let found = release_version(&wanted, &uploaded).ok()?;
        Some(found.version.clone())
    }

    #[test]
    fn the_latest_version_is_the_greatest_and_not_the_last_uploaded() {
        let versions = ["1.10", "1.9", "2.0", "10.1"];
        assert_eq!(found("latest", &versions).unwrap(), "10.1");
        assert_eq!(found("1.latest", &versions).unwrap(), "1.10");
        assert_eq!(found("2.0", &versions).unwrap(), "2.0");
        assert_eq!(found("3.latest", &versions), None);
        assert_eq!(found("1", &versions), None);
    }
}
