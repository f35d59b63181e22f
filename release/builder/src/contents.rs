//! The files of a job or package, with their fingerprint and their archive. Everything is the same for the same files.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, ensure};
use flate2::{Compression, GzBuilder};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

/// 1 January 1980: `tar` calls earlier times implausible.
const MODIFIED: u64 = 315_532_800;

/// The prefix of a SHA-256 digest.
const SHA256: &str = "sha256:";

/// The files of a job, of a package or of a licence, by their paths in its archive, in the order of the paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    bytes: Bytes,
    mode: Mode,
}

#[derive(Clone, Debug)]
enum Bytes {
    OnDisk(PathBuf),
    InMemory(Vec<u8>),
}

/// Releases know two kinds of files, as git does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain = 0o644,
    Executable = 0o755,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// A job. Its `spec` is among its files, as `job.MF`.
    Job,
    /// A package and the names of those it depends on, in any order. Its `spec` is not among its files.
    Package(&'a [String]),
    /// The licence of the release.
    License,
}

impl Contents {
    pub(crate) fn add_file(&mut self, name: &Path, path: &Path) -> anyhow::Result<()> {
        let metadata = fs::symlink_metadata(path).with_context(|| unreadable(path))?;
        ensure!(
            metadata.is_file(),
            "`{}` is no plain file; put the file itself in the place of a link or device",
            path.display()
        );
        let location = name_in_archive(name).with_context(|| {
            format!(
                "`{}` cannot be the path of a file in an archive: paths are relative, UTF-8 and stay in their folder",
                name.display()
            )
        })?;
        let mode = if metadata.permissions().mode() & 0o111 == 0 {
            Mode::Plain
        } else {
            Mode::Executable
        };
        let bytes = Bytes::OnDisk(path.to_owned());
        self.files.insert(location, Entry { bytes, mode });
        Ok(())
    }

