//! The sender of a request.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    dev::Payload,
    http::{Method, header::AUTHORIZATION},
    web::Data,
};
use jiff::Timestamp;

use super::{RequestId, permissions::Permissions};
use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{Plan, SpaceGuid, Tables, User, UserName, Visibility},
    rejection::{ErrorKind, Rejection},
};

const AUDIENCE: [&str; 2] = ["cloud_controller", "cloud_controller_service_permissions"];

/// The sender of a request: a user or client with a valid token whose scopes allow the method.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(super) name: UserName,
    pub(super) rights: Rights,
    pub(crate) identity: Identity,
}

/// The rights of a token beyond the roles of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    Admin,
    /// Sees everything.
    AdminReadOnly,
    /// Sees everything but credentials.
    GlobalAuditor,
    /// Only the rights of the roles.
    Member,
    /// May ask for their permissions on an instance, and nothing else.
    PermissionsOnly,
}

/// The sender of a request to a public route.
#[derive(Debug)]
pub(crate) struct Visitor(Option<Caller>);

/// The sender of a request for the permissions on an instance; the scope of a dashboard is enough.
#[derive(Debug)]
pub(super) struct DashboardCaller(pub(super) Caller);

impl Caller {
    fn of(request: &HttpRequest) -> Result<Self, Rejection> {
        let caller = Self::of_any_scope(request)?;
        if caller.rights == Rights::PermissionsOnly {
            return Err(Rejection::not_authorized());
        }
        Ok(caller)
    }

    /// A caller with any valid token.
    pub(super) fn of_any_scope(request: &HttpRequest) -> Result<Self, Rejection> {
        let invalid = || ErrorKind::InvalidAuthToken.with("Invalid Auth Token");
        let header = request
            .headers()
            .get(AUTHORIZATION)
            .ok_or_else(Rejection::not_authenticated)?;
        let (scheme, token) = header
            .to_str()
            .ok()
            .and_then(|header| header.split_once(' '))
            .ok_or_else(invalid)?;
        let controller = request
            .app_data::<Data<CloudController>>()
            .ok_or_else(Rejection::not_authenticated)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(invalid());
        }
        let token = controller.0.tokens.verify(token).map_err(|_| invalid())?;
        if !AUDIENCE
            .iter()
            .any(|server| token.audience.contains(*server))
        {
            return Err(invalid());
        }
        let may = |scope: &str| token.scopes.contains(&format!("cloud_controller.{scope}"));
        let reads = request.method() == Method::GET;
        let rights = match () {
            () if may("admin") => Rights::Admin,
            () if may("admin_read_only") => Rights::AdminReadOnly,
            () if may("global_auditor") => Rights::GlobalAuditor,
            () if may(if reads { "read" } else { "write" }) => Rights::Member,
            () => Rights::PermissionsOnly,
        };
        let request_id = request
            .extensions()
            .get::<RequestId>()
            .map(|id| id.0.clone())
            .unwrap_or_default();
        let name = UserName::new(&token.subject);
        controller.meet(&name, &token.subject_id);
        Ok(Self {
            name,
            rights,
            identity: Identity {
                user: Some(token.subject_id),
                request: request_id,
            },
        })
    }

    pub(crate) fn must_be_admin(&self) -> Result<(), Rejection> {
        if self.rights == Rights::Admin {
            Ok(())
        } else {
            Err(Rejection::not_authorized())
        }
    }

    /// Whether everything there is may be seen: all brokers with their addresses, all plans, all spaces.
    pub(crate) fn sees_everything(&self) -> bool {
        matches!(
            self.rights,
            Rights::Admin | Rights::AdminReadOnly | Rights::GlobalAuditor
        )
    }

    /// The rights from the caller's roles and scopes, computed once per access to the tables.
    pub(crate) fn permissions(&self, tables: &Tables) -> Permissions {
        Permissions::of(tables, self)
    }

    /// Whether the caller may see what is in a space.
    pub(crate) fn sees_space(&self, tables: &Tables, space: &SpaceGuid) -> bool {
        self.permissions(tables).sees_space(tables, space)
    }

    /// Whether the caller may see a plan, and order it.
    pub(crate) fn sees_plan(&self, tables: &Tables, plan: &Plan) -> bool {
        self.permissions(tables).sees_plan(plan)
    }
}

impl CloudController {
    /// Notes whom a token was given to, so that roles can be given to them by name.
    fn meet(&self, name: &UserName, guid: &str) {
        let known = self
            .0
            .state
            .read(|tables| tables.users.get(name).is_some_and(|user| user.guid == guid));
        if !known {
            self.0.state.change(|tables| {
                let user = User {
                    name: name.clone(),
                    guid: guid.to_owned(),
                    created_at: Timestamp::now(),
                };
                tables.users.insert(name.clone(), user);
            });
        }
    }
}

impl Visitor {
    /// The rights of the visitor; without a token only public plans are visible.
    pub(crate) fn permissions(&self, tables: &Tables) -> Option<Permissions> {
        self.0.as_ref().map(|caller| caller.permissions(tables))
    }

    pub(crate) fn sees_plan(&self, tables: &Tables, plan: &Plan) -> bool {
        match &self.0 {
            Some(caller) => caller.sees_plan(tables, plan),
            None => plan.visibility == Visibility::Public,
        }
    }
}

impl FromRequest for Caller {
    type Error = Rejection;
    type Future = Ready<Result<Self, Rejection>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}

impl FromRequest for DashboardCaller {
    type Error = Rejection;
    type Future = Ready<Result<Self, Rejection>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Caller::of_any_scope(request).map(Self))
    }
}

impl FromRequest for Visitor {
    type Error = Rejection;
    type Future = Ready<Result<Self, Rejection>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let hidden = || {
            let controller = request.app_data::<Data<CloudController>>();
            controller.is_some_and(|controller| controller.hides_marketplace())
        };
        let anonymous = !request.headers().contains_key(AUTHORIZATION);
        ready(match anonymous {
            true if hidden() => Err(Rejection::not_authenticated()),
            true => Ok(Self(None)),
            false => Caller::of(request).map(|caller| Self(Some(caller))),
        })
    }
}
