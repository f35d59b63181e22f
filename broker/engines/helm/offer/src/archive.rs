//! Files of a package or chart in memory, read with limits. Nothing is written to a disk.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs, io,
    io::Read,
    path::{Component, Path},
};

use flate2::read::MultiGzDecoder;
use tar::EntryType;
use walkdir::WalkDir;

/// Tar headers and padding, beside the files.
const OVERHEAD: u64 = 8 * MIB;
pub(crate) const MIB: u64 = 1024 * 1024;

/// What is read at most. Sizes are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub packed: u64,
    pub unpacked: u64,
    pub file: u64,
    pub files: usize,
}

/// An offer package.
pub const PACKAGE: Limits = Limits {
    packed: 32 * MIB,
    unpacked: 128 * MIB,
    file: 5 * MIB,
    files: 2_000,
};

/// A chart: Helm 4 unpacks no more.
pub const CHART: Limits = Limits {
    unpacked: 100 * MIB,
    ..PACKAGE
};

/// Names with slashes, and what the files hold.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Why an archive or folder is not read. Names are quoted, so that they cannot forge a terminal's output.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("it is not a gzip archive")]
    NotGzip,
    #[error("it is truncated")]
    Truncated,
    #[error("it is not a tar archive")]
    NotTar,
    #[error("it has {found} MiB packed; the limit is {limit} MiB")]
    Packed { found: u64, limit: u64 },
    #[error("it unpacks to more than {limit} MiB")]
    Unpacked { limit: u64 },
    #[error("it has more than {limit} files")]
    TooMany { limit: usize },
    #[error("`{name}` has more than {limit} MiB")]
    TooLarge { name: String, limit: u64 },
    #[error("the name `{name}` {why}")]
    Name { name: String, why: &'static str },
    #[error("`{name}` is {kind}; only regular files and directories are accepted")]
    Kind { name: String, kind: &'static str },
    #[error("the names `{one}` and `{other}` differ in case only")]
    SameName { one: String, other: String },
    #[error("`{name}` is in it twice")]
    Twice { name: String },
}

/// Reads a gzipped tar.
pub(crate) fn of_tgz(bytes: &[u8], limits: Limits) -> Result<Files, Vec<ArchiveError>> {
    check_packed(bytes.len() as u64, limits)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(vec![ArchiveError::NotGzip]);
    }
    of_stream(MultiGzDecoder::new(bytes), limits)
}

/// Reads a tar, gzipped or not.
pub(crate) fn of_tar(bytes: &[u8], limits: Limits) -> Result<Files, Vec<ArchiveError>> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return of_tgz(bytes, limits);
    }
    check_packed(bytes.len() as u64, limits)?;
    of_stream(bytes, limits)
}

fn check_packed(bytes: u64, limits: Limits) -> Result<(), Vec<ArchiveError>> {
    if bytes > limits.packed {
        return Err(vec![ArchiveError::Packed {
            found: bytes.div_ceil(MIB),
            limit: limits.packed / MIB,
        }]);
    }
    Ok(())
}

/// Ends a stream that is longer than its archive may be.
struct Counted<'c, R> {
    inner: R,
    left: &'c Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        if room == 0 {
            return Err(io::Error::other("too long"));
        }
        let most = buffer.len().min(room);
        let read = self.inner.read(&mut buffer[..most])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

fn of_stream(stream: impl Read, limits: Limits) -> Result<Files, Vec<ArchiveError>> {
    let left = Cell::new(limits.unpacked + OVERHEAD);
    let broken = |error: io::Error| {
        vec![match error.kind() {
            _ if left.get() == 0 => ArchiveError::Unpacked {
                limit: limits.unpacked / MIB,
            },
            io::ErrorKind::UnexpectedEof => ArchiveError::Truncated,
            _ => ArchiveError::NotTar,
        }]
    };
    let mut archive = tar::Archive::new(Counted {
        inner: stream,
        left: &left,
    });
    let mut gathered = Gathered::new(limits);
    for entry in archive.entries().map_err(&broken)? {
        let mut entry = entry.map_err(&broken)?;
        let bytes = entry.path_bytes().into_owned();
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let kind = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => None,
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Symlink => Some("a symbolic link"),
            EntryType::Link => Some("a hard link"),
            EntryType::Char | EntryType::Block => Some("a device"),
            EntryType::Fifo => Some("a pipe"),
            _ => Some("of an unknown kind"),
        };
        if let Some(kind) = kind {
            gathered.errors.push(ArchiveError::Kind { name, kind });
            continue;
        }
        let Some(name) = gathered.admit(&name, entry.size())? else {
            continue;
        };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(&broken)?;
        if (content.len() as u64) < entry.size() {
            return Err(vec![ArchiveError::Truncated]);
        }
        gathered.files.insert(name, content);
    }
    gathered.end()
}