    /// Adds a file with these bytes; the name has been looked at.
    pub(crate) fn add_bytes(&mut self, name: String, bytes: Vec<u8>, mode: Mode) {
        let bytes = Bytes::InMemory(bytes);
        self.files.insert(name, Entry { bytes, mode });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The fingerprint: 64 hexadecimal digits.
    ///
    /// The rule is that of the `bosh` command line (`release/resource/fingerprint.go` in its sources): one SHA-256
    /// digest over `v2`, the path, digest and mode of each file in the order of the paths, and the names of the packages
    /// it depends on. The mode of `packaging` and the modes of licences do not count.
    pub(crate) fn fingerprint(&self, subject: Subject<'_>) -> anyhow::Result<String> {
        let mut text = String::from("v2");
        for (name, entry) in &self.files {
            let digest = match &entry.bytes {
                Bytes::InMemory(bytes) => Digest::of(bytes),
                Bytes::OnDisk(path) => Digest::of_file(path)?,
            };
            let mode = match subject {
                Subject::Package(_) if name == "packaging" => String::new(),
                Subject::License => String::new(),
                Subject::Job | Subject::Package(_) => format!("100{:o}", entry.mode as u32),
            };
            let _ = write!(text, "{name}{digest}{mode}");
        }
        if let Subject::Package(dependencies) = subject {
            let mut sorted = dependencies.to_vec();
            sorted.sort();
            text.push_str(&sorted.join(","));
        }
        Ok(Digest::of(text.as_bytes()).digits().to_owned())
    }

    /// Writes a gzipped tar archive of the files in the order of their paths. Owner, time and compression are always the
    /// same.
    pub(crate) fn write_archive<W: Write>(&self, into: W) -> anyhow::Result<W> {
        let gzip = GzBuilder::new()
            .mtime(0)
            .write(into, Compression::default());
        let mut archive = tar::Builder::new(gzip);
        for (name, entry) in &self.files {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(entry.mode as u32);
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(MODIFIED);
            match &entry.bytes {
                Bytes::InMemory(bytes) => {
                    header.set_size(bytes.len() as u64);
                    archive.append_data(&mut header, name, bytes.as_slice())
                }
                Bytes::OnDisk(path) => {
                    let file = fs::File::open(path).with_context(|| unreadable(path))?;
                    let metadata = file.metadata().with_context(|| unreadable(path))?;
                    header.set_size(metadata.len());
                    archive.append_data(&mut header, name, file)
                }
            }
            .context("the archive cannot be written")?;
        }
        archive
            .into_inner()
            .and_then(flate2::write::GzEncoder::finish)
            .context("the archive cannot be written")
    }
}

/// A relative path that stays where it begins, as text.
fn name_in_archive(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

pub(crate) fn unreadable(path: &Path) -> String {
    format!("`{}` cannot be read", path.display())
}

/// The digest of some bytes, written as BOSH writes it: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Digest(String);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut hash = HashingWriter(Sha256::new());
        hash.0.update(bytes);
        hash.finish()
    }

    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let mut hash = HashingWriter(Sha256::new());
        fs::File::open(path)
            .and_then(|mut file| io::copy(&mut file, &mut hash))
            .with_context(|| unreadable(path))?;
        Ok(hash.finish())
    }

    pub(crate) fn digits(&self) -> &str {
        self.0.trim_start_matches(SHA256)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct HashingWriter(Sha256);

impl HashingWriter {
    fn finish(self) -> Digest {
        let mut text = SHA256.to_owned();
        for byte in self.0.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        Digest(text)
    }
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_digest_is_written_as_bosh_writes_it() {
        // As `sha256sum` prints it.
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.digits(), digits);
        assert_eq!(digest.to_string(), format!("sha256:{digits}"));
    }

    fn sample() -> Contents {
        let mut contents = Contents::default();
        contents.add_bytes(
            "bin/run".into(),
            b"#!/bin/bash\n".to_vec(),
            Mode::Executable,
        );
        contents.add_bytes("a".repeat(180), vec![7; 70_000], Mode::Plain);
        contents
    }

    #[test]
    fn what_is_written_is_there_with_paths_bytes_and_modes() -> anyhow::Result<()> {
        let bytes = sample().write_archive(Vec::new())?;
        let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut listed = Vec::new();
        for entry in archive.entries()? {
            let entry = entry?;
            let path = entry.path()?.display().to_string();
            listed.push((path, entry.header().mode()?, entry.size()));
        }
        assert_eq!(
            listed,
            [
                ("a".repeat(180), 0o644, 70_000),
                ("bin/run".into(), 0o755, 12)
            ]
        );
        Ok(())
    }

    #[test]
    fn the_same_files_make_the_same_bytes() -> anyhow::Result<()> {
        assert_eq!(
            sample().write_archive(Vec::new())?,
            sample().write_archive(Vec::new())?
        );
        Ok(())
    }

    fn contents(files: &[(&str, &str, Mode)]) -> Contents {
        let mut contents = Contents::default();
        for (name, text, mode) in files {
            contents.add_bytes((*name).to_owned(), text.as_bytes().to_vec(), *mode);
        }
        contents
    }

    #[test]
    fn a_fingerprint_is_what_the_rule_says() -> anyhow::Result<()> {
        let files = contents(&[
            ("packaging", "echo", Mode::Executable),
            ("a/b", "", Mode::Executable),
        ]);
        // Of the empty text and of `echo`, as `sha256sum` says.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let echo = "092c79e8f80e559e404bcf660c48f3522b67aba9ff1484b0367e1a4ddef7431d";
        let text = format!("v2a/bsha256:{empty}100755packagingsha256:{echo}one,two");
        let dependencies = ["two".to_owned(), "one".to_owned()];
        assert_eq!(
            files.fingerprint(Subject::Package(&dependencies))?,
            Digest::of(text.as_bytes()).digits()
        );
        Ok(())
    }

    #[test]
    fn path_bytes_mode_and_dependencies_change_it_and_nothing_else_does() -> anyhow::Result<()> {
        let none: &[String] = &[];
        let package = Subject::Package(none);
        let base = contents(&[("a", "x", Mode::Plain)]).fingerprint(package)?;
        assert_eq!(
            base,
            contents(&[("a", "x", Mode::Plain)]).fingerprint(package)?
        );
        for other in [
            contents(&[("b", "x", Mode::Plain)]),
            contents(&[("a", "y", Mode::Plain)]),
            contents(&[("a", "x", Mode::Executable)]),
        ] {
            assert_ne!(base, other.fingerprint(package)?);
        }
        let one = ["rust".to_owned()];
        let depends = Subject::Package(&one);
        assert_ne!(
            base,
            contents(&[("a", "x", Mode::Plain)]).fingerprint(depends)?
        );
        Ok(())
    }
}
