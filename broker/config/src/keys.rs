//! The keys of `broker.yml` and of the errands' files, declared once in `keys.yml`:
//! [`Section`](super::section::Section) reads only declared keys and warns about others, and the JSON Schema for editors
//! and the reference are generated from them.
//!
//! The keys are those of `spec/contracts/config-and-release.md` §1.2, of `spec/contracts/errands.md` §1.5, and our own
//! (`docs/contributing/architecture.md`, "New keys").

use std::sync::LazyLock;

use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The keys of each file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    pub(super) broker: Keys,
    pub(super) register_broker: Keys,
    pub(super) deregister_broker: Keys,
    pub(super) deletion: Keys,
    pub(super) fleet: Keys,
    pub(super) broker_only: Keys,
}

pub(super) static FILES: LazyLock<Files> = LazyLock::new(|| {
    let text = include_str!("keys.yml");
    let mut files: Files =
        yaml::from_str(text).expect("it is part of the program, and every test reads it");
    let errands = [
        &mut files.register_broker,
        &mut files.deregister_broker,
        &mut files.deletion,
        &mut files.fleet,
        &mut files.broker_only,
    ];
    let names = errands.iter().flat_map(|keys| &keys.entries);
    let names: Vec<String> = names.map(|key| key.name.clone()).collect();
    for keys in errands {
        keys.others = Others::SharedWith(names.clone());
    }
    files
});

/// Free names and values only.
pub(super) static FREE: Keys = Keys {
    entries: Vec::new(),
    others: Others::Free,
};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(try_from = "Map<String, Value>")]
pub(super) struct Keys {
    entries: Vec<Key>,
    others: Others,
}

#[derive(Debug, PartialEq)]
enum Others {
    /// It is ignored with a warning.
    Unknown,
    /// Not used here, but by the readers of these top-level keys, for which the same file may be used.
    SharedWith(Vec<String>),
    /// It passes through.
    Free,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    /// Its name in its section.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) what: String,
    #[serde(rename = "is")]
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) keys: Option<Keys>,
    #[serde(default)]
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) least: u64,
    #[serde(default = "unlimited")]
    pub(super) most: u64,
    #[serde(default)]
    pub(super) default: Option<Value>,
    /// Its section cannot do without; of a list, at least one member.
    #[serde(default)]
    pub(super) required: bool,
    /// Its value is never shown.
    #[serde(default)]
    pub(super) secret: bool,
    /// The Go programs do not have it, and ignore it.
    #[serde(default)]
    pub(super) new: bool,
    #[serde(default)]
    pub(super) status: KeyStatus,
}

/// The type of a key's values.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Any scalar, as it is spelled.
    Text,
    /// The path of a file with the value of a secret key. It is not declared: every secret text has one.
    #[serde(skip)]
    SecretFile,
    /// One or more certificates in PEM form.
    Certificates,
    Choice,
    Number,
    Flag,
    Texts,
    /// A list of some of the words.
    Choices,
    /// A count of VMs or a percentage.
    VmCount,
    TextMap,
    /// A map of anything, which passes through.
    FreeMap,
    /// A map from names of the operator's choice to numbers, with or without fraction.
    Amounts,
    Anything,
    Section,
    Sections,
    /// A map from names of the operator's choice to sections.
    Named,
}

/// The reader of a key.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyStatus {
    #[default]
    Read,
    /// Another program, such as an errand of the release.
    ReadElsewhere,
    /// No program; the text is the replacement.
    Deprecated(String),
    /// The broker, where the key of this name is missing.
    OtherSpelling(String),
}

const FILE_SUFFIX: &str = "_file";

/// The largest number that the Go broker reads.
pub(super) const UNLIMITED: u64 = i64::MAX.cast_unsigned();

const fn unlimited() -> u64 {
    UNLIMITED
}

impl TryFrom<Map<String, Value>> for Keys {
    type Error = serde_json::Error;

    fn try_from(mut declared: Map<String, Value>) -> Result<Self, Self::Error> {
        let others = match declared.shift_remove("*") {
            Some(_) => Others::Free,
            None => Others::Unknown,
        };
        let mut entries = Vec::new();
        for (name, value) in declared {
            let key: Key = serde_json::from_value(value)?;
            let key = Key { name, ..key };
            let file = key.secret_file();
            entries.push(key);
            entries.extend(file);
        }
        Ok(Self { entries, others })
    }
}

impl Keys {
    /// All that are declared, in the order in which they are explained.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.entries.iter()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Key> {
        self.iter().find(|key| key.name == name)
    }

    /// The key that names the file of a secret.
    pub(super) fn file_of(&self, secret: &str) -> Option<&Key> {
        self.iter().find(|key| {
            key.kind == Kind::SecretFile && key.name.strip_suffix(FILE_SUFFIX) == Some(secret)
        })
    }

    /// Keys that are not declared pass through.
    pub(super) fn lets_others_pass(&self) -> bool {
        self.others == Others::Free
    }

    /// Whether a key means nothing to any reader of the file.
    pub(super) fn is_unknown(&self, name: &str) -> bool {
        self.get(name).is_none()
            && match &self.others {
                Others::Unknown => true,
                Others::SharedWith(names) => !names.iter().any(|known| known == name),
                Others::Free => false,
            }
    }

    /// Some key of the section is a secret: a typo may then turn the secret into the name of a key.
    pub(super) fn hold_secrets(&self) -> bool {
        self.iter().any(|key| key.secret)
    }
}

impl Key {
    /// The key for the path of a file in place of this secret. A second spelling has none.
    fn secret_file(&self) -> Option<Self> {
        let has_one = self.secret && self.kind == Kind::Text && self.status == KeyStatus::Read;
        has_one.then(|| Self {
            name: format!("{}{FILE_SUFFIX}", self.name),
            what: format!(
                "In place of `{}`: the absolute path of a file with it.",
                self.name
            ),
            kind: Kind::SecretFile,
            keys: None,
            words: Vec::new(),
            least: 0,
            most: UNLIMITED,
            default: None,
            required: false,
            secret: false,
            new: true,
            status: KeyStatus::Read,
        })
    }

    /// A scalar, or a list of scalars, that this program or the release reads.
    pub(super) fn is_plain(&self) -> bool {
        matches!(
            self.kind,
            Kind::Text
                | Kind::SecretFile
                | Kind::Certificates
                | Kind::Choice
                | Kind::Number
                | Kind::Flag
                | Kind::Texts
                | Kind::Choices
                | Kind::VmCount
        )
    }
}

#[cfg(test)]
mod tests;
