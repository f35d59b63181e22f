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
        (Some(username), Some(_)) if username.value.contains(':') => {
            let text = (
                "has a colon, which ends the name in basic authentication",
                "give another name",
            );
            section.refuse_value::<(), _>(&username, text);
            return Err(AlreadyReported);
        }
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

/// With the same credentials, those of the page would open the APIs as well.
pub(super) fn refuse_those_of_the_broker(ui: &Ui, broker: &Broker, section: &Section<'_>) {
    let is_same = ui.credentials.as_ref().is_some_and(|own| {
        let (username, password) = (own.username(), own.password().expose_secret());
        let of_broker = &broker.credentials;
        of_broker.admit(username.as_bytes(), password.as_bytes())
    });
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
