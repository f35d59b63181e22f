//! D and O: instances that are deleted. These come last, for they take the instance away that the others look at.

use reqwest::Method;

use super::asynchrony::same_operation;
use crate::{
    Check, Checked,
    Level::{Advice, Must},
    Objection, Session,
    asks::{instance_path, new_id, patient},
    client::Ask,
    result::{applies, ensure},
    waiting::{EndState, Reported, reported},
};

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "D-01",
        Must,
        "without service_id or plan_id an instance is not deleted: 400",
        |s| Box::pin(missing_ids(s)),
    ),
    Check::new(
        "D-02",
        Must,
        "an instance that does not exist is answered with 410",
        |s| Box::pin(unknown(s)),
    ),
    Check::new(
        "D-03",
        Must,
        "a deletion repeated while it is in progress is answered with 202 and the same operation",
        |s| Box::pin(repeat(s)),
    ),
    Check::new(
        "D-04",
        Must,
        "a request during another operation is answered with 422 ConcurrencyError",
        |s| Box::pin(busy(s)),
    ),
    Check::new(
        "D-05",
        Must,
        "a deletion that is accepted while the instance is being made leaves nothing",
        |s| Box::pin(cut_short(s)),
    ),
    Check::new(
        "D-06",
        Advice,
        "an instance can be deleted although it has bindings",
        |s| Box::pin(with_binding(s)),
    ),
    Check::new(
        "L-09",
        Advice,
        "an ended deletion is answered with 200 succeeded or 410, each time",
        |s| Box::pin(end(s)),
    ),
    Check::new(
        "O-03",
        Advice,
        "deleting an instance that does not exist succeeds",
        |s| Box::pin(never_was(s)),
    ),
];

async fn missing_ids(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let path = instance_path(&new_id());
    for (name, value) in [
        ("service_id", &offer.service.id),
        ("plan_id", &offer.plan.id),
    ] {
        let ask = patient(Ask::new(Method::DELETE, &*path).query(name, value));
        session.client.send(ask).await?.expect(&[400])?;
    }
    Ok(())
}

async fn unknown(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let ask = Ask::deprovision(&new_id(), &offer.service.id, &offer.plan.id);
    session.client.send(ask).await?.expect(&[410])
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
