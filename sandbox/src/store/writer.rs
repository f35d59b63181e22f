//! The thread that writes the database.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use redb::Database;

use super::Table;

/// How long the writer waits after it could not write.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Takes changes and has them written, in transactions that follow each other.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// While it lives nothing is written.
pub(super) struct Held<'a>(&'a Shared);

#[derive(Default)]
struct Shared {
    pending: Mutex<Pending>,
    changed: Condvar,
}

/// Changes that are not written yet. A row that changes again takes the place of the earlier change, so there are never
/// more of them than rows.
#[derive(Default)]
struct Pending {
    changes: Changes,
    holders: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// The thread writes what is there and ends.
    Closing,
}

/// Table ⇒ key ⇒ the row, or nothing when it is gone.
type Changes = BTreeMap<&'static str, BTreeMap<Vec<u8>, Option<Vec<u8>>>>;

impl Writer {
    /// Writes to this database until it is closed or dropped.
    pub(super) fn start(database: Database) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("state".to_owned())
            .spawn(move || for_thread.write_all(&database))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn put(&self, table: &'static str, key: Vec<u8>, row: Option<Vec<u8>>) {
        let mut pending = self.shared.lock();
        pending.changes.entry(table).or_default().insert(key, row);
        drop(pending);
        self.shared.changed.notify_one();
    }

    /// Holds the writing back until the answer is dropped.
    pub(super) fn hold(&self) -> Held<'_> {
        self.shared.lock().holders += 1;
        Held(&self.shared)
    }

    /// Writes what there is and lets go of the database.
    pub(super) fn close(&self) {
        self.shared.lock().stage = Stage::Closing;
        self.shared.changed.notify_one();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the state's writer ended early: the last changes are lost");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.lock().holders -= 1;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, database: &Database) {
        loop {
            let (changes, stage) = self.next();
            if let Err(error) = write(database, &changes) {
                tracing::error!(%error, tables = changes.len(), "changes of the state could not be written");
                self.put_back(changes);
                if stage == Stage::Open {
                    self.wait_before_retry();
                }
            }
            if stage == Stage::Closing {
                return;
            }
        }
    }

    /// Changes that could not be written are still to be written, unless their rows have changed again.
    fn put_back(&self, changes: Changes) {
        let mut pending = self.lock();
        for (table, rows) in changes {
            let newer = pending.changes.entry(table).or_default();
            for (key, row) in rows {
                newer.entry(key).or_insert(row);
            }
        }
    }

    /// A full disk needs time before a retry. Closing ends the pause.
    fn wait_before_retry(&self) {
        let is_open = |pending: &mut Pending| pending.stage == Stage::Open;
        // Nothing is done with the guard: the next round takes the lock itself.
        drop(
            self.changed
                .wait_timeout_while(self.lock(), RETRY_PAUSE, is_open),
        );
    }

    /// Waits for changes, and until no caller holds them back.
    fn next(&self) -> (Changes, Stage) {
        let wait = |pending: &mut Pending| {
            pending.holders > 0 || (pending.changes.is_empty() && pending.stage == Stage::Open)
        };
        let mut pending = self
            .changed
            .wait_while(self.lock(), wait)
            .unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut pending.changes), pending.stage)
    }
}

fn write(database: &Database, changes: &Changes) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    for (name, rows) in changes {
        let mut table = transaction.open_table(Table::new(name))?;
        for (key, row) in rows {
            match row {
                Some(row) => table.insert(key.as_slice(), row.as_slice())?,
                None => table.remove(key.as_slice())?,
            };
        }
    }
    transaction.commit()?;
    Ok(())
}
