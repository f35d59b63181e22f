use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

/// Where an adapter in Rust finds the SDK.
pub(super) enum Sdk {
    /// The tag of this version in the project's repository.
    Tag,
    /// The folder `adapter-sdk` of a checkout; absolute.
    Checkout(PathBuf),
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
        Ok(Self::Checkout(folder))
    }

    /// The requirement in `Cargo.toml` for the SDK, or the package in a folder of it.
    pub(super) fn dependency(&self, folder: Option<&str>) -> String {
        const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
        const VERSION: &str = env!("CARGO_PKG_VERSION");
        match self {
            Self::Tag => {
                format!(r#"{{ git = "{REPOSITORY}", tag = "v{VERSION}", version = "{VERSION}" }}"#)
            }
            Self::Checkout(sdk) => {
                let folder = folder.map_or_else(|| sdk.clone(), |folder| sdk.join(folder));
                format!(r#"{{ path = "{}" }}"#, folder.display())
            }
        }
    }

    /// The lock of a checkout: which versions of other crates the SDK is tested with.
    pub(super) fn lock(&self) -> Option<PathBuf> {
        match self {
            Self::Tag => None,
            Self::Checkout(sdk) => {
                let lock = sdk.parent()?.join("Cargo.lock");
                lock.is_file().then_some(lock)
            }
        }
    }
}

fn is_the_sdk(folder: &Path) -> bool {
    fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.contains("name = \"odb-adapter-sdk\""))
}
