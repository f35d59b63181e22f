//! Where the executables under test are.

use std::{env, path::PathBuf};

/// Names the folder with the executables. Without it that of the test itself is searched.
const FOLDER_VARIABLE: &str = "ODB_BIN_DIR";

#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// The folder that `ODB_BIN_DIR` names, else the one that the test was built into.
    pub fn find() -> Self {
        let folder = env::var_os(FOLDER_VARIABLE).map_or_else(beside_this_test, PathBuf::from);
        Self { folder }
    }

    /// The folder with the RSA keys of all sandboxes: making them took a third of the time of the stories.
    pub(crate) fn rsa_keys(&self) -> PathBuf {
        self.folder.join("rsa-keys")
    }

    /// The executable of that name. One that is missing fails the test.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        assert!(
            path.is_file(),
            "there is no `{}`; run `scripts/test`, which builds the executables before it tests them",
            path.display()
        );
        path
    }
}

/// Tests are built into `deps` below the folder of the executables.
fn beside_this_test() -> PathBuf {
    let test = env::current_exe().expect("a running test has an executable");
    let folder = test.parent().and_then(|deps| deps.parent());
    folder
        .expect("cargo builds tests two folders deep")
        .to_owned()
}
