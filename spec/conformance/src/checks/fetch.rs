//! F: fetching an instance.

use super::Checks;
use crate::{
    Checked, Objection, Session,
    asks::new_id,
    client::Ask,
    result::{applies, ensure},
};

pub(super) const CHECKS: Checks = &[
    ("F-01", |s| Box::pin(fetching(s))),
    ("F-02", |s| Box::pin(dashboard(s))),
];

async fn fetching(session: &Session) -> Checked {
    announced(session).await?;
    let unknown = session.client.send(Ask::fetch(&new_id())).await?;
    unknown.expect(&[404])?;
    let creation = session.creation().await?;
    if let Ok(during) = creation.during() {
        during.fetch.expect(&[404])?;
    }
    creation.succeeded()?;
    let answer = session.client.send(Ask::fetch(&creation.instance)).await?;
    answer.expect(&[200])?;
    let (body, offer) = (answer.json()?, session.offer().await?);
    for (member, expected) in [
        ("service_id", offer.service.id.clone()),
        ("plan_id", session.current_plan(offer)),
    ] {
        let fits = body
            .get(member)
            .is_none_or(|reported| reported.as_str() == Some(expected.as_str()));
        ensure(fits, &answer, || {
            format!("`{member}` should be `{expected}`")
        })?;
    }
    if let Ok(change) = session.change().await
        && let Ok(during) = change.during()
    {
        if during.fetch.has_status(&[200]) {
            return Ok(());
        }
        return during.fetch.expect_word("ConcurrencyError");
    }
    Ok(())
}

async fn dashboard(session: &Session) -> Checked {
    announced(session).await?;
    let instance = session.ready_instance().await?;
    let answer = session.client.send(Ask::fetch(instance)).await?;
    answer.expect(&[200])?;
    let url = answer.json()?.get("dashboard_url").cloned();
    ensure(url.is_none_or(|url| url.is_string()), &answer, || {
        "`dashboard_url` should be a text or absent".to_owned()
    })
}

async fn announced(session: &Session) -> Result<(), Objection> {
    let offer = session.offer().await?;
    applies(
        offer.service.instances_retrievable,
        "the offering does not announce instances_retrievable",
    )
}
