//! D and O: instances that are deleted. These come last, for they take the instance away that the others look at.

use reqwest::Method;

use super::{Checks, asynchrony::same_operation};
use crate::{
    Checked, Objection, Session,
    asks::{instance_path, new_id, patient},
    client::Ask,
    result::{applies, ensure},
    waiting::{EndState, Reported, reported},
};

pub(super) const CHECKS: Checks = &[
    ("D-01", |s| Box::pin(missing_ids(s))),
    ("D-02", |s| Box::pin(unknown(s))),
    ("D-03", |s| Box::pin(repeat(s))),
    ("D-04", |s| Box::pin(busy(s))),
    ("D-05", |s| Box::pin(cut_short(s))),
    ("D-06", |s| Box::pin(with_binding(s))),
    ("L-09", |s| Box::pin(end(s))),
    ("O-03", |s| Box::pin(never_was(s))),
];

async fn missing_ids(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let path = instance_path(&new_id());
    for (name, value) in [
        ("service_id", &offer.service.id),
        ("plan_id", &offer.plan.id),
    ] {
        let ask = patient(Ask::new(Method::DELETE, &*path).query(name, value));
        session.expect(ask, &[400]).await?;
    }
    Ok(())
}

async fn unknown(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let ask = Ask::deprovision(&new_id(), &offer.service.id, &offer.plan.id);
    session.expect(ask, &[410]).await
}

async fn repeat(session: &Session) -> Checked {
    let deletion = session.deletion().await?;
    same_operation(&deletion.accepted, &deletion.during()?.repeat)
}

async fn busy(session: &Session) -> Checked {
    let deletion = session.deletion().await?;
    if !deletion.impatient.status.is_success() {
        deletion.impatient.expect_word("AsyncRequired")?;
    }
    session.ensure_busy(&deletion.during()?.update).await
}

async fn cut_short(session: &Session) -> Checked {
    let cut = session.cut_short().await?;
    if cut.deletion.has_status(&[422]) {
        cut.deletion.expect_word("ConcurrencyError")?;
        return Err(Objection::not_shown(
            "the broker deletes nothing that is being made, which is allowed",
        ));
    }
    cut.deletion.expect(&[200, 202])?;
    if let Some(end) = &cut.end {
        ensure(end.state != EndState::Failed, end.last(), || {
            "the deletion should succeed".to_owned()
        })?;
    }
    match &cut.again {
        Some(again) => again.expect(&[410]),
        None => Ok(()),
    }
}

async fn with_binding(session: &Session) -> Checked {
    let deletion = session.deletion().await?;
    applies(deletion.had_binding, "there was no binding to leave")?;
    deletion.accepted.expect(&[200, 202])?;
    match &deletion.end {
        Some(end) => ensure(end.state != EndState::Failed, end.last(), || {
            "the deletion should succeed".to_owned()
        }),
        None => Ok(()),
    }
}

async fn end(session: &Session) -> Checked {
    let deletion = session.deletion().await?;
    let Some(end) = &deletion.end else {
        return Err(Objection::not_shown("the broker deletes instances at once"));
    };
    for poll in [end.last(), &deletion.asked_again] {
        let is_over = matches!(
            reported(poll),
            Reported::Ended(EndState::Succeeded | EndState::Gone)
        );
        ensure(is_over, poll, || {
            "the answer should be 200 succeeded, or 410".to_owned()
        })?;
    }
    Ok(())
}

async fn never_was(session: &Session) -> Checked {
    unknown(session).await?;
    session.deletion().await?.again.expect(&[410])
}
