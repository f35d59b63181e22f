use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder with the SDK in a checkout, for adapters that use it.
pub(super) struct Sdk {
    /// Absolute.
    pub(super) folder: PathBuf,
}

/// Why there is no SDK.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSdk {
    #[error("this executable is in no checkout with an `adapter-sdk`; name its folder with --sdk")]
    NotFound,
    #[error("`{}` is not the SDK: it has no Cargo.toml of `odb-adapter-sdk`", .0.display())]
    NotTheSdk(PathBuf),
    #[error("`{}` has characters that are not allowed in Cargo.toml", .0.display())]
    NotText(PathBuf),
}

impl Sdk {
    pub(super) fn at(folder: &Path) -> Result<Self, NoSdk> {
        let not_the_sdk = || NoSdk::NotTheSdk(folder.to_owned());
        let folder = folder.canonicalize().map_err(|_| not_the_sdk())?;
        if !is_the_sdk(&folder) {
            return Err(not_the_sdk());
        }
        let is_text = folder
            .to_str()
            .is_some_and(|text| !text.contains(['"', '\\']) && !text.contains(char::is_control));
        if is_text {
            Ok(Self { folder })
        } else {
            Err(NoSdk::NotText(folder))
        }
    }

    /// The SDK of the checkout in which this executable was built.
    pub(super) fn of_this_checkout() -> Result<Self, NoSdk> {
        let executable = env::current_exe()
            .and_then(fs::canonicalize)
            .map_err(|_| NoSdk::NotFound)?;
        let folder = executable
            .ancestors()
            .map(|ancestor| ancestor.join("adapter-sdk"))
            .find(|folder| is_the_sdk(folder))
            .ok_or(NoSdk::NotFound)?;
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
