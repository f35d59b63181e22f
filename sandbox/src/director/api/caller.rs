//! The caller and its rights (`spec/contracts/director-api.md`, "Authentication").

use std::{
    collections::BTreeSet,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header::AUTHORIZATION, web::Data};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::{ExposeSecret, zeroize::Zeroizing};
use subtle::ConstantTimeEq;

use super::Rejection;
use crate::director::{
    Director, LocalUser, UserManagement, deployments::Deployment, ids::TeamName, tasks::Task,
};

pub(super) struct Caller {
    /// The user's name, or the client's id.
    pub(super) user: String,
    pub(super) teams: BTreeSet<TeamName>,
    read_teams: BTreeSet<TeamName>,
    reach: Reach,
    uuid: String,
}

/// The rights of a caller on objects that its teams do not own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nothing,
    Read,
    Admin,
}

impl Caller {
    /// The caller of a request. A missing, wrong, expired or refresh token is none, and so are credentials of the
    /// kind that this Director is not set up for.
    pub(super) fn of(request: &HttpRequest) -> Result<Self, Rejection> {
        let caller = || {
            let director = request.app_data::<Data<Director>>()?;
            let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
            let (scheme, credentials) = header.split_once(' ')?;
            let (scheme, credentials) = (scheme.to_ascii_lowercase(), credentials.trim());
            match (&director.inner.settings.user_management, scheme.as_str()) {
                (UserManagement::Uaa, "bearer") => Self::with_token(director, credentials),
                (UserManagement::Local(users), "basic") => {
                    Self::with_password(users, credentials, &director.inner.settings.uuid)
                }
                _ => None,
            }
        };
        caller().ok_or_else(|| Rejection::NotAuthenticated {
            path: request.path().to_owned(),
        })
    }

    fn with_token(director: &Director, token: &str) -> Option<Self> {
        let token = director.inner.tokens.verify(token).ok()?;
        let uuid = &director.inner.settings.uuid;
        Some(Self::with_scopes(token.subject, &token.scopes, uuid))
    }

    /// A user whom the Director knows itself may do everything.
    fn with_password(users: &[LocalUser], credentials: &str, uuid: &str) -> Option<Self> {
        let decoded = Zeroizing::new(BASE64_STANDARD.decode(credentials).ok()?);
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        let (name, password) = (&decoded[..colon], &decoded[colon + 1..]);
        let user = users.iter().find(|user| user.name.as_bytes() == name)?;
        let known = user.password.expose_secret().as_bytes();
        bool::from(known.ct_eq(password)).then(|| Self {
            user: user.name.clone(),
            teams: BTreeSet::new(),
            read_teams: BTreeSet::new(),
            reach: Reach::Admin,
            uuid: uuid.to_owned(),
        })
    }

    fn with_scopes(user: String, scopes: &BTreeSet<String>, uuid: &str) -> Self {
        let has = |right: &str| {
            scopes.contains(&format!("bosh.{right}"))
                || scopes.contains(&format!("bosh.{uuid}.{right}"))
        };
        let reach = if has("admin") {
            Reach::Admin
        } else if has("read") {
            Reach::Read
        } else {
            Reach::Nothing
        };
        let teams_with = |right: &str| {
            let suffix = format!(".{right}");
            let teams = scopes
                .iter()
                .filter_map(|scope| scope.strip_prefix("bosh.teams.")?.strip_suffix(&suffix));
            teams.map(|team| team.to_owned().into()).collect()
        };
        Self {
            user,
            teams: teams_with("admin"),
            read_teams: teams_with("read"),
            reach,
            uuid: uuid.to_owned(),
        }
    }

    /// Whether everything may be read.
    pub(super) fn reads_all(&self) -> bool {
        self.reach >= Reach::Read
    }

    /// Whether everything may be changed.
    pub(super) fn is_admin(&self) -> bool {
        self.reach == Reach::Admin
    }

