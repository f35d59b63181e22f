//! L: last operation.

use super::Checks;
use crate::{
    Checked, Objection, Session,
    asks::new_id,
    client::Ask,
    result::{applies, ensure},
    waiting::{EndState, Reported, reported},
};

pub(super) const CHECKS: Checks = &[
    ("L-01", |s| Box::pin(states(s))),
    ("L-02", |s| Box::pin(unknown(s))),
    ("L-03", |s| Box::pin(no_token(s))),
    ("L-04", |s| Box::pin(made_up_token(s))),
    ("L-05", |s| Box::pin(foreign_token(s))),
    ("L-06", |s| Box::pin(memory(s))),
    ("L-07", |s| Box::pin(retry_after(s))),
];

async fn states(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let Some(end) = &creation.end else {
        return Err(Objection::not_shown("the broker makes instances at once"));
    };
    for poll in &end.polls {
        poll.expect(&[200])?;
        ensure(reported(poll) != Reported::Nothing, poll, || {
            "`state` should be `in progress`, `succeeded` or `failed`".to_owned()
        })?;
    }
    ensure(end.state == EndState::Succeeded, end.last(), || {
        "the creation should succeed".to_owned()
    })
}

async fn unknown(session: &Session) -> Checked {
    let answer = session
        .client
        .send(Ask::last_operation(&new_id(), None))
        .await?;
    answer.expect(&[404])
}

async fn no_token(session: &Session) -> Checked {
    asked_with(session, None).await
}

async fn made_up_token(session: &Session) -> Checked {
    for token in [
        "odb-conformance",
        "provision",
        "{\"BoshTaskID\":4294967295}",
    ] {
        asked_with(session, Some(token)).await?;
    }
    Ok(())
}

/// The instance is there, whatever it is asked about with.
async fn asked_with(session: &Session, token: Option<&str>) -> Checked {
    let instance = session.ready_instance().await?;
    let answer = session
        .client
        .send(Ask::last_operation(instance, token))
        .await?;
    answer.expect(&[200])?;
    ensure(
        reported(&answer) == Reported::Ended(EndState::Succeeded),
        &answer,
        || "the instance is there, and its latest operation has succeeded".to_owned(),
    )
}

async fn foreign_token(session: &Session) -> Checked {
    let creation = session.creation().await?;
    creation.succeeded()?;
    let Some(operation) = &creation.operation else {
        return Err(Objection::not_shown("the broker hands out no operation"));
    };
    let ask = Ask::last_operation(&new_id(), Some(operation));
    session.expect(ask, &[404]).await
}

async fn memory(session: &Session) -> Checked {
    let creation = session.creation().await?;
    creation.succeeded()?;
    let Some(operation) = &creation.operation else {
        return Err(Objection::not_shown("the broker hands out no operation"));
    };
    for _ in 0..2 {
        let ask = Ask::last_operation(&creation.instance, Some(operation));
        let answer = session.client.send(ask).await?;
        ensure(
            reported(&answer) == Reported::Ended(EndState::Succeeded),
            &answer,
            || "the creation has succeeded, and should go on having done so".to_owned(),
        )?;
    }
    Ok(())
}

async fn retry_after(session: &Session) -> Checked {
    // A platform polls the operation.
    session.creation().await?;
    let mut was_reported = false;
    for answer in session.client.said() {
        let Some(value) = answer.headers.get("retry-after") else {
            continue;
        };
        was_reported = true;
        let is_number = value.to_str().is_ok_and(|text| text.parse::<u32>().is_ok());
        ensure(is_number, &answer, || {
            "Retry-After should be whole seconds, the only form that Cloud Foundry reads".to_owned()
        })?;
    }
    applies(was_reported, "no answer had Retry-After, which is allowed")
}
