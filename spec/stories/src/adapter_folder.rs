//! Adapters that are folders of templates, served by `template-service-adapter`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::Binaries;

const EXAMPLES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../adapters/template/examples"
);

#[derive(Clone, Debug)]
pub struct AdapterFolder {
    folder: PathBuf,
}

impl AdapterFolder {
    /// Where the project has the example of that name.
    pub fn example(name: &str) -> PathBuf {
        Path::new(EXAMPLES).join(name)
    }

    pub(crate) fn copy_of(name: &str, into: &Path, binaries: &Binaries) -> Self {
        let folder = into.join(format!("{name}-adapter"));
        copy(&Self::example(name), &folder);
        symlink(
            binaries.path("template-service-adapter"),
            folder.join("service-adapter"),
        )
        .expect("the test made the folder");
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The adapter for the broker: a link to the executable, which serves the folder of the link.
    pub fn executable(&self) -> PathBuf {
        self.folder.join("service-adapter")
    }

    /// Puts one text in the place of another in one of its files.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path).expect("the example has this file");
        assert!(text.contains(old), "`{file}` has no `{old}`");
        fs::write(path, text.replace(old, new)).expect("the test made the folder");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("the test made the folder");
    for entry in fs::read_dir(from).expect("the example is there") {
        let entry = entry.expect("the example can be read").path();
        let name = entry.file_name().expect("an entry has a name");
        if entry.is_dir() {
            copy(&entry, &to.join(name));
        } else {
            fs::copy(&entry, to.join(name)).expect("the test made the folder");
        }
    }
}
