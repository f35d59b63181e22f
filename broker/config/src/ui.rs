//! The section `ui`: the page for operators.

use std::collections::BTreeSet;

use super::{broker::BasicCredentials, findings::AlreadyReported, section::Section};

/// The page for operators at `/ui`.
#[derive(Debug)]
pub struct Ui {
    /// The credentials that log in; without, the broker's own.
    pub credentials: Option<BasicCredentials>,
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

/// Reads `ui`; the page is there if it is switched on.
pub(super) fn read(section: &Section<'_>) -> Result<Option<Ui>, AlreadyReported> {
    let is_enabled = section.flag("enabled");
    let credentials = credentials(section);
    let actions = actions(section);
    section.warn_unknown_keys();
    let (credentials, actions) = (credentials?, actions.ok_or(AlreadyReported)?);
    if credentials.is_none() && !actions.is_empty() {
        let wrong = "needs credentials of the page's own";
        let right = "give `username` and `password`, or remove it: the page only reads then";
        section.refuse::<()>("actions", (wrong, right));
        return Err(AlreadyReported);
    }
    Ok(is_enabled.then_some(Ui {
        credentials,
        actions,
    }))
}

fn credentials(section: &Section<'_>) -> Result<Option<BasicCredentials>, AlreadyReported> {
    let (username, password) = (section.text("username"), section.text("password"));
    let is_given = |key| section.has_value(key);
    let missing = match (username, password) {
        (Some(username), Some(password)) => {
            let (username, password) = (username.value, password.value.into());
            return Ok(Some(BasicCredentials::new(username, password)));
        }
        (None, Some(_)) if !is_given("username") => "username",
        (Some(_), None) if !is_given("password") && !is_given("password_file") => "password",
        (None, None)
            if !["username", "password", "password_file"]
                .into_iter()
                .any(is_given) =>
        {
            return Ok(None);
        }
        _ => return Err(AlreadyReported),
    };
    let right = "give `username` and `password`, or neither";
    section.refuse::<()>(missing, ("is missing", right));
    Err(AlreadyReported)
}

fn actions(section: &Section<'_>) -> Option<BTreeSet<UiAction>> {
    let mut known = Some(BTreeSet::new());
    for wanted in section.texts("actions") {
        match UiAction::named(&wanted.value) {
            Some(action) => {
                if let Some(known) = &mut known {
                    known.insert(action);
                }
            }
            None => {
                let names = UiAction::ALL.map(UiAction::name).join("`, `");
                let right = format!("the page knows `{names}`");
                known = section.refuse_value(&wanted, (wanted.quoted(), right));
            }
        }
    }
    known
}
