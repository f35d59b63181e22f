//! An instance is ordered, repeated, contradicted, followed to its end.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Checked, Exchange, Objection, Session,
    asks::{instance_path, new_id, with},
    client::Ask,
    result::ensure,
    waiting::{EndState, Ended, Reported, reported},
};

#[derive(Debug)]
pub(crate) struct Creation {
    pub(crate) instance: String,
    /// Orders that did not say that the platform waits: with `false`, then with nothing.
    pub(crate) impatient: Vec<Arc<Exchange>>,
    pub(crate) accepted: Arc<Exchange>,
    pub(crate) operation: Option<String>,
    /// The requests during the creation; `None` if it was synchronous.
    during: Option<During>,
    /// How the operation has ended; nothing where there was none.
    pub(crate) end: Option<Ended>,
    /// The same order again, when the instance was there.
    pub(crate) repeat: Arc<Exchange>,
    /// The same order again, with unknown members and an unknown parameter.
    pub(crate) repeat_with_unknown: Arc<Exchange>,
    /// Another order for the same id, when the instance was there.
    pub(crate) contradiction: Arc<Exchange>,
}

#[derive(Debug)]
pub(crate) struct During {
    pub(crate) repeat: Arc<Exchange>,
    pub(crate) contradiction: Arc<Exchange>,
    pub(crate) update: Arc<Exchange>,
    pub(crate) bind: Arc<Exchange>,
    pub(crate) fetch: Arc<Exchange>,
    /// Polled afterwards: whether the instance was still being made.
    still: Reported,
}

impl Creation {
    pub(crate) async fn play(session: &Session) -> Result<Self, Objection> {
        let offer = session.offer().await?;
        let (instance, body) = (new_id(), session.order(offer));
        session
            .ledger
            .may_exist(&instance, &offer.service.id, &offer.plan.id);
        let client = &session.client;
        let ask = || Ask::impatient_provision(&instance, &body);
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
            None => client.send(Ask::provision(&instance, &body)).await?,
        };
        ensure(accepted.has_status(&[200, 201, 202]), &accepted, || {
            "an order that is as the catalog wants it should be taken".to_owned()
        })?;
        let operation = accepted.text("operation");
        let (mut during, mut end) = (None, None);
        if accepted.has_status(&[202]) {
            during = Some(During::play(session, &instance, &body, operation.as_deref()).await?);
            end = Some(session.follow(&instance, operation.as_deref()).await?);
        }
        let unknown = with(&body, "odb_conformance", json!({ "unknown": true }));
        Ok(Self {
            repeat: client.send(Ask::provision(&instance, &body)).await?,
            repeat_with_unknown: client
                .send(Ask::provision(&instance, &unknown).query("odb_conformance", "unknown"))
                .await?,
            contradiction: client
                .send(Ask::provision(&instance, &contradiction(&body)))
                .await?,
            instance,
            impatient,
            accepted,
            operation,
            during,
            end,
        })
    }

    /// The requests during the creation, if it took long enough.
    pub(crate) fn during(&self) -> Result<&During, Objection> {
        match &self.during {
            Some(during) if during.still == Reported::InProgress => Ok(during),
            Some(_) => Err(Objection::not_shown(
                "the creation ended before the first request about it",
            )),
            None => Err(Objection::not_shown(
                "the broker creates instances synchronously: no operation in progress",
            )),
        }
    }

    /// The instance is there, or nothing can be shown with it.
    pub(crate) fn succeeded(&self) -> Checked {
        match &self.end {
            Some(end) if end.state != EndState::Succeeded => Err(Objection::not_shown(
                "the creation of the instance did not succeed",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

impl During {
    async fn play(
        session: &Session,
        instance: &str,
        body: &Value,
        operation: Option<&str>,
    ) -> Result<Self, Objection> {
        let (offer, client) = (session.offer().await?, &session.client);
        let plan = &offer.plan.id;
        let change = with(&session.change_from(offer, plan), "plan_id", plan.as_str());
        let change = with(&change, "parameters", session.change_parameters());
        Ok(Self {
            repeat: client.send(Ask::provision(instance, body)).await?,
            contradiction: client
                .send(Ask::provision(instance, &contradiction(body)))
                .await?,
            update: client.send(Ask::update(instance, &change)).await?,
            bind: {
                let binding = new_id();
                session.ledger.binding_may_exist(instance, &binding);
                let body = session.binding_order(offer, &new_id());
                let answer = client.send(Ask::bind(instance, &binding, &body)).await?;
                if answer.status.is_client_error() {
                    session.ledger.binding_is_gone(instance, &binding);
                }
                answer
            },
            fetch: client
                .send(Ask::new(reqwest::Method::GET, instance_path(instance)))
                .await?,
            still: reported(
                &*client
                    .send(Ask::last_operation(instance, operation))
                    .await?,
            ),
        })
    }
}

/// The same order from another space.
fn contradiction(body: &Value) -> Value {
    with(body, "space_guid", new_id())
}
