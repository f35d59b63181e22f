//! UB: bindings that are given back.

use reqwest::Method;

use crate::{
    Check, Checked,
    Level::{Advice, Must},
    Session,
    asks::{instance_path, new_id},
    client::Ask,
};

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "UB-01",
        Must,
        "without service_id or plan_id a binding is not deleted: 400",
        |s| Box::pin(missing_ids(s)),
    ),
    Check::new(
        "UB-02",
        Must,
        "an unbind request is answered with 200, or with 202 if it is asynchronous",
        |s| Box::pin(given_back(s)),
    ),
    Check::new(
        "UB-03",
        Must,
        "a binding that does not exist is answered with 410",
        |s| Box::pin(unknown(s)),
    ),
    Check::new(
        "UB-04",
        Advice,
        "a binding of an instance that does not exist is answered with 410",
        |s| Box::pin(unknown_instance(s)),
    ),
];

async fn missing_ids(session: &Session) -> Checked {
    session.needs_bindings().await?;
    let instance = session.ready_instance().await?;
    let offer = session.offer().await?;
    let path = format!("{}/service_bindings/{}", instance_path(instance), new_id());
    for (name, value) in [
        ("service_id", &offer.service.id),
        ("plan_id", &offer.plan.id),
    ] {
        let ask = Ask::new(Method::DELETE, &*path).query(name, value);
        session.client.send(ask).await?.expect(&[400])?;
    }
    Ok(())
}

async fn given_back(session: &Session) -> Checked {
    session.bindings().await?.given_back.expect(&[200, 202])
}

async fn unknown(session: &Session) -> Checked {
    let bindings = session.bindings().await?;
    bindings.never_was.expect(&[410])?;
    bindings.given_back_again.expect(&[410])
}

async fn unknown_instance(session: &Session) -> Checked {
    session.needs_bindings().await?;
    let offer = session.offer().await?;
    let ask = Ask::unbind(&new_id(), &new_id(), &offer.service.id, &offer.plan.id);
    session.client.send(ask).await?.expect(&[410])
}
