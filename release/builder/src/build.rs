//! From a release folder to a tarball.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::Serialize;

use crate::{
    contents::{Contents, Digest, Mode},
    release_folder::{Part, ReleaseFolder},
    version::{InvalidVersion, ReleaseVersion},
};

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) hash: String,
    pub(crate) uncommitted_changes: bool,
}

#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
}

/// `release.MF`, the list of what a release holds.
///
/// Members as `bosh create-release` writes them (`release/manifest/release.go` in its sources) and a Director reads
/// them (`update_release.rb`). The digest is called `sha1` whatever its algorithm is.
#[derive(Serialize)]
struct ReleaseManifest {
    name: String,
    version: String,
    /// `non-git` without a commit.
    commit_hash: String,
    uncommitted_changes: bool,
    jobs: Vec<Entry>,
    packages: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<Entry>,
}

/// A job, a package or the licence.
#[derive(Serialize)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The fingerprint, so that it changes with the content.
    version: String,
    fingerprint: String,
    /// The digest of its archive.
    sha1: Digest,
    /// The packages that come to each VM with a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<Vec<String>>,
    /// The packages that are there while a package is compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies: Option<Vec<String>>,
}

/// Makes a tarball of a release folder (`config/final.yml`, `jobs`, `packages`, `src`, `LICENSE`). The same folder
/// makes the same bytes. Without a version, the release has the one of this program with commit and content. `output`
/// is the tarball's path, or a folder for it. Nothing is left of a tarball that fails.
pub(crate) fn build(
    folder: &Path,
    version: Option<ReleaseVersion>,
    commit: Option<Commit>,
    output: &Path,
) -> anyhow::Result<Built> {
    let ReleaseFolder {
        name,
        jobs,
        packages,
        license,
    } = ReleaseFolder::read(folder)?;
    let version = match version {
        Some(version) => version,
        None => version_of(commit.as_ref(), &content_of(jobs.iter().chain(&packages)))?,
    };
    let mut release = Contents::default();
    let mut pack_all = |parts: &[Part], folder: &str| -> anyhow::Result<Vec<Entry>> {
        parts
            .iter()
            .map(|part| pack(part, folder, &mut release))
            .collect()
    };
    let mut manifest = ReleaseManifest {
        name,
        version: version.to_string(),
        // As `bosh create-release` has it.
        commit_hash: commit
            .as_ref()
            .map_or_else(|| "non-git".to_owned(), |commit| commit.hash.clone()),
        uncommitted_changes: commit.is_some_and(|commit| commit.uncommitted_changes),
        jobs: pack_all(&jobs, "jobs/")?,
        packages: pack_all(&packages, "packages/")?,
        license: pack_all(license.as_slice(), "")?.pop(),
    };
    for (entry, job) in manifest.jobs.iter_mut().zip(jobs) {
        entry.packages = Some(job.packages);
    }
    for (entry, package) in manifest.packages.iter_mut().zip(packages) {
        entry.dependencies = Some(package.packages);
    }
    if let Some(license) = &mut manifest.license {
        license.name = None;
    }
    let text = manifest.to_yaml()?;
    release.add_bytes("release.MF".to_owned(), text.into_bytes(), Mode::Plain);
    let output = if output.is_dir() {
        output.join(format!("{}-{}.tgz", manifest.name, manifest.version))
    } else {
        output.to_owned()
    };
    write_release(&release, &output)?;
    Ok(Built {
        path: output,
        name: manifest.name,
        version: manifest.version,
    })
}

/// A Director refuses other content under the name of a version that it has. One commit makes several: sources, and
/// programs as each compiler makes them.
fn version_of(commit: Option<&Commit>, content: &str) -> Result<ReleaseVersion, InvalidVersion> {
    let release = env!("CARGO_PKG_VERSION");
    let version = match commit {
        Some(commit) => ReleaseVersion::of_commit(release, &commit.hash)?,
        None => release.parse()?,
    };
    version.with_component(content)
}

/// A name of all the content, short and no number.
fn content_of<'a>(parts: impl Iterator<Item = &'a Part>) -> String {
    let all: String = parts.map(|part| part.fingerprint.as_str()).collect();
    format!("c{}", &Digest::of(all.as_bytes()).digits()[..8])
}

/// Puts the archive of a part into the release.
fn pack(part: &Part, folder: &str, release: &mut Contents) -> anyhow::Result<Entry> {
    let archive = part
        .contents
        .write_archive(Vec::new())
        .with_context(|| format!("the archive of `{}` cannot be made", part.name))?;
    let sha1 = Digest::of(&archive);
    release.add_bytes(format!("{folder}{}.tgz", part.name), archive, Mode::Plain);
    Ok(Entry {
        name: Some(part.name.clone()),
        version: part.fingerprint.clone(),
        fingerprint: part.fingerprint.clone(),
        sha1,
        packages: None,
        dependencies: None,
    })
}

impl ReleaseManifest {
    /// As YAML, with every text in quotes: a fingerprint may look like a number to a Director.
    fn to_yaml(&self) -> anyhow::Result<String> {
        let options = serde_saphyr::ser_options! {
            quote_all: true,
            prefer_block_scalars: false,
            min_fold_chars: 0,
        };
        serde_saphyr::to_string_with_options(self, options)
            .context("`release.MF` cannot be written")
    }
}

/// Writes to a temporary file first, so that readers see a complete tarball or none.
fn write_release(release: &Contents, output: &Path) -> anyhow::Result<()> {
    let unwritable = || format!("`{}` cannot be written", output.display());
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = tempfile::Builder::new()
        .prefix(".release-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(unwritable)?;
    release
        .write_archive(BufWriter::new(file.as_file()))
        .with_context(unwritable)?
        .flush()
        .with_context(unwritable)?;
    file.persist(output).with_context(unwritable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_that_looks_like_a_number_stays_a_text() -> anyhow::Result<()> {
        let job = Entry {
            name: Some("no".into()),
            version: "12345e12".into(),
            fingerprint: "12345e12".into(),
            sha1: Digest::of(b""),
            packages: Some(vec!["1e3".into()]),
            dependencies: None,
        };
        let manifest = ReleaseManifest {
            name: "r".into(),
            version: "1".into(),
            commit_hash: "1234567".into(),
            uncommitted_changes: false,
            jobs: vec![job],
            packages: Vec::new(),
            license: None,
        };
        let text = manifest.to_yaml()?;
        let read: serde_json::Value = crate::release_folder::from_yaml(&text)?;
        assert_eq!(read, serde_json::to_value(&manifest)?);
        for quoted in ["'1'", "'1234567'", "'12345e12'", "'no'", "'1e3'"] {
            let double = quoted.replace('\'', "\"");
            assert!(text.contains(quoted) || text.contains(&double), "{text}");
        }
        Ok(())
    }
}
