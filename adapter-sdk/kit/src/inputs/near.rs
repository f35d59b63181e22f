use std::path::{Path, PathBuf};

use super::FILE_NAME;

/// How far above an executable its package may be: Cargo's are two folders deep.
const FOLDERS: usize = 3;

/// The inputs in an adapter's folder, or beside an executable, or in one of the folders above.
pub(crate) fn near(adapter: &Path) -> Option<PathBuf> {
    let adapter = std::path::absolute(adapter).ok()?;
    adapter
        .ancestors()
        .take(1 + FOLDERS)
        .map(|folder| folder.join(FILE_NAME))
        .find(|file| file.is_file())
}
