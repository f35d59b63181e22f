//! What can be wrong with a release tarball.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::executable::ExecutableFault;

/// Something wrong, and where.
#[derive(Debug)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: FaultKind,
}

/// Part of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The tarball as a whole.
    Release,
    /// A job.
    Job(String),
    /// A package.
    Package(String),
    /// The licence.
    License,
}

/// What is wrong. Directors and agents do not look at all of it: some of these would only show on a VM.
#[derive(Debug, thiserror::Error)]
pub enum FaultKind {
    /// The archive is none.
    #[error("its archive is damaged ({0}); build or copy it again")]
    Archive(String),
    /// A path that leads out of the archive's folder.
    #[error("`{0}` leads out of the folder that it is unpacked into")]
    StrayPath(String),
    /// A link or a device.
    #[error("`{0}` is neither file nor folder")]
    NotAFile(String),
    /// The same path twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// Permissions that no release has.
    #[error("`{path}` has mode {mode:04o}; files have 0644 or 0755")]
    Mode {
        /// Which file.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// Permissions that keep a Director from reading the file, or that mean something else.
    #[error(
        "`{path}` has mode {mode:04o}; its owner must be able to read it, and no special bit may be set"
    )]
    ReleaseMode {
        /// Which file.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// Something that has to be there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A YAML document that says something else than it should.
    #[error("`{path}` is not as BOSH wants it: {fault}")]
    Document {
        /// Which.
        path: String,
        /// Where and what.
        fault: String,
    },
    /// An invalid version.
    #[error("{0}")]
    Version(#[from] crate::version::InvalidVersion),
    /// A name that Directors refuse.
    #[error("`{0}` is no name: letters, digits, `-`, `_`, `+` and `.`")]
    Name(String),
    /// `release.MF` says one digest, the bytes another.
    #[error(
        "its archive has the digest {found}, and `release.MF` says {stated}; one of them was changed"
    )]
    Digest {
        /// What `release.MF` says.
        stated: String,
        /// What the bytes say.
        found: String,
    },
    /// The same of the fingerprint.
    #[error("its content has the fingerprint {found}, and `release.MF` says {stated}")]
    Fingerprint {
        /// What `release.MF` says.
        stated: String,
        /// What the content says.
        found: String,
    },
    /// `job.MF` has another name than `release.MF`.
    #[error("`job.MF` names it `{0}`")]
    OtherName(String),
    /// A package that the release does not have.
    #[error("it wants the package `{0}`, which is not in the release")]
    NoSuchPackage(String),
    /// Packages that wait for each other.
    #[error("it depends on itself: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    /// The link of a job is declared in a way that Directors refuse.
    #[error("the link `{link}` {fault}")]
    Link {
        /// Its name.
        link: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A rendered file that would leave the job's folder.
    #[error("the template `{0}` is rendered outside of the job's folder")]
    StrayTemplate(String),
    /// A template's file that the job's `spec` does not name.
    #[error("`{0}` is part of the archive, and nothing names it")]
    Unnamed(String),
    /// An executable that does not run on a stemcell.
    #[error("`{path}` {fault}")]
    Executable {
        /// Which.
        path: String,
        /// What is wrong with it.
        fault: ExecutableFault,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release => f.write_str("release"),
            Self::Job(name) => write!(f, "job `{name}`"),
            Self::Package(name) => write!(f, "package `{name}`"),
            Self::License => f.write_str("license"),
        }
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Fault", 2)?;
        members.serialize_field("place", &self.place.to_string())?;
        members.serialize_field("fault", &self.kind.to_string())?;
        members.end()
    }
}
