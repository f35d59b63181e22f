//! Deletes an instance that still has a binding.

use std::sync::Arc;

use crate::{
    Exchange, Objection, Session,
    asks::{new_id, with},
    client::Ask,
    result::ensure,
    waiting::{EndState, Ended, Reported, reported},
};

#[derive(Debug)]
pub(crate) struct Deletion {
    pub(crate) impatient: Arc<Exchange>,
    pub(crate) accepted: Arc<Exchange>,
    during: Option<During>,
    pub(crate) end: Option<Ended>,
    /// The deletion asked about again when it was over.
    pub(crate) asked_again: Arc<Exchange>,
    /// The same request again when it was over.
    pub(crate) again: Arc<Exchange>,
    pub(crate) had_binding: bool,
}

#[derive(Debug)]
pub(crate) struct During {
    pub(crate) repeat: Arc<Exchange>,
    pub(crate) update: Arc<Exchange>,
    still: Reported,
}

impl Deletion {
    pub(crate) async fn play(session: &Session) -> Result<Self, Objection> {
        let offer = session.offer().await?;
        let creation = session.creation().await?;
        creation.succeeded()?;
        let (instance, client) = (&creation.instance, &session.client);
        let (service, plan) = (&offer.service.id, session.current_plan(offer));
        let had_binding = leave_binding(session, instance).await?;

        let impatient = client
            .send(Ask::impatient_deprovision(instance, service, &plan))
            .await?;
        let accepted = if impatient.status.is_success() {
            Arc::clone(&impatient)
        } else {
            client
                .send(Ask::deprovision(instance, service, &plan))
                .await?
        };
        ensure(accepted.has_status(&[200, 202]), &accepted, || {
            "an instance that is there should be deleted".to_owned()
        })?;
        let operation = accepted.text("operation");
        let (mut during, mut end) = (None, None);
        if accepted.has_status(&[202]) {
            let change = with(&session.change_from(offer, &plan), "plan_id", plan.as_str());
            let change = with(&change, "parameters", session.change_parameters());
            during = Some(During {
                repeat: client
                    .send(Ask::deprovision(instance, service, &plan))
                    .await?,
                update: client.send(Ask::update(instance, &change)).await?,
                still: reported(
                    &*client
                        .send(Ask::last_operation(instance, operation.as_deref()))
                        .await?,
                ),
            });
            end = Some(session.follow(instance, operation.as_deref()).await?);
        }
        if end.as_ref().is_none_or(|end| end.state != EndState::Failed) {
            session.ledger.is_gone(instance);
        }
        let asked_again = client
            .send(Ask::last_operation(instance, operation.as_deref()))
            .await?;
        Ok(Self {
            impatient,
            accepted,
            during,
            end,
            asked_again,
            again: client
                .send(Ask::deprovision(instance, service, &plan))
                .await?,
            had_binding,
        })
    }

    /// The requests during the deletion, if it took long enough.
    pub(crate) fn during(&self) -> Result<&During, Objection> {
        match &self.during {
            Some(during) if during.still == Reported::InProgress => Ok(during),
            Some(_) => Err(Objection::not_shown(
                "the deletion ended before the first request about it",
            )),
            None => Err(Objection::not_shown(
                "the broker deletes instances synchronously: no operation in progress",
            )),
        }
    }
}

async fn leave_binding(session: &Session, instance: &str) -> Result<bool, Objection> {
    let offer = session.offer().await?;
    if !offer.is_bindable() {
        return Ok(false);
    }
    let (binding, body) = (new_id(), session.binding_order(offer, &new_id()));
    session.ledger.binding_may_exist(instance, &binding);
    let answer = session
        .client
        .send(Ask::bind(instance, &binding, &body))
        .await?;
    Ok(answer.has_status(&[201]))
}
