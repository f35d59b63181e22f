//! `/ui/instances/{instance}/{action}`: a page that asks for confirmation, and the action itself. Actions are the
//! operations of the APIs, with the same checks and within the same request budget.

use actix_web::{
    Error, HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Path, Query},
};
use jiff::Timestamp;
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{code::Code, ids::InstanceId, ids::PlanId, kind::OperationKind};
use odb_config::UiAction;
use odb_core::{
    engine::{Cancelled, Deleted, Deletion, Upgraded},
    operations::DeprovisionRequest,
};
use serde::Serialize;

use super::{
    answer::{PageError, page, the_page},
    csrf::{Purpose, is_of_another_site},
    instance::{entry, order_of_upgrade},
    words,
};
use crate::api::{ApiError, RequestKind, Run, basic_username, instance_id};

/// A form has a token and a name.
const LARGEST_FORM: usize = 4096;

#[derive(Serialize)]
struct Content<'a> {
    id: &'a str,
    name: &'a str,
    action: &'static str,
    token: String,
    error: Option<&'static str>,
}

pub(super) async fn confirm(
    request: HttpRequest,
    run: Run,
    path: Path<(String, String)>,
) -> Result<HttpResponse, PageError> {
    let (instance, action) = wanted(&run, path)?;
    let name = words::name(&entry(&run, &instance).await?).to_owned();
    confirmation(&request, &run, &instance, (action, &name), None)
}

fn confirmation(
    request: &HttpRequest,
    run: &Run,
    instance: &InstanceId,
    (action, name): (UiAction, &str),
    error: Option<&'static str>,
) -> Result<HttpResponse, PageError> {
    let user = basic_username(request.headers()).unwrap_or_default();
    let purpose = Purpose {
        user: &user,
        action,
        instance,
    };
    let content = Content {
        id: instance.as_str(),
        name,
        action: action.name(),
        token: the_page(run)?.tokens().issue(purpose, Timestamp::now()),
        error,
    };
    page(run, "instances", "confirm.html", &content)
}

pub(super) async fn perform(
    request: HttpRequest,
    run: Run,
    path: Path<(String, String)>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, PageError> {
    let (instance, action) = wanted(&run, path)?;
    let form = Form::of(body)?;
    let user = basic_username(request.headers()).unwrap_or_default();
    let purpose = Purpose {
        user: &user,
        action,
        instance: &instance,
    };
    let tokens = the_page(&run)?.tokens();
    if is_of_another_site(request.headers())
        || !tokens.admits(form.field("token"), purpose, Timestamp::now())
    {
        return Err(forbidden(
            "The request does not come from this page, or its confirmation has expired: open the instance again.",
        )
        .into());
    }
    let notice = match action {
        UiAction::Upgrade => upgrade(&run, &instance).await?,
        UiAction::Cancel => cancel(&run, &instance).await?,
        UiAction::Delete => {
            let entry = entry(&run, &instance).await?;
            let name = words::name(&entry);
            if form.field("name").trim() != name {
                let error = Some("This is not the name of the instance. Nothing was deleted.");
                let mut again = confirmation(&request, &run, &instance, (action, name), error)?;
                *again.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                return Ok(again);
            }
            delete(&run, &instance, entry.plan_id).await?
        }
    };
    let next = format!("/ui/instances/{instance}?notice={notice}");
    Ok(HttpResponse::SeeOther()
        .insert_header((header::LOCATION, next))
        .finish())
}

/// The instance and the action of a path, if the page offers that.
fn wanted(run: &Run, path: Path<(String, String)>) -> Result<(InstanceId, UiAction), PageError> {
    let (instance, action) = path.into_inner();
    let action = UiAction::named(&action);
    let action = action.ok_or_else(|| ApiError::not_found("This page does not exist."))?;
    if !the_page(run)?.allows(action) {
        return Err(forbidden(
            "The page does not offer this action: `ui.actions` of the broker's configuration lists those that it does.",
        )
        .into());
    }
    Ok((instance_id(instance)?, action))
}

fn forbidden(text: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, Code::Forbidden, text)
}

async fn upgrade(run: &Run, instance: &InstanceId) -> Result<&'static str, ApiError> {
    let entry = entry(run, instance).await?;
    let (plan, body): (PlanId, RequestParameters) = order_of_upgrade(&entry);
    let instance = instance.clone();
    let begun = run.operator(RequestKind::Rollout, |operations, context| async move {
        operations.upgrade(context, instance, plan, body).await
    });
    Ok(match begun.await? {
        Upgraded::Started(_) => "upgrade",
        Upgraded::NothingToDo => "up-to-date",
    })
}

async fn cancel(run: &Run, instance: &InstanceId) -> Result<&'static str, ApiError> {
    let instance = instance.clone();
    let cancelled = run.operator(RequestKind::Cancel, |operations, context| async move {
        operations.cancel(context, instance).await
    });
    Ok(match cancelled.await? {
        Cancelled::AsSoonAsPossible => "cancel",
        Cancelled::AfterThisStep => "cancel-later",
    })
}

/// As a platform requests it, without force.
async fn delete(
    run: &Run,
    instance: &InstanceId,
    plan: Option<PlanId>,
) -> Result<&'static str, ApiError> {
    let request = DeprovisionRequest {
        instance: instance.clone(),
        service: run.app.operations.offering().id.clone(),
        plan: plan.unwrap_or_else(PlanId::unknown),
        deletion: Deletion::Careful,
        accepts_incomplete: true,
    };
    let kind = RequestKind::Operation(OperationKind::Delete);
    let deleted = run.operator(kind, |operations, context| async move {
        operations.deprovision(context, request).await
    });
    Ok(match deleted.await? {
        Deleted::Started(_) => "delete",
        Deleted::WasAbsent => "deleted",
    })
}

/// The fields of a form.
struct Form(Vec<(String, String)>);

impl Form {
    fn of(body: Result<Bytes, Error>) -> Result<Self, ApiError> {
        let malformed = || ApiError::malformed("The form cannot be read.");
        let body = body.map_err(|_| malformed())?;
        if body.len() > LARGEST_FORM {
            return Err(malformed());
        }
        let text = std::str::from_utf8(&body).map_err(|_| malformed())?;
        let fields = Query::<Vec<(String, String)>>::from_query(text).map_err(|_| malformed())?;
        Ok(Self(fields.into_inner()))
    }

    /// Empty if it is missing.
    fn field(&self, name: &str) -> &str {
        let mut fields = self.0.iter();
        let field = fields.find(|(key, _)| key == name);
        field.map_or("", |(_, value)| value)
    }
}