    /// The teams whose tasks, deployments and configs it sees.
    pub(super) fn teams_seen(&self) -> Vec<TeamName> {
        self.teams.union(&self.read_teams).cloned().collect()
    }

    /// Whether it sees what belongs to one of these teams.
    pub(super) fn reads_of(&self, teams: &[TeamName]) -> bool {
        let is_seen = |team| self.teams.contains(team) || self.read_teams.contains(team);
        self.reads_all() || teams.iter().any(is_seen)
    }

    /// Every caller with any right may request lists; they show only visible objects.
    pub(super) fn may_list(&self) -> Result<(), Rejection> {
        self.granted(
            self.reads_all() || !self.teams.is_empty() || !self.read_teams.is_empty(),
            Self::read_scopes,
        )
    }

    /// Director-wide reading, not for teams.
    pub(super) fn may_read_all(&self) -> Result<(), Rejection> {
        self.granted(self.reads_all(), Self::read_scopes)
    }

    /// Director-wide changes, and reading what only administrators see.
    pub(super) fn may_administer(&self) -> Result<(), Rejection> {
        self.granted(self.is_admin(), Self::admin_scopes)
    }

    pub(super) fn may_create(&self) -> Result<(), Rejection> {
        self.granted(
            self.is_admin() || !self.teams.is_empty(),
            Self::admin_scopes,
        )
    }

    pub(super) fn may_read(&self, deployment: &Deployment) -> Result<(), Rejection> {
        self.granted(self.reads_of(&deployment.teams), Self::read_scopes)
    }

    /// Changing one deployment, and reading its secrets' names.
    pub(super) fn may_change(&self, deployment: &Deployment) -> Result<(), Rejection> {
        self.granted(
            self.is_admin() || deployment.belongs_to(&self.teams),
            Self::admin_scopes,
        )
    }

    pub(super) fn may_read_task(&self, task: &Task) -> Result<(), Rejection> {
        self.granted(self.reads_of(&task.teams), Self::read_scopes)
    }

    pub(super) fn may_change_task(&self, task: &Task) -> Result<(), Rejection> {
        let owns = task.teams.iter().any(|team| self.teams.contains(team));
        self.granted(self.is_admin() || owns, Self::admin_scopes)
    }

    /// Looking a task up by its id, which is refused in words of its own.
    pub(super) fn may_look_up_task(&self, task: &Task) -> Result<(), Rejection> {
        if self.reads_of(&task.teams) {
            Ok(())
        } else {
            Err(Rejection::TaskScopes(self.read_scopes()))
        }
    }

    /// Changing an object that one team or no team owns.
    pub(super) fn may_change_of(&self, owner: Option<&TeamName>) -> Result<(), Rejection> {
        let owns = owner.is_some_and(|team| self.teams.contains(team));
        self.granted(self.is_admin() || owns, Self::admin_scopes)
    }

    /// Reading an object that one team or no team owns.
    pub(super) fn may_read_of(&self, owner: Option<&TeamName>) -> Result<(), Rejection> {
        let is_seen = owner.is_some_and(|team| self.reads_of(std::slice::from_ref(team)));
        self.granted(self.reads_all() || is_seen, Self::read_scopes)
    }

    fn granted(&self, granted: bool, needed: fn(&Self) -> Vec<String>) -> Result<(), Rejection> {
        if granted {
            Ok(())
        } else {
            Err(Rejection::MissingScope(needed(self)))
        }
    }

    fn admin_scopes(&self) -> Vec<String> {
        vec!["bosh.admin".to_owned(), format!("bosh.{}.admin", self.uuid)]
    }

    fn read_scopes(&self) -> Vec<String> {
        let mut scopes = self.admin_scopes();
        scopes.extend(["bosh.read".to_owned(), format!("bosh.{}.read", self.uuid)]);
        scopes
    }
}

impl FromRequest for Caller {
    type Error = Rejection;
    type Future = Ready<Result<Self, Rejection>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}
