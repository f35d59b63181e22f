//! An archive as files by their paths.

use crate::{
    archive::{Member, MemberKind},
    contents::{Bytes, Contents, Mode, name_in_archive},
};

use super::{Fault, FaultKind, Place};

/// The files of an archive. What is no file, or lies where no file may be, is left out and named.
pub(super) fn files(members: Vec<Member>, place: &Place, faults: &mut Vec<Fault>) -> Contents {
    let mut files = Contents::default();
    for Member { path, kind } in members {
        let shown = path.display().to_string();
        let kind = match (name_in_archive(&path), kind) {
            // `./` is the folder itself.
            (_, MemberKind::Folder) if !shown.contains("..") && !path.is_absolute() => continue,
            (None, _) => FaultKind::StrayPath(shown),
            (Some(_), MemberKind::Folder) => continue,
            (Some(_), MemberKind::Other) => FaultKind::NotAFile(shown),
            (Some(name), MemberKind::File { .. }) if files.get(&name).is_some() => {
                FaultKind::Twice(shown)
            }
            (Some(name), MemberKind::File { mode, bytes }) => {
                files.add_bytes(name, bytes, Mode::of(mode));
                let mode = mode & 0o7777;
                if mode == Mode::of(mode).bits() {
                    continue;
                }
                FaultKind::Mode { path: shown, mode }
            }
        };
        faults.push(Fault {
            place: place.clone(),
            kind,
        });
    }
    files
}

/// The bytes of a file of an archive.
pub(super) fn bytes<'a>(files: &'a Contents, path: &str) -> Option<&'a [u8]> {
    match &files.get(path)?.bytes {
        Bytes::InMemory(bytes) => Some(bytes),
        Bytes::OnDisk(_) => None,
    }
}

/// The same as text; what is no UTF-8 is shown by replacement characters.
pub(super) fn text(files: &Contents, path: &str) -> Option<String> {
    bytes(files, path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
