//! B, FB, LB: bindings.

use std::sync::Arc;

use serde_json::Value;

use super::{Checks, parameters};
use crate::{
    Checked, Exchange, Objection, Session,
    asks::{new_id, with, without},
    client::Ask,
    result::{applies, ensure},
    waiting::{EndState, Reported, reported},
};

pub(super) const CHECKS: Checks = &[
    ("B-01", |s| Box::pin(missing_ids(s))),
    ("B-02", |s| Box::pin(unknown_ids(s))),
    ("B-03", |s| Box::pin(unknown_instance(s))),
    ("B-04", |s| Box::pin(without_resource(s))),
    ("B-05", |s| Box::pin(repeat(s))),
    ("B-06", |s| Box::pin(contradiction(s))),
    ("B-07", |s| Box::pin(requires_app(s))),
    ("B-08", |s| Box::pin(too_early(s))),
    ("B-09", |s| Box::pin(asynchronous(s))),
    ("B-10", |s| Box::pin(form(s))),
    ("B-11", |s| Box::pin(second_of_app(s))),
    ("B-12", |s| Box::pin(unfit_parameters(s))),
    ("FB-01", |s| Box::pin(fetching(s))),
    ("LB-01", |s| Box::pin(last_operation(s))),
];

async fn missing_ids(session: &Session) -> Checked {
    refused(session, |body| {
        ["service_id", "plan_id"]
            .map(|member| without(body, member))
            .to_vec()
    })
    .await
}

async fn unknown_ids(session: &Session) -> Checked {
    refused(session, |body| {
        ["service_id", "plan_id"]
            .map(|member| with(body, member, new_id()))
            .to_vec()
    })
    .await
}

/// Bodies made of a good one are refused with 400.
async fn refused(session: &Session, bodies: impl Fn(&Value) -> Vec<Value>) -> Checked {
    session.needs_bindings().await?;
    let instance = session.ready_instance().await?;
    let body = session.binding_order(session.offer().await?, &new_id());
    for body in bodies(&body) {
        let binding = new_id();
        session.ledger.binding_may_exist(instance, &binding);
        let answer = session
            .client
            .send(Ask::bind(instance, &binding, &body))
            .await?;
        if answer.status.is_client_error() {
            session.ledger.binding_is_gone(instance, &binding);
        }
        answer.expect(&[400])?;
    }
    Ok(())
}

async fn unknown_instance(session: &Session) -> Checked {
    session.needs_bindings().await?;
    let body = session.binding_order(session.offer().await?, &new_id());
    let ask = Ask::bind(&new_id(), &new_id(), &body);
    session.expect(ask, &[404]).await
}

async fn without_resource(session: &Session) -> Checked {
    let answer = &session.bindings().await?.without_resource;
    if answer.text("error").as_deref() == Some("RequiresApp") {
        return Err(Objection::not_shown("the service needs an app"));
    }
    answer.expect(&[201, 202])
}

async fn repeat(session: &Session) -> Checked {
    let bindings = session.bindings().await?;
    bindings.repeat.expect(&[200])?;
    let credentials =
        |answer: &Arc<Exchange>| Ok::<_, Objection>(answer.json()?.get("credentials").cloned());
    let first = credentials(bindings.handed_out()?)?;
    ensure(
        credentials(&bindings.repeat)? == first,
        &bindings.repeat,
        || "the credentials should be those of the first answer".to_owned(),
    )
}

async fn contradiction(session: &Session) -> Checked {
    session.bindings().await?.contradiction.expect(&[409])
}

async fn requires_app(session: &Session) -> Checked {
    let answer = &session.bindings().await?.without_resource;
    applies(!answer.status.is_success(), "the service needs no app")?;
    answer.expect_word("RequiresApp")
}

async fn too_early(session: &Session) -> Checked {
    session.needs_bindings().await?;
    let answer = &session.creation().await?.during()?.bind;
    if answer.has_status(&[404]) {
        return Ok(());
    }
    answer.expect_word("ConcurrencyError")
}

