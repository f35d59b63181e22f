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
                match mode_fault(place, shown, mode & 0o7777) {
                    None => continue,
                    Some(fault) => fault,
                }
            }
        };
        faults.push(Fault {
            place: place.clone(),
            kind,
        });
    }
    files
}

/// Only a Director reads the files of the release itself, and the `bosh` command line gives them mode 0600. What is in a job or
/// package gets to VMs.
fn mode_fault(place: &Place, path: String, mode: u32) -> Option<FaultKind> {
    if *place == Place::Release {
        let is_readable = mode & 0o7000 == 0 && mode & 0o400 != 0;
        return (!is_readable).then_some(FaultKind::ReleaseMode { path, mode });
    }
    (mode != Mode::of(mode).bits()).then_some(FaultKind::Mode { path, mode })
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
