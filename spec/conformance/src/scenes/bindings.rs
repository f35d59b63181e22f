//! Credentials are asked for in several ways, and given back.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Exchange, Objection, Session,
    asks::{new_id, patient, with, without},
    client::Ask,
    result::ensure,
    waiting::{EndState, Ended},
};

#[derive(Debug)]
pub(crate) struct Bindings {
    pub(crate) made: Arc<Exchange>,
    /// How the operation has ended, where the broker did not answer at once.
    pub(crate) end: Option<Ended>,
    pub(crate) repeat: Arc<Exchange>,
    /// The same id, asked for otherwise.
    pub(crate) contradiction: Arc<Exchange>,
    /// Another one for the same app.
    pub(crate) second_of_app: Arc<Exchange>,
    /// Asked for without `bind_resource` and app.
    pub(crate) without_resource: Arc<Exchange>,
    pub(crate) fetched: Arc<Exchange>,
    pub(crate) given_back: Arc<Exchange>,
    /// The first one, given back again.
    pub(crate) given_back_again: Arc<Exchange>,
    /// One that never was, given back.
    pub(crate) never_was: Arc<Exchange>,
}

impl Bindings {
    pub(crate) async fn play(session: &Session) -> Result<Self, Objection> {
        session.needs_bindings().await?;
        let offer = session.offer().await?;
        let instance = session.ready_instance().await?;
        let client = &session.client;
        let (service, plan) = (&offer.service.id, session.current_plan(offer));
        let (binding, app) = (new_id(), new_id());
        let body = session.binding_order(offer, &app);

        let (made, end) = bind(session, instance, &binding, &body).await?;
        ensure(made.has_status(&[200, 201, 202]), &made, || {
            "credentials of an instance that is there should be handed out".to_owned()
        })?;
        let (repeat, _) = bind(session, instance, &binding, &body).await?;
        let (contradiction, _) = bind(session, instance, &binding, &contradiction(&body)).await?;
        let (second_of_app, _) = bind(session, instance, &new_id(), &body).await?;
        let bare = without(&without(&body, "bind_resource"), "app_guid");
        let (without_resource, _) = bind(session, instance, &new_id(), &bare).await?;
        let fetched = client.send(Ask::fetch_binding(instance, &binding)).await?;
        let unbind = async |binding: &str| {
            let ask = patient(Ask::unbind(instance, binding, service, &plan));
            let answer = client.send(ask).await?;
            if answer.has_status(&[202]) {
                let operation = answer.text("operation");
                session
                    .follow_binding(instance, binding, operation.as_deref())
                    .await?;
            }
            if answer.has_status(&[200, 202, 410]) {
                session.ledger.binding_is_gone(instance, binding);
            }
            Ok::<_, Objection>(answer)
        };
        Ok(Self {
            made,
            end,
            repeat,
            contradiction,
            second_of_app,
            without_resource,
            fetched,
            given_back: unbind(&binding).await?,
            given_back_again: unbind(&binding).await?,
            never_was: unbind(&new_id()).await?,
        })
    }

    /// The answer with the credentials of the first binding: that to the request, or what was fetched after a while.
    pub(crate) fn handed_out(&self) -> Result<&Arc<Exchange>, Objection> {
        match &self.end {
            None => Ok(&self.made),
            Some(end) if end.state == EndState::Succeeded => Ok(&self.fetched),
            Some(_) => Err(Objection::not_shown("the binding did not succeed")),
        }
    }
}

async fn bind(
    session: &Session,
    instance: &str,
    binding: &str,
    body: &Value,
) -> Result<(Arc<Exchange>, Option<Ended>), Objection> {
    session.ledger.binding_may_exist(instance, binding);
    let retrievable = session.offer().await?.service.bindings_retrievable;
    let ask = Ask::bind(instance, binding, body);
    // A platform that cannot fetch bindings cannot poll them.
    let ask = if retrievable { patient(ask) } else { ask };
    let answer = session.client.send(ask).await?;
    let end = if answer.has_status(&[202]) {
        let operation = answer.text("operation");
        Some(
            session
                .follow_binding(instance, binding, operation.as_deref())
                .await?,
        )
    } else {
        None
    };
    Ok((answer, end))
}

/// The same id for another app, and with other parameters where there are some to leave out.
fn contradiction(body: &Value) -> Value {
    let app = new_id();
    let other = with(body, "app_guid", app.as_str());
    let other = with(&other, "bind_resource", json!({ "app_guid": app }));
    without(&other, "parameters")
}
