//! A: answers at once, answers after a while, and several at a time.

use std::sync::Arc;

use serde_json::Value;

use super::Checks;
use crate::{
    Checked, Exchange, Objection, Session,
    result::{applies, ensure},
};

/// The longest token that platforms store.
const LONGEST_TOKEN: usize = 10_000;

pub(super) const CHECKS: Checks = &[
    ("A-01", |s| Box::pin(only_on_request(s))),
    ("A-02", |s| Box::pin(async_required(s))),
    ("A-03", |s| Box::pin(at_once(s))),
    ("A-04", |s| Box::pin(repeats(s))),
    ("A-05", |s| Box::pin(concurrency(s))),
    ("A-06", |s| Box::pin(token_length(s))),
    ("A-07", |s| Box::pin(never_null(s))),
];

async fn only_on_request(session: &Session) -> Checked {
    for answer in impatient(session).await? {
        ensure(!answer.has_status(&[202]), &answer, || {
            "a request without accepts_incomplete should not be answered with 202".to_owned()
        })?;
    }
    Ok(())
}

async fn async_required(session: &Session) -> Checked {
    let creation = session.creation().await?;
    applies(
        creation.operation.is_some() || creation.accepted.has_status(&[202]),
        "the broker makes instances at once",
    )?;
    for answer in impatient(session).await? {
        if !answer.status.is_success() {
            answer.expect_word("AsyncRequired")?;
        }
    }
    Ok(())
}

async fn at_once(session: &Session) -> Checked {
    let creation = session.creation().await?;
    ensure(
        creation.accepted.has_status(&[201, 202]),
        &creation.accepted,
        || "a created instance should be answered with 201, or 202 during its creation".to_owned(),
    )?;
    if let Ok(bindings) = session.bindings().await {
        bindings.made.expect(&[201, 202])?;
        bindings.given_back.expect(&[200, 202])?;
    }
    Ok(())
}

async fn repeats(session: &Session) -> Checked {
    let creation = session.creation().await?;
    same_operation(&creation.accepted, &creation.during()?.repeat)
}

async fn concurrency(session: &Session) -> Checked {
    let creation = session.creation().await?;
    session.ensure_busy(&creation.during()?.update).await
}

async fn token_length(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let Some(operation) = &creation.operation else {
        return Err(Objection::not_shown(
            "the broker hands out no operation, which is allowed",
        ));
    };
    let length = operation.chars().count();
    ensure(
        (1..=LONGEST_TOKEN).contains(&length),
        &creation.accepted,
        || format!("the operation has {length} characters"),
    )
}

async fn never_null(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let body = creation.accepted.json()?;
    ensure(
        body.get("operation").is_none_or(Value::is_string),
        &creation.accepted,
        || "`operation` should be a text or absent".to_owned(),
    )
}

/// A repeat is answered like the first request, with the same token.
pub(super) fn same_operation(first: &Arc<Exchange>, repeat: &Arc<Exchange>) -> Checked {
    repeat.expect(&[202])?;
    ensure(
        repeat.text("operation") == first.text("operation"),
        repeat,
        || "the operation should be the same as in the first answer".to_owned(),
    )
}

/// Orders and changes that did not say that the platform waits.
async fn impatient(session: &Session) -> Result<Vec<Arc<Exchange>>, Objection> {
    let mut answers = session.creation().await?.impatient.clone();
    if let Ok(change) = session.change().await {
        answers.extend(change.impatient.iter().cloned());
    }
    Ok(answers)
}
