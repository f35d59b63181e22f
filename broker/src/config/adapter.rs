//! The section `service_adapter`: the executable that knows the service.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::section::Section;

/// The service adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The executable.
    pub path: PathBuf,
    /// Names of environment variables that are passed on beside the usual few.
    pub environment: Vec<String>,
}

/// Owner may read and execute, as the Go broker demands.
const READ_AND_EXECUTE: u32 = 0o500;

pub(super) fn read(section: &Section<'_>) -> Option<Adapter> {
    let path = section.required_text("path", "the path of the service adapter's executable");
    let environment = section
        .texts("environment")
        .into_iter()
        .map(|found| found.value)
        .collect();
    // Only the release's bpm configuration needs it.
    section.ignore(&["mount_paths"]);
    section.remark_unknown_keys();
    let path = path?;
    match unusable(Path::new(&path.value)) {
        None => Some(Adapter {
            path: path.value.into(),
            environment,
        }),
        Some(why) => section.refuse_value(
            &path,
            format!("is `{}`, {why}; give an executable file", path.value),
        ),
    }
}

fn unusable(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("which does not exist"),
        Err(_) => Some("which cannot be looked at"),
        Ok(meta) if meta.is_dir() => Some("which is a directory"),
        Ok(meta) if meta.permissions().mode() & READ_AND_EXECUTE != READ_AND_EXECUTE => {
            Some("which is not executable")
        }
        Ok(_) => None,
    }
}
