use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, bail};

/// The folder with the SDK in a checkout, for adapters that use it.
pub(super) struct Sdk {
    /// Absolute.
    pub(super) folder: PathBuf,
}

impl Sdk {
    pub(super) fn at(folder: &Path) -> anyhow::Result<Self> {
        let canonical = folder.canonicalize().ok();
        let Some(folder) = canonical.filter(|folder| is_the_sdk(folder)) else {
            bail!(
                "`{}` is not the SDK: it has no Cargo.toml of `odb-adapter-sdk`",
                folder.display()
            );
        };
        let is_text = folder
            .to_str()
            .is_some_and(|text| !text.contains(['"', '\\']) && !text.contains(char::is_control));
        if !is_text {
            bail!(
                "`{}` has characters that are not allowed in Cargo.toml",
                folder.display()
            );
        }
        Ok(Self { folder })
    }

    /// The SDK of the checkout in which this executable was built.
    pub(super) fn of_this_checkout() -> anyhow::Result<Self> {
        let executable = env::current_exe().and_then(fs::canonicalize).ok();
        let ancestors = executable
            .iter()
            .flat_map(|executable| executable.ancestors());
        let folder = ancestors
            .map(|ancestor| ancestor.join("adapter-sdk"))
            .find(|folder| is_the_sdk(folder))
            .context(
                "this executable is in no checkout with an `adapter-sdk`; name its folder with --sdk",
            )?;
        Self::at(&folder)
    }

    /// The lock of the checkout: which versions of other crates the SDK is tested with.
    pub(super) fn lock(&self) -> Option<PathBuf> {
        let lock = self.folder.parent()?.join("Cargo.lock");
        lock.is_file().then_some(lock)
    }
}

fn is_the_sdk(folder: &Path) -> bool {
    fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.contains("name = \"odb-adapter-sdk\""))
}
