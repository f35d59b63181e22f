//! What a package is made of: a software bill of materials and the licences of its parts.
//!
//! | module | contents |
//! | --- | --- |
//! | `crates` | the crates in some programs, as Cargo resolves them |
//! | `debian` | Debian packages, files of which are in the package |
//! | `cyclonedx` | the bill, as JSON of CycloneDX |
//! | `licenses` | one text with all licences |
//! | `standard_library` | that of Rust |

mod crates;
mod cyclonedx;
mod debian;
mod licenses;
mod standard_library;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;

use crate::contents::Digest;

/// Cargo and dpkg only read. Another Cargo may hold the lock.
const READING: Duration = Duration::from_mins(10);

/// What a bill is written about.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The package's name.
    pub(crate) name: String,
    /// The name of the package's file.
    pub(crate) file: String,
    pub(crate) version: String,
    /// The Cargo packages of its programs.
    pub(crate) programs: Vec<String>,
    /// The platform that they are compiled for.
    pub(crate) target: String,
    /// The Debian packages, files of which are in the package or linked into its programs.
    pub(crate) debian: Vec<String>,
}

/// A crate, a Debian package or a library of the toolchain.
#[derive(Clone, Debug)]
struct Component {
    name: String,
    version: String,
    /// Its package URL, which also identifies it within the bill.
    purl: String,
    origin: Origin,
    /// An expression of SPDX. Debian's descriptions have none.
    license: Option<String>,
    /// The SHA-256 digits of the archive in the registry.
    sha256: Option<String>,
    /// The texts that its licence wants to be passed on.
    texts: Vec<PathBuf>,
    /// The holders of the copyright, as far as a crate names them.
    authors: Vec<String>,
    /// The package URLs of what it uses.
    uses: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This project, under the licence of the whole package.
    Project,
    Registry,
    Debian,
    Toolchain,
}

/// Writes `FILE.cdx.json` and `FILE.licenses.txt` into the folder. The same parts make the same bytes.
pub(crate) fn write(project: &Path, subject: &Subject, into: &Path) -> anyhow::Result<()> {
    let mut components = crates::of(project, &subject.programs, &subject.target)?;
    if !subject.programs.is_empty() {
        components.push(standard_library::of(project)?);
    }
    components.extend(debian::of(&subject.debian)?);
    components.sort_by(|one, other| one.purl.cmp(&other.purl));
    let licenses = licenses::text(project, subject, &components)?;
    let bill = cyclonedx::document(subject, &components)?;
    fs::create_dir_all(into).with_context(|| unwritable(into))?;
    for (ending, text) in [("cdx.json", bill), ("licenses.txt", licenses)] {
        let path = into.join(format!("{}.{ending}", subject.file));
        fs::write(&path, text).with_context(|| unwritable(&path))?;
    }
    Ok(())
}

fn unwritable(path: &Path) -> String {
    format!("`{}` cannot be written", path.display())
}

/// A UUID that is the same for the same text.
fn uuid_of(text: &str) -> String {
    let digest = Digest::of(text.as_bytes());
    let digits = digest.digits();
    // Version 8, variant 8: the makers choose the content.
    format!(
        "{}-{}-8{}-8{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..15],
        &digits[15..18],
        &digits[18..30]
    )
}
