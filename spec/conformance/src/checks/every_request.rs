//! G: what holds for every request.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use super::Checks;
use crate::{
    Checked, Exchange, Objection, Session,
    asks::{instance_path, new_id, with},
    client::{Ask, Credentials},
    result::ensure,
};

/// Larger than what any platform sends: 5 MiB.
const LARGE_BODY: usize = 5 * 1024 * 1024;

pub(super) const CHECKS: Checks = &[
    ("G-02", |s| Box::pin(missing_version(s))),
    ("G-03", |s| Box::pin(unsupported_version(s))),
    ("G-04", |s| Box::pin(minor_versions(s))),
    ("G-06", |s| Box::pin(authentication(s))),
    ("G-07", |s| Box::pin(originating_identity(s))),
    ("G-08", |s| Box::pin(request_identity(s))),
    ("G-09", |s| Box::pin(header_case(s))),
    ("G-11", |s| Box::pin(unreadable_bodies(s))),
    ("G-12", |s| Box::pin(unknown_members(s))),
    ("G-14", |s| Box::pin(empty_ids(s))),
    ("G-15", |s| Box::pin(encoded_ids(s))),
    ("G-17", |s| Box::pin(large_body(s))),
    ("G-21", |s| Box::pin(nothing_after_rejection(s))),
];

async fn missing_version(session: &Session) -> Checked {
    for ask in routes() {
        let answer = session.client.send(ask.without_version()).await?;
        answer.expect(&[412, 400])?;
    }
    Ok(())
}

async fn unsupported_version(session: &Session) -> Checked {
    for version in ["3.0", "1.0", "two"] {
        let ask = Ask::catalog().with_version(version);
        let answer = session.client.send(ask).await?;
        answer.expect(&[412])?;
        let reported = answer.text("description").unwrap_or_default();
        ensure(!reported.is_empty(), &answer, || {
            "the answer should have a `description` that names the versions".to_owned()
        })?;
    }
    Ok(())
}

async fn minor_versions(session: &Session) -> Checked {
    for version in ["2.13", "2.15", "2.17", "2.99"] {
        let ask = Ask::catalog().with_version(version);
        session.expect(ask, &[200]).await?;
    }
    Ok(())
}

async fn authentication(session: &Session) -> Checked {
    let catalog = || Ask::catalog();
    let unauthenticated_clients = [Credentials::WrongPassword, Credentials::WrongUser]
        .map(|credentials| catalog().with_credentials(credentials));
    let no_user = routes().into_iter().map(|ask| {
        ask.without_version()
            .raw("{")
            .with_credentials(Credentials::None)
    });
    for ask in unauthenticated_clients.into_iter().chain(no_user) {
        session.expect(ask, &[401]).await?;
    }
    Ok(())
}

async fn originating_identity(session: &Session) -> Checked {
    for identity in [
        None,
        Some("cloudfoundry eyJ1c2VyX2lkIjoiMSJ9"),
        Some("cloudfoundry"),
        Some("cloudfoundry %%%"),
    ] {
        let mut ask = Ask::catalog();
        if let Some(identity) = identity {
            ask = ask.header("X-Broker-API-Originating-Identity", identity);
        }
        session.expect(ask, &[200]).await?;
    }
    Ok(())
}

async fn request_identity(session: &Session) -> Checked {
    let unknown = new_id();
    for ask in [
        Ask::catalog(),
        Ask::last_operation(&unknown, None),
        Ask::impatient_provision(&unknown, &json!({})),
        Ask::catalog().without_version(),
        Ask::catalog().with_credentials(Credentials::None),
    ] {
        let identity = new_id();
        let ask = ask.header("X-Broker-API-Request-Identity", &identity);
        let answer = session.client.send(ask).await?;
        let echoed = answer.header("x-broker-api-request-identity");
        ensure(echoed == identity, &answer, || {
            format!("the answer should have X-Broker-API-Request-Identity: {identity}")
        })?;
    }
    Ok(())
}

async fn header_case(session: &Session) -> Checked {
    let ask = Ask::catalog().with_title_case_headers();
    session.expect(ask, &[200]).await
}

