//! The visibility of a plan (`spec/contracts/platform-apis.md`, "Plan visibility").

use std::collections::BTreeSet;

use actix_web::web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    message::{Named, message},
    no_content, ok,
    service_plans::visibility_type,
};
use crate::cloud_controller::{
    CloudController,
    model::{OrganizationGuid, Plan, PlanGuid, Tables, Visibility},
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/service_plans/{guid}/visibility")
            .route(get().to(read))
            .route(patch().to(replace))
            .route(post().to(add)),
    )
    .service(
        resource("/v3/service_plans/{guid}/visibility/{organization}").route(delete().to(withdraw)),
    );
}

async fn read(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let plan = tables
            .plans
            .get(&PlanGuid::given(&guid))
            .filter(|plan| caller.sees_plan(tables, plan));
        Ok(ok(&presented(tables, plan.ok_or_else(missing)?)))
    })
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(rename = "type")]
    kind: WantedKind,
    #[serde(default)]
    organizations: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WantedKind {
    Admin,
    Public,
    Organization,
    Space,
}

async fn replace(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    controller.0.state.change(|tables| {
        must_change(tables, &caller, &guid)?;
        let wanted = wanted(&body)?.visibility(tables)?;
        let plan = tables
            .plans
            .get_mut(&PlanGuid::given(&guid))
            .ok_or_else(missing)?;
        plan.visibility = wanted;
        let plan = plan.clone();
        Ok(ok(&presented(tables, &plan)))
    })
}

async fn add(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    controller.0.state.change(|tables| {
        must_change(tables, &caller, &guid)?;
        let mut wanted = wanted(&body)?.visibility(tables)?;
        let plan = tables
            .plans
            .get_mut(&PlanGuid::given(&guid))
            .ok_or_else(missing)?;
        if let (Visibility::Organizations(more), Visibility::Organizations(there)) =
            (&mut wanted, &plan.visibility)
        {
            more.extend(there.iter().cloned());
        }
        plan.visibility = wanted;
        Ok(ok(&json!({"type": visibility_type(&plan.visibility)})))
    })
}

async fn withdraw(
    controller: Data<CloudController>,
    caller: Caller,
    path: Path<(String, String)>,
) -> Answer {
    let (plan, organization) = path.into_inner();
    controller.0.state.change(|tables| {
        must_change(tables, &caller, &plan)?;
        if !tables
            .organizations
            .contains_key(&OrganizationGuid::given(&organization))
        {
            return Err(Rejection::no_such("Organization"));
        }
        let plan = tables
            .plans
            .get_mut(&PlanGuid::given(&plan))
            .ok_or_else(missing)?;
        let Visibility::Organizations(organizations) = &mut plan.visibility else {
            return Err(Rejection::unprocessable(
                "Cannot delete visibilities from non-org-restricted plans",
            ));
        };
        if !organizations.remove(&OrganizationGuid::given(&organization)) {
            return Err(Rejection::no_such("Service plan visibility"));
        }
        if organizations.is_empty() {
            plan.visibility = Visibility::Admin;
        }
        Ok(no_content())
    })
}

fn missing() -> Rejection {
    Rejection::no_such("Service plan")
}

/// Only admins change who sees a plan, and a plan that the caller does not see is not there.
fn must_change(tables: &Tables, caller: &Caller, guid: &str) -> Result<(), Rejection> {
    tables
        .plans
        .get(&PlanGuid::given(guid))
        .filter(|plan| caller.sees_plan(tables, plan))
        .ok_or_else(missing)?;
    caller.must_be_admin()
}

fn wanted(body: &[u8]) -> Result<Wanted, Rejection> {
    message(body).map_err(|rejection| match rejection.kind() {
        ErrorKind::UnprocessableEntity => bad_request(&rejection.to_string()),
        _ => rejection,
    })
}

fn bad_request(detail: &str) -> Rejection {
    ErrorKind::BadRequest.with(format!("Bad request: {detail}"))
}

impl Wanted {
    fn visibility(&self, tables: &Tables) -> Result<Visibility, Rejection> {
        match self.kind {
            WantedKind::Admin => Ok(Visibility::Admin),
            WantedKind::Public => Ok(Visibility::Public),
            WantedKind::Space => Err(bad_request(
                "Type must be one of 'public', 'admin', 'organization'",
            )),
            WantedKind::Organization => {
                let guids: BTreeSet<_> = self
                    .organizations
                    .iter()
                    .map(|organization| OrganizationGuid::given(&organization.guid))
                    .collect();
                if guids.is_empty()
                    || !guids
                        .iter()
                        .all(|guid| tables.organizations.contains_key(guid))
                {
                    return Err(bad_request(
                        "Organizations must be a valid organization list",
                    ));
                }
                Ok(Visibility::Organizations(guids))
            }
        }
    }
}

fn presented(tables: &Tables, plan: &Plan) -> Value {
    let mut body = json!({"type": visibility_type(&plan.visibility)});
    if let Visibility::Organizations(guids) = &plan.visibility {
        let organizations = guids
            .iter()
            .filter_map(|guid| tables.organizations.get(guid));
        body["organizations"] = organizations
            .map(|organization| json!({"guid": organization.guid, "name": organization.name}))
            .collect();
    }
    body
}
