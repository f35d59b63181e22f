//! Programs that are there already, stripped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{StageError, child, failed, programs::PACKAGES};
use crate::executable::unmet_requirements;

/// A second is plenty.
const STRIPPING: Duration = Duration::from_mins(2);

/// Puts the programs of each package, without symbols, below `PACKAGE/bin`. One that would not run on a stemcell is
/// refused.
pub(super) fn stage(binaries: &Path, sources: &Path) -> Result<(), StageError> {
    for package in &PACKAGES {
        let folder = sources.join(package.name).join("bin");
        fs::create_dir_all(&folder).map_err(|source| failed(&folder, source))?;
        for program in package.programs {
            let path = binaries.join(program);
            if !path.is_file() {
                return Err(StageError::NoProgram {
                    path,
                    package: program,
                });
            }
            let stripped = folder.join(program);
            strip(&path, &stripped)?;
            check(path, &stripped)?;
        }
    }
    Ok(())
}

fn strip(from: &Path, to: &Path) -> Result<(), StageError> {
    let mut command = Command::new("strip");
    command.arg("--strip-all").arg("-o").arg(to).arg(from);
    Ok(child::run(
        &mut command,
        "install Debian's `binutils`",
        STRIPPING,
    )?)
}

fn check(path: PathBuf, stripped: &Path) -> Result<(), StageError> {
    let bytes = fs::read(stripped).map_err(|source| failed(stripped, source))?;
    match unmet_requirements(&bytes).into_iter().next() {
        None => Ok(()),
        Some(error) => Err(StageError::Program { path, error }),
    }
}