async fn unreadable_bodies(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let order = session.order(offer);
    for body in ["", "{", "[]", "null", "\"text\"", "\u{0}"] {
        for (method, path) in [
            (Method::PUT, instance_path(&new_id())),
            (Method::PATCH, instance_path(&new_id())),
            (
                Method::PUT,
                format!("{}/service_bindings/{}", instance_path(&new_id()), new_id()),
            ),
        ] {
            let ask = Ask::new(method, path).raw(body);
            let ask = ask.header("Content-Type", "application/json");
            session.expect(ask, &[400]).await?;
        }
    }
    let wrong = with(&order, "parameters", "text");
    expect_refused(session, &new_id(), &wrong, &[400]).await
}

async fn unknown_members(session: &Session) -> Checked {
    let creation = session.creation().await?;
    let (plain, unknown) = (&creation.repeat, &creation.repeat_with_unknown);
    ensure(plain.status == unknown.status, unknown, || {
        format!(
            "an unknown member should not change the answer, {}",
            plain.status.as_u16()
        )
    })
}

async fn empty_ids(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let order = session.order(offer);
    for member in ["service_id", "plan_id"] {
        let body = with(&order, member, "");
        expect_refused(session, &new_id(), &body, &[400]).await?;
    }
    let ask = Ask::new(Method::PUT, instance_path("")).json(&order);
    session.expect(ask, &[400, 404, 405]).await
}

async fn encoded_ids(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let instance = session.ready_instance().await?;
    let encoded = instance.replace('-', "%2D");
    let plain = session
        .client
        .send(Ask::last_operation(instance, None))
        .await?;
    let answer = session
        .client
        .send(Ask::last_operation(&encoded, None))
        .await?;
    ensure(answer.status == plain.status, &answer, || {
        format!(
            "the answer should be as for the plain id, {}",
            plain.status.as_u16()
        )
    })?;
    let order = session.order(offer);
    let long = "x".repeat(5000);
    for id in ["a%2Fb", "a%20b", "a%00b", &long] {
        expect_refused(session, id, &order, &[400, 404, 414]).await?;
    }
    Ok(())
}

async fn large_body(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let parameters = json!({ "odb_conformance": "x".repeat(LARGE_BODY) });
    let body = with(&session.order(offer), "parameters", parameters);
    expect_refused(session, &new_id(), &body, &[413]).await
}

async fn nothing_after_rejection(session: &Session) -> Checked {
    let offer = session.offer().await?;
    let instance = new_id();
    let body = with(&session.order(offer), "plan_id", new_id());
    expect_refused(session, &instance, &body, &[400]).await?;
    let poll = session
        .client
        .send(Ask::last_operation(&instance, None))
        .await?;
    poll.expect(&[404, 410])?;
    let ask = Ask::deprovision(&instance, &offer.service.id, &offer.plan.id);
    session.expect(ask, &[410]).await
}

/// An order that should be refused with one of these statuses.
pub(super) async fn expect_refused(
    session: &Session,
    instance: &str,
    body: &Value,
    statuses: &[u16],
) -> Checked {
    let answer = refused_order(session, instance, body).await?;
    answer.expect(statuses)
}

/// Sends an order that should be refused. Should it be taken, it is deleted at the end.
pub(super) async fn refused_order(
    session: &Session,
    instance: &str,
    body: &Value,
) -> Result<Arc<Exchange>, Objection> {
    let offer = session.offer().await?;
    session
        .ledger
        .may_exist(instance, &offer.service.id, &offer.plan.id);
    let answer = session.client.send(Ask::provision(instance, body)).await?;
    if answer.status.is_client_error() {
        session.ledger.is_gone(instance);
    }
    Ok(answer)
}

fn routes() -> Vec<Ask> {
    let instance = instance_path("odb-conformance");
    let binding = format!("{instance}/service_bindings/odb-conformance");
    let last_operation = |path: &str| format!("{path}/last_operation");
    vec![
        Ask::new(Method::GET, "/v2/catalog"),
        Ask::new(Method::PUT, &*instance),
        Ask::new(Method::GET, &*instance),
        Ask::new(Method::PATCH, &*instance),
        Ask::new(Method::GET, last_operation(&instance)),
        Ask::new(Method::DELETE, &*instance),
        Ask::new(Method::PUT, &*binding),
        Ask::new(Method::GET, &*binding),
        Ask::new(Method::GET, last_operation(&binding)),
        Ask::new(Method::DELETE, &*binding),
    ]
}
