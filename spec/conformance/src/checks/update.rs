//! U: changes.

use serde_json::json;

use super::{Checks, asynchrony::same_operation};
use crate::{
    Checked, Objection, Session,
    asks::{new_id, with, without},
    client::Ask,
    result::{applies, ensure},
    waiting::EndState,
};

pub(super) const CHECKS: Checks = &[
    ("U-01", |s| Box::pin(wrong_service(s))),
    ("U-02", |s| Box::pin(without_plan(s))),
    ("U-03", |s| Box::pin(unknown_plan(s))),
    ("U-04", |s| Box::pin(unknown_instance(s))),
    ("U-06", |s| Box::pin(fixed_plan(s))),
    ("U-07", |s| Box::pin(wrong_version(s))),
    ("U-08", |s| Box::pin(repeat(s))),
    ("U-09", |s| Box::pin(busy(s))),
    ("U-12", |s| Box::pin(context_only(s))),
    ("U-13", |s| Box::pin(nothing_to_do(s))),
];

async fn wrong_service(session: &Session) -> Checked {
    let instance = session.ready_instance().await?;
    let body = session.change_of_nothing(session.offer().await?);
    for body in [
        without(&body, "service_id"),
        with(&body, "service_id", new_id()),
    ] {
        let answer = session.client.send(Ask::update(instance, &body)).await?;
        answer.expect(&[400])?;
    }
    Ok(())
}

async fn without_plan(session: &Session) -> Checked {
    let instance = session.ready_instance().await?;
    let offer = session.offer().await?;
    let plan = session.current_plan(offer);
    let parameters = session.fewest_parameters(offer.plan_called(&plan));
    let body = with(&session.change_from(offer, &plan), "parameters", parameters);
    taken(session, instance, &body).await
}

async fn unknown_plan(session: &Session) -> Checked {
    let instance = session.ready_instance().await?;
    let offer = session.offer().await?;
    let body = session.change_from(offer, &session.current_plan(offer));
    let body = with(&body, "plan_id", new_id());
    session.expect(Ask::update(instance, &body), &[400]).await
}

async fn unknown_instance(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let body = session.change_from(offer, &offer.plan.id);
    let body = with(&body, "plan_id", offer.plan.id.as_str());
    session
        .expect(Ask::update(&new_id(), &body), &[404, 410])
        .await
}

async fn fixed_plan(session: &Session) -> Checked {
    let offer = session.offer().await?;
    applies(!offer.can_be_left(), "the plan can be left")?;
    let Some(other) = &offer.other_plan else {
        return Err(Objection::not_shown("the offering has no other plan"));
    };
    let instance = session.ready_instance().await?;
    let body = session.change_from(offer, &offer.plan.id);
    let body = with(&body, "plan_id", other.id.as_str());
    session.expect(Ask::update(instance, &body), &[422]).await
}

async fn wrong_version(session: &Session) -> Checked {
    let instance = session.ready_instance().await?;
    let offer = session.offer().await?;
    let plan = session.current_plan(offer);
    let body = with(&session.change_from(offer, &plan), "plan_id", plan);
    let body = with(
        &body,
        "maintenance_info",
        json!({ "version": "0.0.0-odb-conformance" }),
    );
    let answer = session.client.send(Ask::update(instance, &body)).await?;
    answer.expect_word("MaintenanceInfoConflict")
}

async fn repeat(session: &Session) -> Checked {
    let change = session.change().await?;
    same_operation(&change.accepted, &change.during()?.repeat)?;
    match &change.end {
        Some(end) => ensure(end.state == EndState::Succeeded, end.last(), || {
            "the change should succeed".to_owned()
        }),
        None => Ok(()),
    }
}

async fn busy(session: &Session) -> Checked {
    let change = session.change().await?;
    session.ensure_busy(&change.during()?.other).await
}

async fn context_only(session: &Session) -> Checked {
    let offer = session.offer().await?;
    applies(
        offer.service.allow_context_updates,
        "the offering does not announce allow_context_updates",
    )?;
    let instance = session.ready_instance().await?;
    taken(session, instance, &session.change_of_nothing(offer)).await
}

async fn nothing_to_do(session: &Session) -> Checked {
    let instance = session.ready_instance().await?;
    let offer = session.offer().await?;
    let plan = session.current_plan(offer);
    let mut body = with(&session.change_from(offer, &plan), "plan_id", plan.as_str());
    let current = offer.plan_called(&plan);
    body["parameters"] = session.fewest_parameters(current);
    if let Some(version) = current.and_then(|plan| plan.version()) {
        body["maintenance_info"] = json!({ "version": version });
        body["previous_values"]["maintenance_info"] = json!({ "version": version });
    }
    let answer = session.client.send(Ask::update(instance, &body)).await?;
    if answer.has_status(&[202]) {
        session
            .follow(instance, answer.text("operation").as_deref())
            .await?;
    }
    session.ensure_fitting_parameters(&answer).await?;
    answer.expect(&[200])
}

/// A request is answered with 200, or with 202 and then succeeds.
async fn taken(session: &Session, instance: &str, body: &serde_json::Value) -> Checked {
    let answer = session.client.send(Ask::update(instance, body)).await?;
    session.ensure_fitting_parameters(&answer).await?;
    answer.expect(&[200, 202])?;
    if answer.has_status(&[202]) {
        let end = session
            .follow(instance, answer.text("operation").as_deref())
            .await?;
        ensure(end.state == EndState::Succeeded, end.last(), || {
            "the change should succeed".to_owned()
        })?;
    }
    Ok(())
}
