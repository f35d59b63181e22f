//! An instance is deleted while it is being made.

use std::sync::Arc;

use crate::{
    Exchange, Objection, Session,
    asks::new_id,
    client::Ask,
    waiting::{EndState, Ended},
};

#[derive(Debug)]
pub(crate) struct CutShort {
    pub(crate) deletion: Arc<Exchange>,
    pub(crate) end: Option<Ended>,
    /// The deletion again, when it was over.
    pub(crate) again: Option<Arc<Exchange>>,
}

impl CutShort {
    pub(crate) async fn play(session: &Session) -> Result<Self, Objection> {
        let offer = session.offer().await?;
        let client = &session.client;
        let (instance, body) = (new_id(), session.order(offer));
        let (service, plan) = (&offer.service.id, &offer.plan.id);
        session.ledger.may_exist(&instance, service, plan);
        let accepted = client.send(Ask::provision(&instance, &body)).await?;
        if !accepted.has_status(&[202]) {
            return Err(Objection::not_shown(format!(
                "the order was answered with {}: no creation to interrupt",
                accepted.status.as_u16()
            )));
        }
        let ask = || Ask::deprovision(&instance, service, plan);
        let deletion = client.send(ask()).await?;
        let (mut end, mut again) = (None, None);
        if deletion.has_status(&[202]) {
            let operation = deletion.text("operation");
            let ended = session.follow(&instance, operation.as_deref()).await?;
            again = Some(client.send(ask()).await?);
            if ended.state != EndState::Failed {
                session.ledger.is_gone(&instance);
            }
            end = Some(ended);
        }
        Ok(Self {
            deletion,
            end,
            again,
        })
    }
}