async fn asynchronous(session: &Session) -> Checked {
    let bindings = session.bindings().await?;
    let Some(end) = &bindings.end else {
        return Err(Objection::not_shown("the broker makes bindings at once"));
    };
    let body = bindings.made.json()?;
    ensure(body.get("credentials").is_none(), &bindings.made, || {
        "an answer 202 should have no credentials".to_owned()
    })?;
    ensure(end.state == EndState::Succeeded, end.last(), || {
        "the binding should succeed".to_owned()
    })
}

async fn form(session: &Session) -> Checked {
    let answer = session.bindings().await?.handed_out()?;
    let body = answer.json()?;
    let fits = |member: &str, is: fn(&Value) -> bool| {
        let value = body.get(member).filter(|value| !value.is_null());
        ensure(value.is_none_or(is), answer, || {
            format!("`{member}` should have the form of the specification")
        })
    };
    fits("credentials", Value::is_object)?;
    fits("syslog_drain_url", Value::is_string)?;
    fits("route_service_url", Value::is_string)?;
    fits("metadata", Value::is_object)?;
    fits("endpoints", |endpoints| each(endpoints, is_endpoint))?;
    fits("volume_mounts", |mounts| each(mounts, is_volume_mount))?;
    let requires = &session.offer().await?.service.requires;
    for (member, requirement) in [
        ("syslog_drain_url", "syslog_drain"),
        ("route_service_url", "route_forwarding"),
        ("volume_mounts", "volume_mount"),
    ] {
        let is_there = body.get(member).is_some_and(|value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        let is_announced = requires.iter().any(|required| required == requirement);
        ensure(!is_there || is_announced, answer, || {
            format!("`{member}` needs `{requirement}` in the offering's `requires`")
        })?;
    }
    Ok(())
}

async fn second_of_app(session: &Session) -> Checked {
    session.bindings().await?.second_of_app.expect(&[201, 202])
}

async fn unfit_parameters(session: &Session) -> Checked {
    session.needs_bindings().await?;
    let schema = session
        .offer()
        .await?
        .plan
        .schema("service_binding", "create")
        .cloned();
    let unfit = parameters::unfit(schema.as_ref(), session.settings.bind_parameters.as_ref())?;
    refused(session, |body| {
        vec![with(body, "parameters", unfit.clone())]
    })
    .await
}

async fn fetching(session: &Session) -> Checked {
    let offer = session.offer().await?;
    applies(
        offer.service.bindings_retrievable,
        "the offering does not announce bindings_retrievable",
    )?;
    let instance = session.ready_instance().await?;
    let unknown = session
        .client
        .send(Ask::fetch_binding(instance, &new_id()))
        .await?;
    unknown.expect(&[404])?;
    let bindings = session.bindings().await?;
    bindings.fetched.expect(&[200])?;
    bindings.fetched.json().map(|_| ())
}

async fn last_operation(session: &Session) -> Checked {
    let Some(end) = &session.bindings().await?.end else {
        return Err(Objection::not_shown("the broker makes bindings at once"));
    };
    for poll in &end.polls {
        poll.expect(&[200])?;
        ensure(reported(poll) != Reported::Nothing, poll, || {
            "the poll should report a state".to_owned()
        })?;
        let body = poll.json()?;
        for member in ["instance_usable", "update_repeatable"] {
            ensure(body.get(member).is_none(), poll, || {
                format!("`{member}` should not be returned for a binding")
            })?;
        }
    }
    Ok(())
}

fn each(list: &Value, is: fn(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|items| items.iter().all(is))
}

fn is_endpoint(endpoint: &Value) -> bool {
    let ports = endpoint["ports"].as_array();
    let protocol = endpoint.get("protocol");
    endpoint["host"]
        .as_str()
        .is_some_and(|host| !host.is_empty())
        && ports.is_some_and(|ports| !ports.is_empty() && ports.iter().all(Value::is_string))
        && protocol.is_none_or(|protocol| {
            protocol
                .as_str()
                .is_some_and(|name| ["tcp", "udp", "all"].contains(&name))
        })
}

fn is_volume_mount(mount: &Value) -> bool {
    mount["driver"].is_string()
        && mount["container_dir"].is_string()
        && matches!(mount["mode"].as_str(), Some("r" | "rw"))
        && mount["device_type"] == "shared"
        && mount["device"]["volume_id"].is_string()
}