/// Reads a folder. Links are refused: they may lead out of it.
pub(crate) fn of_folder(
    folder: &Path,
    limits: Limits,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Files, Vec<ArchiveError>> {
    let unreadable = |error: io::Error| vec![ArchiveError::Unreadable(error)];
    let mut gathered = Gathered::new(limits);
    for entry in WalkDir::new(folder).sort_by_file_name().min_depth(1) {
        let entry = entry.map_err(|error| unreadable(error.into()))?;
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let name = path.to_string_lossy().into_owned();
        if entry.file_type().is_dir() || !is_wanted(&name) {
            continue;
        }
        if !entry.file_type().is_file() {
            let kind = if entry.path_is_symlink() {
                "a symbolic link"
            } else {
                "a device"
            };
            gathered.errors.push(ArchiveError::Kind { name, kind });
            continue;
        }
        let size = entry.metadata().map_err(|error| unreadable(error.into()))?;
        if let Some(name) = gathered.admit(&name, size.len())? {
            let content = fs::read(entry.path()).map_err(unreadable)?;
            gathered.files.insert(name, content);
        }
    }
    gathered.end()
}

struct Gathered {
    limits: Limits,
    files: Files,
    /// Names by their folded form.
    folded: BTreeMap<String, String>,
    size: u64,
    errors: Vec<ArchiveError>,
}

impl Gathered {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            files: Files::new(),
            folded: BTreeMap::new(),
            size: 0,
            errors: Vec::new(),
        }
    }

    /// The name under which a file is kept; none for a file that is dropped or refused. An error ends the reading.
    fn admit(&mut self, name: &str, size: u64) -> Result<Option<String>, Vec<ArchiveError>> {
        let name = match safe_name(name) {
            Ok(name) => name,
            Err(why) => {
                let name = name.escape_debug().to_string();
                self.errors.push(ArchiveError::Name { name, why });
                return Ok(None);
            }
        };
        let last = name.rsplit('/').next().unwrap_or_default();
        if last.starts_with("._") || last == ".DS_Store" {
            return Ok(None);
        }
        if self.folded.len() == self.limits.files {
            self.errors.push(ArchiveError::TooMany {
                limit: self.limits.files,
            });
            return Err(std::mem::take(&mut self.errors));
        }
        self.size = self.size.saturating_add(size);
        if self.size > self.limits.unpacked {
            self.errors.push(ArchiveError::Unpacked {
                limit: self.limits.unpacked / MIB,
            });
            return Err(std::mem::take(&mut self.errors));
        }
        // Charts in a package have their own limits.
        let is_chart = name.starts_with("charts/") && is_packed(&name);
        if size > self.limits.file && !is_chart {
            let limit = self.limits.file / MIB;
            self.errors.push(ArchiveError::TooLarge { name, limit });
            return Ok(None);
        }
        match self.folded.insert(name.to_lowercase(), name.clone()) {
            None => Ok(Some(name)),
            Some(other) => {
                self.errors.push(if other == name {
                    ArchiveError::Twice { name }
                } else {
                    ArchiveError::SameName {
                        one: other,
                        other: name,
                    }
                });
                Ok(None)
            }
        }
    }

    fn end(self) -> Result<Files, Vec<ArchiveError>> {
        if self.errors.is_empty() {
            Ok(self.files)
        } else {
            Err(self.errors)
        }
    }
}

/// Whether a name is that of a packed chart.
pub(crate) fn is_packed(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "tgz")
}

fn safe_name(name: &str) -> Result<String, &'static str> {
    if name.contains('\0') {
        return Err("has a NUL");
    }
    if name.contains('\u{fffd}') {
        return Err("is not UTF-8");
    }
    if name.contains('\\') {
        return Err("has a backslash");
    }
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir => {}
            Component::ParentDir => return Err("has `..` in it"),
            Component::RootDir | Component::Prefix(_) => return Err("is an absolute path"),
        }
    }
    Ok(parts.join("/"))
}
