use uuid::Uuid;

use super::language::Language;
use super::name::AdapterName;
use super::sdk::Sdk;

/// A file of a skeleton. Path and text have placeholders between @ signs.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    pub(super) is_executable: bool,
}

impl File {
    pub(super) const fn text(path: &'static str, text: &'static str) -> Self {
        Self {
            path,
            text,
            is_executable: false,
        }
    }

    pub(super) const fn executable(path: &'static str, text: &'static str) -> Self {
        Self {
            path,
            text,
            is_executable: true,
        }
    }
}

pub(super) struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Those of an adapter. The ids of its offering and plans are new each time, since no two offerings of a platform
    /// may share them.
    pub(super) fn new(name: &AdapterName, language: Language, sdk: &Sdk) -> Self {
        Self(vec![
            ("@NAME@", name.to_string()),
            ("@SERVICE_ID@", Uuid::new_v4().to_string()),
            ("@SMALL_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@LARGE_PLAN_ID@", Uuid::new_v4().to_string()),
            ("@BROKER_FILE@", language.broker_file().to_owned()),
            ("@FORMS@", language.forms().to_owned()),
            ("@SDK@", sdk.dependency(None)),
            ("@KIT@", sdk.dependency(Some("kit"))),
        ])
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let Self(placeholders) = self;
        placeholders
            .iter()
            .fold(text.to_owned(), |text, (placeholder, value)| {
                text.replace(placeholder, value)
            })
    }
}
