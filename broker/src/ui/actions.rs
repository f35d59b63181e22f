//! `/ui/instances/{instance}/{action}`: a page that asks for confirmation, and the action itself. Actions are the
//! operations of the APIs, with the same checks and within the same request budget.

use actix_web::{
    Error, HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Path, Query},
};
use jiff::Timestamp;
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    code::Code, ids::InstanceId, ids::PlanId, kind::OperationKind, management::InventoryEntry,
};
use odb_config::UiAction;
use odb_core::{
    engine::{Cancelled, Deleted, Deletion, Upgraded},
    operations::DeprovisionRequest,
};
use serde::Serialize;

use super::{
    answer::{PageError, forbidden, page, the_page},
    csrf::Purpose,
    instance::{entry, order_of_upgrade},
    words,
};
use crate::api::{ApiError, RequestKind, Run, basic_username, instance_id};

/// The mark of an answer after which no operation is in progress, for the audit line.
pub(crate) struct NothingToDo;

/// A form has a token and a name.
const LARGEST_FORM: usize = 4096;

#[derive(Serialize)]
struct Content<'a> {
    id: &'a str,
    name: &'a str,
    plan: String,
    place: String,
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
    let entry = match (action, entry(&run, &instance).await) {
        (_, Ok(entry)) => Some(entry),
        // The end of a bad operation must not depend on the platform.
        (UiAction::Cancel, Err(_)) => None,
        (UiAction::Upgrade | UiAction::Delete, Err(error)) => return Err(error.into()),
    };
    confirmation(&request, &run, &instance, (action, entry.as_ref()), None)
}

fn confirmation(
    request: &HttpRequest,
    run: &Run,
    instance: &InstanceId,
    (action, entry): (UiAction, Option<&InventoryEntry>),
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
        name: entry.map_or(instance.as_str(), words::name),
        plan: entry.map(words::plan).unwrap_or_default(),
        place: entry.map(words::place).unwrap_or_default(),
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
    if !tokens.admits(form.field("token"), purpose, Timestamp::now()) {
        return Err(forbidden("The confirmation has expired, or is not of this page.").into());
    }
    let notice = match action {
        UiAction::Upgrade => upgrade(&run, &instance).await?,
        UiAction::Cancel => cancel(&run, &instance).await?,
        UiAction::Delete => {
            let entry = entry(&run, &instance).await?;
            let name = words::name(&entry);
            if form.field("name").trim() != name {
                let error = Some("This is not the name of the instance. Nothing was deleted.");
                let mut again =
                    confirmation(&request, &run, &instance, (action, Some(&entry)), error)?;
                *again.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                return Ok(again);
            }
            let plan = entry.plan_id.ok_or_else(|| {
                let text = "The plan of the instance is unknown, and so are its pre-delete errands. Nothing was deleted.";
                ApiError::new(StatusCode::CONFLICT, Code::NotInCatalog, text)
            })?;
            delete(&run, &instance, plan).await?
        }
    };
    the_page(&run)?.inventory().forget().await;
    let next = format!("/ui/instances/{instance}?notice={notice}");
    let mut response = HttpResponse::SeeOther()
        .insert_header((header::LOCATION, next))
        .finish();
    if ["up-to-date", "deleted"].contains(&notice) {
        response.extensions_mut().insert(NothingToDo);
    }
    Ok(response)
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
async fn delete(run: &Run, instance: &InstanceId, plan: PlanId) -> Result<&'static str, ApiError> {
    let request = DeprovisionRequest {
        instance: instance.clone(),
        service: run.app.operations.offering().id.clone(),
        plan,
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
