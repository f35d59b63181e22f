//! Who sends a request, and what that lets them see and do.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    dev::Payload,
    http::{Method, header::AUTHORIZATION},
    web::Data,
};

use super::RequestId;
use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{Instance, Plan, SpaceGuid, Tables, Visibility},
    refusal::{Fault, Refusal},
};

const AUDIENCE: [&str; 2] = ["cloud_controller", "cloud_controller_service_permissions"];

/// Who sends a request: somebody with a valid token that lets them use the request's method.
#[derive(Debug)]
pub(super) struct Caller {
    /// A user's name or a client's id.
    name: String,
    rights: Rights,
    pub(super) identity: Identity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Admin,
    AdminReadOnly,
    /// What the spaces give in which the user has a role.
    Member,
}

/// Who sends a request to a route that is open to everybody.
#[derive(Debug)]
pub(super) struct Visitor(Option<Caller>);

impl Caller {
    fn of(request: &HttpRequest) -> Result<Self, Refusal> {
        let invalid = || Fault::InvalidAuthToken.with("Invalid Auth Token");
        let header = request
            .headers()
            .get(AUTHORIZATION)
            .ok_or_else(Refusal::not_authenticated)?;
        let (scheme, token) = header
            .to_str()
            .ok()
            .and_then(|header| header.split_once(' '))
            .ok_or_else(invalid)?;
        let controller = request
            .app_data::<Data<CloudController>>()
            .ok_or_else(Refusal::not_authenticated)?;
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
            () if reads && (may("admin_read_only") || may("global_auditor")) => {
                Rights::AdminReadOnly
            }
            () if may(if reads { "read" } else { "write" }) => Rights::Member,
            () => return Err(Refusal::not_authorized()),
        };
        let request_id = request
            .extensions()
            .get::<RequestId>()
            .map(|id| id.0.clone())
            .unwrap_or_default();
        let identity = Identity {
            user: Some(token.subject_id),
            request: request_id,
        };
        Ok(Self {
            name: token.subject,
            rights,
            identity,
        })
    }

    pub(super) fn must_be_admin(&self) -> Result<(), Refusal> {
        if self.rights == Rights::Admin {
            Ok(())
        } else {
            Err(Refusal::not_authorized())
        }
    }

    /// Whether the caller may see all brokers with their names and addresses.
    pub(super) fn sees_brokers(&self) -> bool {
        self.rights != Rights::Member
    }

    /// Whether the caller may see what is in a space. Whoever may see it and write at all may change it.
    pub(super) fn sees_space(&self, tables: &Tables, space: &SpaceGuid) -> bool {
        let is_developer = || {
            tables
                .spaces
                .get(space)
                .is_some_and(|space| space.developers.contains(&self.name))
        };
        self.rights != Rights::Member || is_developer()
    }

    pub(super) fn sees_instance(&self, tables: &Tables, instance: &Instance) -> bool {
        self.sees_space(tables, &instance.space)
    }

    /// Whether the caller may see a plan, and order it.
    pub(super) fn sees_plan(&self, tables: &Tables, plan: &Plan) -> bool {
        self.rights != Rights::Member
            || match &plan.visibility {
                Visibility::Admin => false,
                Visibility::Public => true,
                Visibility::Organizations(organizations) => tables.spaces.values().any(|space| {
                    organizations.contains(&space.organization)
                        && space.developers.contains(&self.name)
                }),
            }
    }
}

impl Visitor {
    pub(super) fn sees_plan(&self, tables: &Tables, plan: &Plan) -> bool {
        match &self.0 {
            Some(caller) => caller.sees_plan(tables, plan),
            None => plan.visibility == Visibility::Public,
        }
    }

    /// Whether the visitor may see offerings of which no plan is visible.
    pub(super) fn sees_everything(&self) -> bool {
        self.0.as_ref().is_some_and(Caller::sees_brokers)
    }
}

impl FromRequest for Caller {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}

impl FromRequest for Visitor {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let anonymous = !request.headers().contains_key(AUTHORIZATION);
        ready(if anonymous {
            Ok(Self(None))
        } else {
            Caller::of(request).map(|caller| Self(Some(caller)))
        })
    }
}
