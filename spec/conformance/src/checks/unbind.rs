//! UB: bindings that are given back.

use reqwest::Method;

use super::Checks;
use crate::{
    Checked, Session,
    asks::{instance_path, new_id},
    client::Ask,
};

pub(super) const CHECKS: Checks = &[
    ("UB-01", |s| Box::pin(missing_ids(s))),
    ("UB-02", |s| Box::pin(given_back(s))),
    ("UB-03", |s| Box::pin(unknown(s))),
    ("UB-04", |s| Box::pin(unknown_instance(s))),
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
        session.expect(ask, &[400]).await?;
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
    session.expect(ask, &[410]).await
}
