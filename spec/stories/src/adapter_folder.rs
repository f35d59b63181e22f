//! Adapters that are folders of templates, served by `template-service-adapter`.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::Binaries;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The folders by the names of their services.
const FOLDERS: [(&str, &str); 2] = [
    ("postgres", "adapters/template/examples/postgres"),
    ("redis", "spec/test-adapter/templates"),
];

#[derive(Clone, Debug)]
pub struct AdapterFolder {
    folder: PathBuf,
}

impl AdapterFolder {
    /// Where the project has the folder for that service.
    pub fn of(service: &str) -> PathBuf {
        let mut folders = FOLDERS.iter();
        let (_, folder) = folders
            .find(|(name, _)| *name == service)
            .expect("the project has a folder for this service");
        Path::new(PROJECT).join(folder)
    }

    pub(crate) fn copy_of(name: &str, into: &Path, binaries: &Binaries) -> Self {
        let folder = into.join(format!("{name}-adapter"));
        copy(&Self::of(name), &folder);
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
