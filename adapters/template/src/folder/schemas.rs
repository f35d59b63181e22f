use std::path::{Path, PathBuf};
use std::{fs, io};

use super::schema::{Schema, SchemaError};
use crate::near::NearNames;

/// The files of `schemas/`.
pub(crate) struct Schemas {
    /// The schema of plan properties; without the file anything is valid.
    pub(crate) plan_properties: Option<Schema>,
    /// The schema of the parameters of a create; without the file there are none.
    pub(crate) create: Schema,
    /// When they update one.
    pub(crate) update: Schema,
    /// When they bind one.
    pub(crate) bind: Schema,
    /// Whether there is a file for updates.
    pub(crate) has_update: bool,
    /// Whether there is any schema for users.
    pub(crate) is_for_users: bool,
}

/// Why a schema cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemasError {
    #[error("could not read `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not a known schema; {near}", path.display())]
    Unknown { path: PathBuf, near: NearNames },
    #[error("`{}` is not read: schemas are read from `{}`", path.display(), folder.display())]
    Misplaced { path: PathBuf, folder: PathBuf },
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

pub(super) const PLAN_PROPERTIES: &str = "plan-properties.json";
pub(super) const CREATE: &str = "create.json";
pub(super) const UPDATE: &str = "update.json";

const NAMES: [&str; 4] = [PLAN_PROPERTIES, CREATE, UPDATE, "bind.json"];

impl Schemas {
    pub(super) fn load(adapter: &Path) -> Result<Self, SchemasError> {
        let folder = adapter.join("schemas");
        if let Some(path) = misplaced(adapter, &folder).map_err(unreadable(adapter))? {
            return Err(SchemasError::Misplaced { path, folder });
        }
        if folder.exists() {
            for entry in fs::read_dir(&folder).map_err(unreadable(&folder))? {
                let entry = entry.map_err(unreadable(&folder))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_json = Path::new(&name)
                    .extension()
                    .is_some_and(|end| end == "json");
                if is_json && !name.starts_with('.') && !NAMES.contains(&&*name) {
                    return Err(SchemasError::Unknown {
                        path: entry.path(),
                        near: NearNames::to(&name, NAMES),
                    });
                }
            }
        }
        let read = |name: &str| -> Result<Option<Schema>, SchemasError> {
            let path = folder.join(name);
            let text = match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                outcome => outcome.map_err(unreadable(&path))?,
            };
            Ok(Some(Schema::read(&path.display().to_string(), &text)?))
        };
        let [plan_properties, create, update, bind] = NAMES.map(read);
        let (create, update, bind) = (create?, update?, bind?);
        Ok(Self {
            plan_properties: plan_properties?,
            has_update: update.is_some(),
            is_for_users: create.is_some() || update.is_some() || bind.is_some(),
            create: create.unwrap_or_else(Schema::of_nothing),
            update: update.unwrap_or_else(Schema::of_nothing),
            bind: bind.unwrap_or_else(Schema::of_nothing),
        })
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> SchemasError {
    let path = path.to_owned();
    |source| SchemasError::Unreadable { path, source }
}

/// A file named like a schema that `schemas/` does not have, beside it or in another folder.
fn misplaced(adapter: &Path, schemas: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = vec![adapter.to_owned()];
    for entry in fs::read_dir(adapter)? {
        let path = entry?.path();
        if path.is_dir() && path != schemas {
            folders.push(path);
        }
    }
    let missing = NAMES
        .into_iter()
        .filter(|name| !schemas.join(name).exists());
    let mut paths = missing.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    Ok(paths.find(|path| path.is_file()))
}
