//! The jobs of a release.

use std::{
    fs,
    path::{Path, PathBuf},
};

use odb_adapter_sdk::yaml;
use serde_json::Value;

use super::Rendering;

const OF_THE_PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../release/jobs");

#[derive(Clone, Debug)]
pub struct Jobs {
    folder: PathBuf,
}

impl Jobs {
    pub fn of_project() -> Self {
        Self::in_folder(Path::new(OF_THE_PROJECT))
    }

    /// Jobs somewhere else: sources with a `spec` each, or what is in a release's tarball, with a `job.MF` each.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder);
        let entries =
            entries.unwrap_or_else(|error| panic!("`{}`: {error}", self.folder.display()));
        let mut names = entries
            .map(|entry| entry.expect("the test made the folder").file_name())
            .map(|name| name.into_string().expect("jobs have names in ASCII"))
            .filter(|name| self.has(name))
            .collect::<Vec<_>>();
        names.sort_unstable();
        names
    }

    pub fn has(&self, name: &str) -> bool {
        specification_file(&self.folder.join(name)).is_some()
    }

    pub fn specification(&self, name: &str) -> Value {
        let file = specification_file(&self.folder.join(name));
        let file = file.unwrap_or_else(|| panic!("there is no job `{name}`"));
        let text = fs::read_to_string(&file).expect("it is a file");
        yaml::from_str(&text).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()))
    }

    /// A job that is to be rendered, without properties so far.
    pub fn rendering(&self, name: &str) -> Rendering {
        assert!(
            self.has(name),
            "there is no job `{name}` in `{}`",
            self.folder.display()
        );
        Rendering::new(self, name)
    }

    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn specification_file(job: &Path) -> Option<PathBuf> {
    ["spec", "job.MF"]
        .map(|name| job.join(name))
        .into_iter()
        .find(|file| file.is_file())
}
