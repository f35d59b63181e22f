//! G and O: what holds for all answers of a run.

use std::{sync::Arc, time::Duration};

use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Checks, every_request::refused_order};
use crate::{
    Checked, Exchange, Objection, Session,
    asks::{new_id, with},
    client::{Ask, Credentials},
    result::ensure,
};

/// The timeout of Cloud Foundry.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Signs of a runtime's trace in a description.
const TRACES: [&str; 10] = [
    "goroutine ",
    "panic:",
    "panicked at",
    "runtime error",
    "nil pointer",
    "Traceback (most recent call last)",
    "Exception in thread",
    ".java:",
    ".go:",
    ".rs:",
];

/// The words with a fixed meaning (§1.3). Other words are a broker's own.
const WORDS: [&str; 4] = [
    "AsyncRequired",
    "ConcurrencyError",
    "RequiresApp",
    "MaintenanceInfoConflict",
];

pub(super) const CHECKS: Checks = &[
    ("G-10", |s| Box::pin(media_types(s))),
    ("G-20", |s| Box::pin(statuses(s))),
    ("G-23", |s| Box::pin(internals(s))),
    ("O-02", |s| Box::pin(promptness(s))),
];

/// Everything that was said, and a few requests for a run in which nothing else is looked at.
async fn whole_run(session: &Session) -> Result<Vec<Arc<Exchange>>, Objection> {
    let order = session.order(session.offer().await?);
    let wrong = with(&order, "plan_id", new_id());
    refused_order(session, &new_id(), &wrong).await?;
    for ask in [
        Ask::catalog(),
        Ask::last_operation(&new_id(), None),
        Ask::catalog().with_credentials(Credentials::None),
    ] {
        session.client.send(ask).await?;
    }
    Ok(session.client.said())
}

async fn media_types(session: &Session) -> Checked {
    for answer in whole_run(session).await? {
        if answer.body.is_empty() {
            continue;
        }
        let media = answer.header("content-type");
        let is_json = media.split(';').next().map(str::trim) == Some("application/json");
        ensure(is_json, &answer, || {
            "the answer should have Content-Type: application/json".to_owned()
        })?;
        answer.json()?;
    }
    Ok(())
}

async fn statuses(session: &Session) -> Checked {
    if let Some(objection) = session.scenes_that_failed().into_iter().next() {
        return Err(objection);
    }
    for answer in whole_run(session).await? {
        let status = answer.status.as_u16();
        ensure(is_foreseen(&answer), &answer, || {
            format!("{status} is not a status of this route")
        })?;
        if answer.is_error() {
            form_of_error(&answer)?;
        }
    }
    Ok(())
}

/// The statuses of §4 to §10, those for every route, and those of the HTTP specification for every server.
fn is_foreseen(answer: &Exchange) -> bool {
    let status = answer.status.as_u16();
    if matches!(
        status,
        400 | 401 | 404 | 405 | 408 | 412 | 413 | 414 | 415 | 429 | 431 | 503
    ) {
        return true;
    }
    let path = answer.path.trim_end_matches('/');
    let is_binding = path.contains("/service_bindings/");
    if path.ends_with("/last_operation") {
        return matches!(status, 200 | 410);
    }
    match (&answer.method, is_binding) {
        (&Method::PUT, false) => matches!(status, 200 | 201 | 202 | 403 | 409 | 422),
        (&Method::PUT, true) => matches!(status, 200 | 201 | 202 | 403 | 409 | 410 | 422),
        (&Method::PATCH, _) => matches!(status, 200 | 202 | 403 | 410 | 422),
        (&Method::DELETE, _) => matches!(status, 200 | 202 | 410 | 422),
        _ => matches!(status, 200 | 304 | 410 | 422),
    }
}

/// §1.3. A body that is no JSON is another rule's business.
fn form_of_error(answer: &Arc<Exchange>) -> Checked {
    let Ok(Value::Object(body)) = serde_json::from_str(&answer.body) else {
        return Ok(());
    };
    for member in ["error", "description"] {
        let is_text = body
            .get(member)
            .is_none_or(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        ensure(is_text, answer, || {
            format!("`{member}` should be a text that is not empty")
        })?;
    }
    if let Some(word) = body.get("error").and_then(Value::as_str) {
        let fits = !WORDS.contains(&word) || answer.has_status(&[422]);
        ensure(fits, answer, || format!("`{word}` needs status 422"))?;
    }
    Ok(())
}

async fn internals(session: &Session) -> Checked {
    let password = session.client.password().expose_secret();
    for answer in whole_run(session).await? {
        ensure(!answer.body.contains(password), &answer, || {
            "the answer should not have the broker's password in it".to_owned()
        })?;
        if !answer.is_error() {
            continue;
        }
        for trace in TRACES {
            ensure(!answer.body.contains(trace), &answer, || {
                format!("an error should not reveal internals such as `{trace}`")
            })?;
        }
    }
    Ok(())
}

async fn promptness(session: &Session) -> Checked {
    for answer in whole_run(session).await? {
        ensure(answer.took < TIMEOUT, &answer, || {
            format!("the answer took {} s", answer.took.as_secs())
        })?;
    }
    Ok(())
}
