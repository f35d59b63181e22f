//! Where a foundation keeps its state: in memory, or in a database in the state folder that the next start reads.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`Store`] | the database, and what was in it at the start |
//! | [`Rows`] | a table of a component: a map that saves what changes in it |
//! | `writer` | the thread that writes, so that no request waits for the disk |
//!
//! Components answer from their own maps. The database only ever receives changes, a moment after they were made and in
//! their order: a sandbox that is killed loses the last few milliseconds, never half a change.

mod rows;
mod writer;

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableError,
    TableHandle,
};

pub use self::rows::Rows;
use self::writer::Writer;

const FILE: &str = "state.redb";
/// Everything is in memory anyway, so the database needs only a small cache.
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Raised when rows change their form so that an older state cannot be read.
const FORMAT: u32 = 1;
const FORMAT_TABLE: &str = "format";
const FORMAT_KEY: &[u8] = b"version";

type Table<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
/// Keys and values of one table, as JSON.
type SavedRows = Vec<(Vec<u8>, Vec<u8>)>;

/// Where the state of a foundation is kept. A clone is the same store.
#[derive(Clone, Default)]
pub struct Store {
    disk: Option<Arc<Disk>>,
}

struct Disk {
    writer: Writer,
    /// The rows of an earlier run, until the table's owner takes them.
    saved: Mutex<HashMap<String, SavedRows>>,
}

/// The state of a foundation cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("could not open the state in `{}`", file.display())]
    Open {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the state in `{}` is in use by another sandbox: stop that one, or give this one a folder of its own with `--state`",
        file.display()
    )]
    InUse { file: PathBuf },
    #[error("could not read the state in `{}`", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: Box<redb::Error>,
    },
    #[error(
        "the state in `{}` has the format {found}, this sandbox reads format {FORMAT}: start with an empty folder",
        file.display()
    )]
    OtherFormat { file: PathBuf, found: String },
    #[error("could not understand the row `{key}` of the state's table `{table}`")]
    Row {
        table: &'static str,
        /// The key of the row, or the text in place of one.
        key: String,
        #[source]
        source: serde_json::Error,
    },
}

impl Store {
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// The store in this folder, with everything that is saved there. Reads from the disk.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join(FILE);
        let failed = |source: redb::Error| StoreError::Read {
            file: file.clone(),
            source: Box::new(source),
        };
        let database = open_database(&file)?;
        let mut saved = read(&database).map_err(failed)?;
        check_format(&file, &mut saved)?;
        let writer = Writer::start(database).map_err(|source| StoreError::Open {
            file: file.clone(),
            source,
        })?;
        writer.put(
            FORMAT_TABLE,
            FORMAT_KEY.to_vec(),
            Some(FORMAT.to_string().into_bytes()),
        );
        Ok(Self {
            disk: Some(Arc::new(Disk {
                writer,
                saved: Mutex::new(saved),
            })),
        })
    }

    /// Saves from several tables become one transaction: after a crash all of them are there, or none. `save` must not
    /// block.
    pub fn together<T>(&self, save: impl FnOnce() -> T) -> T {
        let _together = self.disk.as_ref().map(|disk| disk.writer.hold());
        save()
    }

    /// Writes pending changes and closes the database. Later changes are not saved. Blocks on the disk.
    pub fn close(&self) {
        if let Some(disk) = &self.disk {
            disk.writer.close();
        }
    }

    /// Whether anything outlives this process.
    pub fn is_kept(&self) -> bool {
        self.disk.is_some()
    }

    fn take_saved(&self, table: &str) -> SavedRows {
        let Some(disk) = &self.disk else {
            return Vec::new();
        };
        let mut saved = disk.saved.lock().unwrap_or_else(PoisonError::into_inner);
        saved.remove(table).unwrap_or_default()
    }

    fn writer(&self) -> Option<&Writer> {
        self.disk.as_ref().map(|disk| &disk.writer)
    }
}

fn open_database(file: &Path) -> Result<Database, StoreError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(file)
        .map_err(|source| StoreError::Open {
            file: file.to_owned(),
            source,
        })?;
    Builder::new()
        .set_cache_size(CACHE_BYTES)
        .create_file(opened)
        .map_err(|source| match source {
            DatabaseError::DatabaseAlreadyOpen => StoreError::InUse {
                file: file.to_owned(),
            },
            source => StoreError::Read {
                file: file.to_owned(),
                source: Box::new(source.into()),
            },
        })
}

fn read(database: &Database) -> Result<HashMap<String, SavedRows>, redb::Error> {
    let transaction = database.begin_read()?;
    let mut saved = HashMap::new();
    for handle in transaction.list_tables()? {
        let name = handle.name().to_owned();
        let table = match transaction.open_table(Table::new(&name)) {
            Err(TableError::TableDoesNotExist(_)) => continue,
            opened => opened?,
        };
        let mut rows = Vec::new();
        for row in table.iter()? {
            let (key, value) = row?;
            rows.push((key.value().to_vec(), value.value().to_vec()));
        }
        saved.insert(name, rows);
    }
    Ok(saved)
}

fn check_format(file: &Path, saved: &mut HashMap<String, SavedRows>) -> Result<(), StoreError> {
    let found = saved.remove(FORMAT_TABLE).unwrap_or_default();
    for (_, version) in found {
        let found = String::from_utf8_lossy(&version);
        if found != FORMAT.to_string() {
            return Err(StoreError::OtherFormat {
                file: file.to_owned(),
                found: found.into_owned(),
            });
        }
    }
    Ok(())
}
