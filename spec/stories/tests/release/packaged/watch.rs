//! Watches the process list of the machine continuously.

use std::{
    collections::BTreeSet,
    fs, process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use odb_stories::{ProcessTable, Secrets};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A look at the process list every few milliseconds, until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    /// Starts. Processes of this test count, and all with `root` in their arguments.
    pub(super) fn begin(root: &str) -> Self {
        let (over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::default()));
        let thread = thread::spawn({
            let (over, seen, root) = (Arc::clone(&over), Arc::clone(&seen), root.to_owned());
            move || {
                while !over.load(Ordering::Relaxed) {
                    look(&root, &seen);
                    thread::park_timeout(PAUSE);
                }
            }
        });
        Self {
            over,
            seen,
            thread: Some(thread),
        }
    }

    /// Arguments and environments of all processes so far. A secret in them fails the test.
    pub(super) fn expect_no(&self, secrets: &Secrets) {
        let seen = self.seen.lock().unwrap();
        assert!(!seen.is_empty());
        for line in seen.iter() {
            secrets.expect_none_in("the process list", line);
        }
    }

    /// How many processes with this text in their arguments there were.
    pub(super) fn has_seen(&self, text: &str) -> bool {
        let seen = self.seen.lock().unwrap();
        seen.iter().any(|line| line.contains(text))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn look(root: &str, seen: &Mutex<BTreeSet<String>>) {
    let table = ProcessTable::look();
    let of_this_test = table.family_of(process::id());
    let of_this_vm = table.with_argument(root);
    let mut lines = BTreeSet::new();
    for one in of_this_test.into_iter().chain(of_this_vm.iter().copied()) {
        lines.insert(one.command_line.clone());
    }
    for one in of_this_vm {
        let environment = fs::read(format!("/proc/{}/environ", one.id)).unwrap_or_default();
        lines.insert(String::from_utf8_lossy(&environment).replace('\0', " "));
    }
    seen.lock().unwrap().extend(lines);
}
