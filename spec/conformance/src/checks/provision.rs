//! P: orders.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Checks,
    asynchrony::same_operation,
    every_request::{expect_refused, refused_order},
    parameters,
};
use crate::{
    Checked, Exchange, Objection, Session,
    asks::{new_id, with, without},
    result::{applies, ensure},
};

pub(super) const CHECKS: Checks = &[
    ("P-01", |s| Box::pin(missing_members(s))),
    ("P-02", |s| Box::pin(unknown_ids(s))),
    ("P-03", |s| Box::pin(unfit_parameters(s))),
    ("P-04", |s| Box::pin(repeat_in_progress(s))),
    ("P-05", |s| Box::pin(repeat_of_complete(s))),
    ("P-06", |s| Box::pin(contradictions(s))),
    ("P-07", |s| Box::pin(wrong_version(s))),
    ("P-08", |s| Box::pin(version_of_nothing(s))),
    ("P-09", |s| Box::pin(dashboard(s))),
    ("P-11", |s| Box::pin(metadata(s))),
    ("P-12", |s| Box::pin(wrong_context(s))),
];

async fn missing_members(session: &Session) -> Checked {
    let order = session.order(session.offer().await?);
    for member in ["service_id", "plan_id", "organization_guid", "space_guid"] {
        let body = without(&order, member);
        expect_refused(session, &new_id(), &body, &[400]).await?;
    }
    Ok(())
}

async fn unknown_ids(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let order = session.order(offer);
    let mut wrong = vec![
        with(&order, "service_id", new_id()),
        with(&order, "plan_id", new_id()),
    ];
    wrong.extend(
        offer
            .foreign_plan
            .as_ref()
            .map(|plan| with(&order, "plan_id", plan.as_str())),
    );
    for body in wrong {
        expect_refused(session, &new_id(), &body, &[400]).await?;
    }
    Ok(())
}

async fn unfit_parameters(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let schema = offer.plan.schema("service_instance", "create");
    let unfit = parameters::unfit(schema, session.settings.parameters.as_ref())?;
    let body = with(&session.order(offer), "parameters", unfit);
    expect_refused(session, &new_id(), &body, &[400]).await
}

async fn repeat_in_progress(session: &Session) -> Checked {
    let creation = session.creation().await?;
    same_operation(&creation.accepted, &creation.during()?.repeat)
}

async fn repeat_of_complete(session: &Session) -> Checked {
    let creation = session.creation().await?;
    creation.succeeded()?;
    creation.repeat.expect(&[200])
}

async fn contradictions(session: &Session) -> Checked {
    let creation = session.creation().await?;
    creation.contradiction.expect(&[409])?;
    match creation.during() {
        Ok(during) => during.contradiction.expect(&[409]),
        Err(_) => Ok(()),
    }
}

async fn wrong_version(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let Some(plan) = offer.plan_with_version() else {
        return Err(Objection::not_shown("no plan has maintenance_info"));
    };
    ask_for_version(session, &plan.id, "0.0.0-odb-conformance").await
}

async fn version_of_nothing(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let Some(plan) = offer.plan_without_version() else {
        return Err(Objection::not_shown("every plan has maintenance_info"));
    };
    ask_for_version(session, &plan.id, "1.0.0").await
}

async fn ask_for_version(session: &Session, plan: &str, version: &str) -> Checked {
    let order = with(&session.order(session.offer().await?), "plan_id", plan);
    let body = with(&order, "maintenance_info", json!({ "version": version }));
    let answer = refused_order(session, &new_id(), &body).await?;
    answer.expect_word("MaintenanceInfoConflict")
}

async fn dashboard(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let (first, later) = (url(&creation.accepted)?, url(&creation.repeat)?);
    applies(
        first.is_some() || later.is_some(),
        "the instance has no dashboard",
    )?;
    ensure(first.is_some(), &creation.accepted, || {
        "the dashboard that a later answer has should be in the first".to_owned()
    })?;
    let is_same = later.is_none() || later == first;
    ensure(is_same, &creation.repeat, || {
        "the dashboard should stay where it was".to_owned()
    })
}

fn url(answer: &Arc<Exchange>) -> Result<Option<String>, Objection> {
    if !answer.status.is_success() {
        return Ok(None);
    }
    match answer.json()?.get("dashboard_url") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(url)) => Ok(Some(url.clone())),
        Some(_) => Err(Objection::shown_by(
            answer,
            "`dashboard_url` should be a text",
        )),
    }
}

async fn metadata(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let body = creation.accepted.json()?;
    let metadata = body.get("metadata").filter(|metadata| !metadata.is_null());
    applies(
        metadata.is_some(),
        "the instance has no metadata, which is allowed",
    )?;
    for member in ["labels", "attributes"] {
        let map = metadata.and_then(|metadata| metadata.get(member));
        ensure(map.is_none_or(Value::is_object), &creation.accepted, || {
            format!("metadata.{member} should be an object")
        })?;
    }
    Ok(())
}

async fn wrong_context(session: &Session) -> Checked {
    let order = session.order(session.offer().await?);
    for context in [json!(5), json!("text"), json!([])] {
        let body = with(&order, "context", context);
        expect_refused(session, &new_id(), &body, &[400]).await?;
    }
    Ok(())
}
