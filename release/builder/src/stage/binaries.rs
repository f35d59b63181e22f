//! Programs that are there already, stripped.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, anyhow, ensure};

use super::{PACKAGES, failed, run};
use crate::executable::check;

/// A second is plenty.
const STRIPPING: Duration = Duration::from_mins(2);

/// Puts the programs of each package, without symbols, below `PACKAGE/bin`. One that would not run on a stemcell is
/// refused.
pub(super) fn stage(binaries: &Path, sources: &Path) -> anyhow::Result<()> {
    for package in &PACKAGES {
        let folder = sources.join(package.name).join("bin");
        fs::create_dir_all(&folder).with_context(|| failed(&folder))?;
        for program in package.programs {
            let path = binaries.join(program);
            ensure!(
                path.is_file(),
                "there is no program `{}`; build it first: `cargo build --locked --release --bins --package {program}`",
                path.display()
            );
            let stripped = folder.join(program);
            let mut strip = Command::new("strip");
            strip.arg("--strip-all").arg("-o").arg(&stripped).arg(&path);
            run(strip, "install Debian's `binutils`", STRIPPING)?;
            check(&stripped).map_err(|error| anyhow!("`{}` {error:#}", path.display()))?;
        }
    }
    Ok(())
}
