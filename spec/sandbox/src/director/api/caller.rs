//! Who calls, and what that caller may do (`spec/contracts/director-api.md`, "Authentication").

use std::{
    collections::BTreeSet,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header::AUTHORIZATION, web::Data};

use super::Refusal;
use crate::director::{Director, deployments::Deployment, ids::TeamName, tasks::Task};

/// An authenticated caller.
pub(super) struct Caller {
    /// The user's name, or the client's id.
    pub(super) user: String,
    /// The teams that it administers.
    pub(super) teams: BTreeSet<TeamName>,
    reach: Reach,
    uuid: String,
}

/// What a caller may do to things that are not its teams'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nothing,
    Read,
    Admin,
}

impl Caller {
    /// The caller of a request. A missing, wrong, expired or refresh token is none, as are basic credentials.
    pub(super) fn of(request: &HttpRequest) -> Result<Self, Refusal> {
        let refusal = || Refusal::NotAuthenticated {
            path: request.path().to_owned(),
        };
        let director = request.app_data::<Data<Director>>().ok_or_else(refusal)?;
        let header = request.headers().get(AUTHORIZATION).ok_or_else(refusal)?;
        let (scheme, token) = header
            .to_str()
            .ok()
            .and_then(|header| header.split_once(' '))
            .ok_or_else(refusal)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(refusal());
        }
        let token = director
            .inner
            .tokens
            .verify(token.trim())
            .map_err(|_| refusal())?;
        Ok(Self::with_scopes(
            token.subject,
            &token.scopes,
            &director.inner.settings.uuid,
        ))
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
        let teams = scopes
            .iter()
            .filter_map(|scope| scope.strip_prefix("bosh.teams.")?.strip_suffix(".admin"))
            .map(|team| team.to_owned().into())
            .collect();
        Self {
            user,
            teams,
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

    /// Lists may be asked for by everybody with any right here; they show what may be seen.
    pub(super) fn may_list(&self) -> Result<(), Refusal> {
        self.granted(
            self.reads_all() || !self.teams.is_empty(),
            Self::read_scopes,
        )
    }

    /// Director-wide reading, not for teams.
    pub(super) fn may_read_all(&self) -> Result<(), Refusal> {
        self.granted(self.reads_all(), Self::read_scopes)
    }

    /// Making deployments and configs.
    pub(super) fn may_create(&self) -> Result<(), Refusal> {
        self.granted(
            self.is_admin() || !self.teams.is_empty(),
            Self::admin_scopes,
        )
    }

    /// Reading one deployment.
    pub(super) fn may_read(&self, deployment: &Deployment) -> Result<(), Refusal> {
        self.granted(
            self.reads_all() || deployment.belongs_to(&self.teams),
            Self::read_scopes,
        )
    }

    /// Changing one deployment, and reading its secrets' names.
    pub(super) fn may_change(&self, deployment: &Deployment) -> Result<(), Refusal> {
        self.granted(
            self.is_admin() || deployment.belongs_to(&self.teams),
            Self::admin_scopes,
        )
    }

    /// Reading a task.
    pub(super) fn may_read_task(&self, task: &Task) -> Result<(), Refusal> {
        self.granted(self.reads_all() || self.sees(task), Self::read_scopes)
    }

    /// Cancelling a task, and reading its log.
    pub(super) fn may_change_task(&self, task: &Task) -> Result<(), Refusal> {
        self.granted(self.is_admin() || self.sees(task), Self::admin_scopes)
    }

    /// Looking a task up by its id, which is refused in words of its own.
    pub(super) fn may_look_up_task(&self, task: &Task) -> Result<(), Refusal> {
        if self.reads_all() || self.sees(task) {
            Ok(())
        } else {
            Err(Refusal::TaskScopes(self.read_scopes()))
        }
    }

    /// Changing something that one team owns, or nobody.
    pub(super) fn may_change_of(&self, owner: Option<&TeamName>) -> Result<(), Refusal> {
        let owns = owner.is_some_and(|team| self.teams.contains(team));
        self.granted(self.is_admin() || owns, Self::admin_scopes)
    }

    /// Reading something that one team owns, or nobody.
    pub(super) fn may_read_of(&self, owner: Option<&TeamName>) -> Result<(), Refusal> {
        let owns = owner.is_some_and(|team| self.teams.contains(team));
        self.granted(self.reads_all() || owns, Self::read_scopes)
    }

    fn sees(&self, task: &Task) -> bool {
        task.teams.iter().any(|team| self.teams.contains(team))
    }

    fn granted(&self, granted: bool, needed: fn(&Self) -> Vec<String>) -> Result<(), Refusal> {
        if granted {
            Ok(())
        } else {
            Err(Refusal::MissingScope(needed(self)))
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
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}
