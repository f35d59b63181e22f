//! Watches the author's files for changes.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, timeout},
};

/// After so much silence a change is taken for complete: editors and linkers write in several steps.
const SILENCE: Duration = Duration::from_millis(300);

/// After this time the files are compared even if changes continue.
const LONGEST: Duration = Duration::from_secs(10);

/// Folders deeper than this are not searched.
const DEPTH: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Materials {
    pub(super) broker_file: PathBuf,
    pub(super) adapter: PathBuf,
    /// Folders with jobs; not all need to be there.
    pub(super) jobs: Vec<PathBuf>,
    /// The sandbox's own folder, in which it writes itself.
    pub(super) state: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    broker_file: Traces,
    adapter: Traces,
    jobs: Traces,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) broker_file: bool,
    pub(super) adapter: bool,
    pub(super) jobs: bool,
}

/// Files, with what shows that they were written.
type Traces = BTreeMap<PathBuf, Trace>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    inode: u64,
    length: u64,
    mode: u32,
    modified: (i64, i64),
}

/// Reports when a file may have changed.
pub(super) struct Watch {
    events: UnboundedReceiver<()>,
    materials: Materials,
    watcher: RecommendedWatcher,
}

impl Materials {
    pub(super) fn look(&self) -> Look {
        let mut look = Look::default();
        self.trace(&self.broker_file, &self.broker_file, &mut look.broker_file);
        self.trace(&self.adapter, &self.adapter, &mut look.adapter);
        for folder in &self.jobs {
            self.trace(folder, folder, &mut look.jobs);
        }
        look
    }

    /// Traces the files at `path`, at or below `root`. An unreadable file counts as missing for now.
    fn trace(&self, root: &Path, path: &Path, traces: &mut Traces) {
        let Ok(found) = fs::metadata(path) else {
            return;
        };
        if found.is_file() {
            let trace = Trace {
                inode: found.ino(),
                length: found.len(),
                mode: found.mode(),
                modified: (found.mtime(), found.mtime_nsec()),
            };
            traces.insert(path.to_owned(), trace);
        } else if found.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let entries = entries.map(|entry| entry.path());
            for entry in entries.filter(|entry| self.is_part_of(root, entry)) {
                self.trace(root, &entry, traces);
            }
        }
    }

    /// Whether a file or folder belongs to `root`. Files of editors, version control and the sandbox itself do not.
    fn is_part_of(&self, root: &Path, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(root) else {
            return false;
        };
        let mut names = below.iter().map(std::ffi::OsStr::to_string_lossy);
        let is_the_sandboxs = path.starts_with(&self.state) && !root.starts_with(&self.state);
        let is_known = !is_the_sandboxs && below.iter().count() <= DEPTH;
        is_known && !names.any(|name| name.starts_with('.') || name.ends_with('~'))
    }

    /// Whether a change of this path is one of the materials.
    fn concern(&self, path: &Path) -> bool {
        let files = [&self.broker_file, &self.adapter];
        let roots = files.into_iter().chain(&self.jobs);
        let mut links = files
            .into_iter()
            .filter_map(|file| file.canonicalize().ok());
        roots.into_iter().any(|root| self.is_part_of(root, path)) || links.any(|file| file == path)
    }

    /// The folders to watch. Replacing a file is visible only in its folder.
    fn watched(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let mut watched = Vec::new();
        for file in [&self.broker_file, &self.adapter] {
            // Of a link, both what it is and what it points to can change.
            let target = file.canonicalize().unwrap_or_else(|_| file.clone());
            for file in [file, &target] {
                watched.extend(
                    file.parent()
                        .map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive)),
                );
            }
        }
        let folders = self.jobs.iter().chain([&self.adapter]);
        let folders = folders.filter(|path| path.is_dir());
        watched.extend(folders.map(|folder| (folder.clone(), RecursiveMode::Recursive)));
        watched
    }
}

impl Look {
    pub(super) fn since(&self, earlier: &Self) -> Difference {
        Difference {
            broker_file: self.broker_file != earlier.broker_file,
            adapter: self.adapter != earlier.adapter,
            jobs: self.jobs != earlier.jobs,
        }
    }
}

impl Difference {
    pub(super) fn is_nothing(self) -> bool {
        !(self.broker_file || self.adapter || self.jobs)
    }
}

impl Watch {
    pub(super) fn start(materials: Materials) -> Result<Self, notify::Error> {
        let (reported, events) = unbounded_channel();
        let theirs = materials.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_of_concern = match event {
                Ok(event) if event.need_rescan() => true,
                Ok(event) => {
                    is_a_change(event.kind) && event.paths.iter().any(|path| theirs.concern(path))
                }
                // Something was missed; a look will show what.
                Err(_) => true,
            };
            if is_of_concern {
                // The receiver is gone when the sandbox ends.
                let _ = reported.send(());
            }
        })?;
        let mut watch = Self {
            events,
            materials,
            watcher,
        };
        watch.renew()?;
        Ok(watch)
    }

    /// Returns when something may have changed and nothing more has happened for a while.
    pub(super) async fn changed(&mut self) {
        let Some(()) = self.events.recv().await else {
            // The watcher has ended, which it does not do by itself.
            return std::future::pending().await;
        };
        let latest = Instant::now() + LONGEST;
        while Instant::now() < latest {
            if timeout(SILENCE, self.events.recv()).await.is_err() {
                break;
            }
        }
        // Folders may be there that were not there before.
        if let Err(error) = self.renew() {
            tracing::debug!(%error, "a folder cannot be watched yet");
        }
    }

    fn renew(&mut self) -> Result<(), notify::Error> {
        for (folder, mode) in self.materials.watched() {
            self.watcher.watch(&folder, mode)?;
        }
        Ok(())
    }
}

fn is_a_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn materials(folder: &Path) -> Materials {
        for part in ["adapter", "state"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        fs::write(folder.join("broker.yml"), "one: 1\n").unwrap();
        Materials {
            broker_file: folder.join("broker.yml"),
            adapter: folder.to_owned(),
            jobs: vec![folder.join("jobs")],
            state: folder.join("state"),
        }
    }

    #[tokio::test]
    async fn a_file_that_is_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let materials = materials(folder.path());
        let before = materials.look();
        let mut watch = Watch::start(materials.clone()).unwrap();

        let new = folder.path().join("new");
        fs::write(&new, "one: 2\n").unwrap();
        fs::rename(&new, &materials.broker_file).unwrap();
        watch.changed().await;

        let difference = materials.look().since(&before);
        assert!(difference.broker_file && !difference.jobs, "{difference:?}");
    }

    #[tokio::test]
    async fn a_folder_that_comes_later_is_watched_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let materials = materials(folder.path());
        let mut watch = Watch::start(materials.clone()).unwrap();
        let job = folder.path().join("jobs/one");
        fs::create_dir_all(&job).unwrap();
        watch.changed().await;
        let before = materials.look();

        fs::write(job.join("job.yml"), "name: one\n").unwrap();
        watch.changed().await;

        assert!(materials.look().since(&before).jobs);
    }

    #[test]
    fn what_the_sandbox_and_editors_write_themselves_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let materials = materials(folder.path());
        let before = materials.look();

        for name in ["state/broker.log", ".broker.yml.swp", "broker.yml~"] {
            fs::write(folder.path().join(name), "text").unwrap();
        }

        assert!(materials.look().since(&before).is_nothing());
    }
}
