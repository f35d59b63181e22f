//! The file of contexts: readable by its owner alone, and always complete.

use std::{
    fs, io,
    io::Write,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use odb_adapter_sdk::yaml;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::environment::Environment;

/// The rights of others to the file.
const OF_OTHERS: u32 = 0o077;

/// All contexts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextFile {
    /// The context of commands that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    #[serde(default)]
    pub(super) contexts: Vec<Stored>,
}

/// A broker and its credentials.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) username: String,
    #[serde(serialize_with = "exposed", deserialize_with = "hidden")]
    pub(super) password: SecretString,
    /// A file, or PEM text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ca_cert: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) skip_ssl_validation: bool,
}

/// The file is where passwords belong.
fn exposed<S: Serializer>(password: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(password.expose_secret())
}

fn hidden<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

/// `$ODB_CONFIG`, else `odb/config.yml` in the user's folder of configurations.
pub(super) fn path(environment: &Environment) -> anyhow::Result<PathBuf> {
    if let Some(file) = environment.get("ODB_CONFIG") {
        return Ok(file.into());
    }
    let folder = match (environment.get("XDG_CONFIG_HOME"), environment.get("HOME")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(home)) => PathBuf::from(home).join(".config"),
        (None, None) => bail!("There is no home folder: set ODB_CONFIG to the path of a file"),
    };
    Ok(folder.join("odb/config.yml"))
}

impl ContextFile {
    /// Reads the file; without one there are no contexts.
    pub(super) fn load(file: &Path) -> anyhow::Result<Self> {
        let name = file.display();
        let metadata = match fs::metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            found => found.with_context(|| format!("cannot read `{name}`"))?,
        };
        if metadata.permissions().mode() & OF_OTHERS != 0 {
            bail!("Others can read `{name}`, which has passwords. Type: chmod 600 {name}");
        }
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{name}`"))?;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        yaml::from_str(&text).with_context(|| format!("`{name}` is not a file of contexts"))
    }

    /// Replaces the file in one step.
    pub(super) fn save(&self, file: &Path) -> anyhow::Result<()> {
        let written = self.write(file);
        written.with_context(|| format!("cannot write `{}`", file.display()))
    }

    fn write(&self, file: &Path) -> anyhow::Result<()> {
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Its mode is 0600 from the beginning.
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(yaml::to_string(self)?.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(file)?;
        Ok(())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.contexts.iter().map(|context| context.name.as_str())
    }

    pub(super) fn find(&self, name: &str) -> Option<&Stored> {
        self.contexts.iter().find(|context| context.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(password: &str) -> ContextFile {
        ContextFile {
            current: Some("test".to_owned()),
            contexts: vec![Stored {
                name: "test".to_owned(),
                url: "https://broker.example.com".to_owned(),
                username: "broker".to_owned(),
                password: password.into(),
                ca_cert: None,
                skip_ssl_validation: false,
            }],
        }
    }

    #[test]
    fn only_its_owner_can_read_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("odb/config.yml");
        file_of("no: 'word'").save(&file).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        let read = ContextFile::load(&file).unwrap();
        assert_eq!(read.contexts[0].password.expose_secret(), "no: 'word'");
        assert_eq!(read.current.as_deref(), Some("test"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_command_to_type() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yml");
        file_of("secret").save(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = ContextFile::load(&file).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("chmod 600 {}", file.display())),
            "{error}"
        );
    }

    #[test]
    fn neither_an_error_nor_a_debug_text_has_the_password() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yml");
        file_of("tiger").save(&file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("url:", "address:")).unwrap();
        let error = ContextFile::load(&file).unwrap_err();
        assert!(!format!("{error:#}").contains("tiger"), "{error:#}");
        assert!(!format!("{:?}", file_of("tiger")).contains("tiger"));
    }

    #[test]
    fn without_a_file_there_are_no_contexts() {
        let file = ContextFile::load(Path::new("/nonexistent/odb/config.yml")).unwrap();
        assert_eq!(file.names().count(), 0);
    }
}
