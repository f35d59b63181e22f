//! An instance is moved to another plan, or gets other parameters.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Exchange, Objection, Session,
    changes::other_change,
    client::Ask,
    offer::Offer,
    result::ensure,
    waiting::{EndState, Ended, Reported, reported},
};

#[derive(Debug)]
pub(crate) struct Change {
    /// Requests that did not say that the platform waits: with `false`, then with nothing.
    pub(crate) impatient: Vec<Arc<Exchange>>,
    pub(crate) accepted: Arc<Exchange>,
    during: Option<During>,
    pub(crate) end: Option<Ended>,
}

#[derive(Debug)]
pub(crate) struct During {
    pub(crate) repeat: Arc<Exchange>,
    pub(crate) other: Arc<Exchange>,
    pub(crate) fetch: Arc<Exchange>,
    still: Reported,
}

impl Change {
    pub(crate) async fn play(session: &Session) -> Result<Self, Objection> {
        let offer = session.offer().await?;
        let instance = session.ready_instance().await?;
        let client = &session.client;
        let (change, target) = change(session, offer)?;
        let ask = || Ask::impatient_update(instance, &change);
        let mut impatient = Vec::new();
        for ask in [ask().query("accepts_incomplete", "false"), ask()] {
            let answer = client.send(ask).await?;
            impatient.push(Arc::clone(&answer));
            if answer.status.is_success() {
                break;
            }
        }
        let last = impatient.last().filter(|answer| answer.status.is_success());
        let accepted = match last {
            Some(answer) => Arc::clone(answer),
            None => client.send(Ask::update(instance, &change)).await?,
        };
        session.ensure_fitting_parameters(&accepted).await?;
        ensure(accepted.has_status(&[200, 202]), &accepted, || {
            "a change that the catalog allows should be taken".to_owned()
        })?;
        let operation = accepted.text("operation");
        let (mut during, mut end) = (None, None);
        if accepted.has_status(&[202]) {
            let other = other_change(offer, &change);
            during = Some(During {
                repeat: client.send(Ask::update(instance, &change)).await?,
                other: client.send(Ask::update(instance, &other)).await?,
                fetch: client.send(Ask::fetch(instance)).await?,
                still: reported(
                    &*client
                        .send(Ask::last_operation(instance, operation.as_deref()))
                        .await?,
                ),
            });
            end = Some(session.follow(instance, operation.as_deref()).await?);
        }
        let succeeded = end
            .as_ref()
            .is_none_or(|end| end.state == EndState::Succeeded);
        if succeeded {
            session.moved_to(instance, &target);
        }
        Ok(Self {
            impatient,
            accepted,
            during,
            end,
        })
    }

    /// The requests during the change, if it took long enough.
    pub(crate) fn during(&self) -> Result<&During, Objection> {
        match &self.during {
            Some(during) if during.still == Reported::InProgress => Ok(during),
            Some(_) => Err(Objection::not_shown(
                "the change ended before the first request about it",
            )),
            None => Err(Objection::not_shown(
                "the broker changes instances synchronously: no operation in progress",
            )),
        }
    }
}

/// The body of a change, and the plan that it leads to.
fn change(session: &Session, offer: &Offer) -> Result<(Value, String), Objection> {
    let plan = &offer.plan.id;
    let mut body = session.change_from(offer, plan);
    let target = match &offer.other_plan {
        Some(other) if offer.can_be_left() => other,
        Some(_) | None => &offer.plan,
    };
    if target.id == *plan && session.settings.update_parameters.is_none() {
        return Err(Objection::not_shown(
            "nothing to change: the offering has no other plan, and --update-parameters is not given",
        ));
    }
    body["plan_id"] = target.id.as_str().into();
    body["parameters"] = session.change_parameters();
    if let Some(version) = target.version() {
        body["maintenance_info"] = json!({ "version": version });
    }
    if let Some(info) = &offer.plan.maintenance_info {
        body["previous_values"]["maintenance_info"] = json!(info);
    }
    Ok((body, target.id.clone()))
}
