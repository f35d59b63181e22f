//! The files of a rendered job.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use odb_adapter_sdk::yaml;
use serde_json::Value;

/// Where everything of BOSH is on a VM.
const ROOT: &str = "/var/vcap";

/// The agent's modes for files in `bin`, and for others.
const EXECUTABLE: u32 = 0o750;
const READABLE: u32 = 0o640;

/// The files of a rendered job, `monit` included.
#[derive(Clone, Debug)]
pub struct Rendered {
    job: String,
    files: BTreeMap<String, String>,
}

impl Rendered {
    pub(super) fn new(job: &str, files: BTreeMap<String, String>) -> Self {
        Self {
            job: job.to_owned(),
            files,
        }
    }

    pub fn job(&self) -> &str {
        &self.job
    }

    /// The text of a file, which is named as on the VM below the job's folder: `config/broker.yml`.
    pub fn file(&self, path: &str) -> &str {
        self.files
            .get(path)
            .unwrap_or_else(|| panic!("job `{}` has no `{path}`", self.job))
    }

    pub fn document(&self, path: &str) -> Value {
        yaml::from_str(self.file(path))
            .unwrap_or_else(|error| panic!("`{path}` of job `{}`: {error}", self.job))
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter();
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// For a machine with this folder in place of `/var/vcap`.
    #[must_use]
    pub fn relocated(mut self, root: &Path) -> Self {
        let root = root.to_str().expect("the path is in UTF-8");
        for text in self.files.values_mut() {
            *text = text.replace(ROOT, root);
        }
        self
    }

    /// Writes the files below a folder, those of `bin` executable.
    pub fn write_to(&self, folder: &Path) {
        for (path, text) in &self.files {
            let file = folder.join(path);
            let parent = file.parent().expect("it is in the folder");
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&file, text))
                .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(mode(path))))
                .unwrap_or_else(|error| panic!("could not write `{}`: {error}", file.display()));
        }
    }
}

fn mode(path: &str) -> u32 {
    if path.starts_with("bin/") {
        EXECUTABLE
    } else {
        READABLE
    }
}
