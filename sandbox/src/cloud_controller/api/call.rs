//! A request of v3, its sender, and what the sender sees.

use actix_web::{
    Error, FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError,
    dev::Payload,
    http::{
        Method,
        header::{AUTHORIZATION, LOCATION},
    },
    web::{Bytes, Data},
};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    RequestId, Response, created,
    message::message,
    ok,
    permissions::Permissions,
    resource::{Listed, Resource},
};
use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{
        Job, JobGuid, JobOperation, JobResource, LastOperation, SpaceGuid, Tables, User, UserName,
    },
    rejection::{ErrorKind, Rejection},
    work::Operation,
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
    AdminReadOnly,
    /// Sees everything but credentials.
    GlobalAuditor,
    /// Only the rights of the roles.
    Member,
}

pub(crate) struct Call {
    pub(crate) controller: Data<CloudController>,
    pub(crate) caller: Caller,
    pub(crate) request: HttpRequest,
    pub(crate) body: Bytes,
}

/// The tables as one sender sees them, at one moment.
pub(crate) struct View<'a> {
    pub(super) controller: &'a CloudController,
    pub(crate) tables: &'a Tables,
    pub(super) caller: &'a Caller,
    pub(crate) permissions: Permissions,
}

impl Caller {
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Rejection> {
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
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(invalid());
        }
        let controller = controller(request)?;
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
            () => return Err(Rejection::not_authorized()),
        };
        let request_id = request
            .extensions()
            .get::<RequestId>()
            .map(|id| id.0.clone());
        let name = UserName::new(&token.subject);
        controller.meet(&name, &token.subject_id);
        Ok(Self {
            name,
            rights,
            identity: Identity {
                user: Some(token.subject_id),
                request: request_id.unwrap_or_default(),
            },
        })
    }

    /// The sender of a request to a public route, who needs no token unless a feature flag hides the marketplace. A
    /// sender without a token has no roles.
    fn of_anyone(request: &HttpRequest) -> Result<Self, Rejection> {
        if request.headers().contains_key(AUTHORIZATION) {
            return Self::of(request);
        }
        let hidden =
            |tables: &Tables| tables.is_enabled("hide_marketplace_from_unauthenticated_users");
        if controller(request)?.0.state.read(hidden) {
            return Err(Rejection::not_authenticated());
        }
        Ok(Self {
            name: UserName::new(""),
            rights: Rights::Member,
            identity: Identity {
                user: None,
                request: String::new(),
            },
        })
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.rights == Rights::Admin
    }

    pub(crate) fn must_be_admin(&self) -> Result<(), Rejection> {
        if self.is_admin() {
            Ok(())
        } else {
            Err(Rejection::not_authorized())
        }
    }

    pub(crate) fn permissions(&self, tables: &Tables) -> Permissions {
        Permissions::of(tables, self)
    }
}

fn controller(request: &HttpRequest) -> Result<&Data<CloudController>, Rejection> {
    request
        .app_data::<Data<CloudController>>()
        .ok_or_else(Rejection::not_authenticated)
}

impl CloudController {
    /// Notes the user of a token, so that roles can be given by name.
    fn meet(&self, name: &UserName, guid: &str) {
        let is_known =
            |tables: &Tables| tables.users.get(name).is_some_and(|user| user.guid == guid);
        if self.0.state.read(is_known) {
            return;
        }
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

impl Call {
    fn new(request: &HttpRequest, caller: Caller) -> Result<Self, Rejection> {
        Ok(Self {
            controller: controller(request)?.clone(),
            caller,
            request: request.clone(),
            body: Bytes::new(),
        })
    }

    /// A request whose body is of no interest.
    pub(super) fn of(request: &HttpRequest) -> Result<Self, Rejection> {
        Self::new(request, Caller::of(request)?)
    }

    /// The same without a need for a token.
    pub(super) fn of_anyone(request: &HttpRequest) -> Result<Self, Rejection> {
        Self::new(request, Caller::of_anyone(request)?)
    }

    /// A request with its body. Errors have the form of one generation of the API.
    pub(crate) fn with_body<E>(
        request: &HttpRequest,
        payload: &mut Payload,
    ) -> LocalBoxFuture<'static, Result<Self, Error>>
    where
        E: From<Rejection> + ResponseError + 'static,
    {
        let call = Self::of(request);
        let body = Bytes::from_request(request, payload);
        Box::pin(async move {
            let call = call.map_err(E::from)?;
            Ok(Self {
                body: body.await?,
                ..call
            })
        })
    }

    pub(crate) fn part(&self, name: &str) -> &str {
        self.request.match_info().get(name).unwrap_or_default()
    }

    pub(crate) fn guid(&self) -> &str {
        self.part("guid")
    }

    pub(super) fn message<T: DeserializeOwned>(&self) -> Result<T, Rejection> {
        message(&self.body)
    }

    pub(crate) fn view<'a>(&'a self, tables: &'a Tables) -> View<'a> {
        View {
            controller: &self.controller,
            tables,
            caller: &self.caller,
            permissions: self.caller.permissions(tables),
        }
    }

    /// Looks at the tables. `look` must not block.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        self.controller
            .0
            .state
            .read(|tables| look(&self.view(tables)))
    }

    /// Changes the tables and has the change saved as one. `change` must not block.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        self.controller.0.state.change(change)
    }

    /// 200 with a resource.
    pub(super) fn shown<R: Resource>(&self, tables: &Tables, guid: &str) -> Response {
        Ok(ok(&self.presented::<R>(tables, guid)?))
    }

    /// 201 with a resource.
    pub(super) fn created<R: Resource>(&self, tables: &Tables, guid: &str) -> Response {
        Ok(created(&self.presented::<R>(tables, guid)?))
    }

    fn presented<R: Resource>(&self, tables: &Tables, guid: &str) -> Result<Value, Rejection> {
        let view = self.view(tables);
        let row = R::Row::find(tables, guid).ok_or_else(|| Rejection::no_such(R::KIND))?;
        Ok(R::presented(&view, row))
    }

    /// The answer to a request whose work has just begun.
    pub(super) fn accepted(&self, job: &JobGuid) -> HttpResponse {
        let job = self.controller.href(format_args!("/v3/jobs/{job}"));
        HttpResponse::Accepted()
            .insert_header((LOCATION, job))
            .finish()
    }

    /// The operation of a row whose last operation has just been set.
    pub(crate) fn begun(
        &self,
        tables: &mut Tables,
        kind: JobOperation,
        resource: JobResource,
        last_operation: &LastOperation,
    ) -> Operation {
        let job = tables.add_job(Job::new(kind, resource.clone()));
        Operation {
            controller: CloudController::clone(&self.controller),
            job,
            resource,
            id: last_operation.id,
            identity: self.caller.identity.clone(),
        }
    }
}

impl FromRequest for Call {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        Self::with_body::<Rejection>(request, payload)
    }
}

impl View<'_> {
    pub(super) fn organization(&self, space: &SpaceGuid) -> &str {
        let organization = self.tables.organization_of(space);
        organization.map_or("", |row| row.guid.as_str())
    }
}
