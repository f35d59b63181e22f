//! B, FB, LB: bindings.

use std::sync::Arc;

use serde_json::Value;

use super::parameters;
use crate::{
    Check, Checked, Exchange,
    Level::{Advice, May, Must, Should},
    Objection, Session,
    asks::{new_id, with, without},
    client::Ask,
    result::{applies, ensure},
    waiting::{EndState, Reported, reported},
};

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "B-01",
        Must,
        "a request for credentials without service_id or plan_id is refused with 400",
        |s| Box::pin(missing_ids(s)),
    ),
    Check::new(
        "B-02",
        Must,
        "an unknown service or plan is rejected with 400",
        |s| Box::pin(unknown_ids(s)),
    ),
    Check::new(
        "B-03",
        Advice,
        "a binding to an unknown instance is answered with 404",
        |s| Box::pin(unknown_instance(s)),
    ),
    Check::new("B-04", Must, "bind_resource may be missing", |s| {
        Box::pin(without_resource(s))
    }),
    Check::new(
        "B-05",
        Should,
        "a request for credentials repeated is answered with 200 and the same credentials",
        |s| Box::pin(repeat(s)),
    ),
    Check::new(
        "B-06",
        Must,
        "a taken id with other parameters is refused with 409",
        |s| Box::pin(contradiction(s)),
    ),
    Check::new(
        "B-07",
        Must,
        "a service that needs an app and got none answers 422 RequiresApp",
        |s| Box::pin(requires_app(s)),
    ),
    Check::new(
        "B-08",
        Advice,
        "credentials of an instance that is being made are refused with 422 ConcurrencyError or 404",
        |s| Box::pin(too_early(s)),
    ),
    Check::new(
        "B-09",
        May,
        "a binding answered with 202 has no credentials in that answer, and ends",
        |s| Box::pin(asynchronous(s)),
    ),
    Check::new(
        "B-10",
        May,
        "credentials, endpoints, volume_mounts and metadata have the form of the specification",
        |s| Box::pin(form(s)),
    ),
    Check::new(
        "B-11",
        Advice,
        "an app may have several bindings to one instance",
        |s| Box::pin(second_of_app(s)),
    ),
    Check::new(
        "B-12",
        Should,
        "parameters that do not fit the plan's schema are refused with 400",
        |s| Box::pin(unfit_parameters(s)),
    ),
    Check::new(
        "FB-01",
        Must,
        "if the offering announces it, a binding can be fetched; an unknown one is 404",
        |s| Box::pin(fetching(s)),
    ),
    Check::new(
        "LB-01",
        Must,
        "the last operation of an asynchronous binding is reported as that of an instance is",
        |s| Box::pin(last_operation(s)),
    ),
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
    session.client.send(ask).await?.expect(&[404])
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
