//! The foundation that needs no files: that of `manifests/sandbox`, with its jobs.

use std::{fs, io, path::PathBuf};

use tempfile::TempDir;

/// Its `foundation.yml`.
pub(super) const FOUNDATION: &str = include_str!("../../../manifests/sandbox/foundation.yml");

/// The jobs of its releases, in a folder that is there as long as this value.
#[derive(Debug)]
pub struct BuiltInJobs {
    folder: TempDir,
}

impl BuiltInJobs {
    pub fn unpack() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        for (job, file, text) in FILES {
            let job = folder.path().join(job);
            fs::create_dir_all(&job)?;
            fs::write(job.join(file), text)?;
        }
        Ok(Self { folder })
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// Job, file, text (`build.rs`).
const FILES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/jobs.rs"));

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    fn files(folder: &Path) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        for job in fs::read_dir(folder).unwrap() {
            let job = job.unwrap().path();
            for file in fs::read_dir(&job).unwrap() {
                found.insert((name(&job), name(&file.unwrap().path())));
            }
        }
        found
    }

    #[test]
    fn no_job_of_the_project_is_missing() {
        let project = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/sandbox/jobs");
        let jobs = BuiltInJobs::unpack().unwrap();

        assert_eq!(files(&jobs.folder()), files(Path::new(project)));
    }
}
