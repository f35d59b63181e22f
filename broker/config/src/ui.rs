//! The section `ui`: the page for operators.

use std::collections::BTreeSet;

use secrecy::ExposeSecret;

use super::{
    broker::{BasicCredentials, Broker},
    findings::AlreadyReported,
    section::{Found, Section},
};

/// The page for operators at `/ui`.
#[derive(Debug)]
pub struct Ui {
    /// The credentials that log in. They are not the broker's.
    pub credentials: BasicCredentials,
    /// What the page may change. Without any, it only reads.
    pub actions: BTreeSet<UiAction>,
}

/// A change of an instance that the page may offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UiAction {
    /// Upgrades an instance to what its plan deploys now.
    Upgrade,
    /// Cancels the operation in progress.
    Cancel,
    /// Deprovisions an instance at the broker.
    Delete,
}

impl UiAction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Upgrade, Self::Cancel, Self::Delete];

    /// Its name in the file and in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Cancel => "cancel",
            Self::Delete => "delete",
        }
    }

    /// The action of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// Reads `ui`. Without the switch, its other keys do not count.
pub(super) fn read(section: &Section<'_>) -> Result<Option<Ui>, AlreadyReported> {
    let is_enabled = section.flag("enabled");
    section.warn_unknown_keys();
    if !is_enabled {
        return Ok(None);
    }
    let username = username(section);
    let password = required(section, "password", &["password", "password_file"]);
    let actions = actions(section);
    let (Some(username), Some(password), Some(actions)) = (username, password, actions) else {
        return Err(AlreadyReported);
    };
    let credentials = BasicCredentials::new(username, password.value.into());
    Ok(Some(Ui {
        credentials,
        actions,
    }))
}

fn username(section: &Section<'_>) -> Option<String> {
    let username = required(section, "username", &["username"])?;
    if username.value.contains(':') {
        let text = (
            "has a colon, which ends the name in basic authentication",
            "give another name",
        );
        return section.refuse_value(&username, text);
    }
    Some(username.value)
}

/// The text of a key that can be spelled in several ways.
fn required(section: &Section<'_>, key: &str, spellings: &[&str]) -> Option<Found<String>> {
    if spellings.iter().any(|key| section.has_value(key)) {
        return section.text(key);
    }
    let right = "give `username` and `password` of the page's own, or switch it off";
    section.refuse(key, ("is missing", right))
}

/// With the same credentials, those of the page would open the APIs as well.
pub(super) fn refuse_those_of_the_broker(ui: &Ui, broker: &Broker, section: &Section<'_>) {
    let (username, password) = (ui.credentials.username(), ui.credentials.password());
    let password = password.expose_secret().as_bytes();
    let is_same = broker.credentials.admit(username.as_bytes(), password);
    if is_same {
        let wrong = "is the broker's, with its name: the page would open the APIs as well";
        section.refuse::<()>("password", (wrong, "give another one"));
    }
}

fn actions(section: &Section<'_>) -> Option<BTreeSet<UiAction>> {
    let read = |wanted: Found<String>| {
        UiAction::named(&wanted.value).or_else(|| {
            let names = UiAction::ALL.map(UiAction::name).join("`, `");
            let right = format!("supported are `{names}`");
            section.refuse_value(&wanted, (wanted.quoted(), right))
        })
    };
    // Each wrong one is reported.
    let read: Vec<Option<UiAction>> = section.texts("actions").into_iter().map(read).collect();
    read.into_iter().collect()
}
