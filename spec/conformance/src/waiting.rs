//! Following an operation to its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Exchange, Objection, Session,
    client::{Ask, retry_after},
    result::ensure,
};

/// The longest pause between two polls, whatever the broker says.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) state: EndState,
    pub(super) polls: Vec<Arc<Exchange>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndState {
    Succeeded,
    Failed,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    InProgress,
    Ended(EndState),
    /// Nothing that a platform understands: it asks again.
    Nothing,
}

impl Session {
    /// Polls the last operation of an instance until it has ended.
    pub(super) async fn follow(
        &self,
        instance: &str,
        operation: Option<&str>,
    ) -> Result<Ended, Objection> {
        self.poll(|| Ask::last_operation(instance, operation)).await
    }

    /// Polls the last operation of a binding until it has ended.
    pub(super) async fn follow_binding(
        &self,
        instance: &str,
        binding: &str,
        operation: Option<&str>,
    ) -> Result<Ended, Objection> {
        self.poll(|| Ask::binding_operation(instance, binding, operation))
            .await
    }

    async fn poll(&self, ask: impl Fn() -> Ask) -> Result<Ended, Objection> {
        let until = Instant::now() + self.settings.operation_limit;
        let mut polls = Vec::new();
        loop {
            let poll = self.client.send(ask()).await?;
            polls.push(Arc::clone(&poll));
            if let Reported::Ended(state) = reported(&poll) {
                return Ok(Ended { state, polls });
            }
            ensure(!poll.has_status(&[400, 404]), &poll, || {
                "an operation that was accepted should be known".to_owned()
            })?;
            let pause = retry_after(&poll).unwrap_or(self.settings.poll_interval);
            let pause = pause.min(LONGEST_PAUSE);
            ensure(Instant::now() + pause < until, &poll, || {
                format!(
                    "the operation should end within {} s, the limit of this run",
                    self.settings.operation_limit.as_secs()
                )
            })?;
            tokio::time::sleep(pause).await;
        }
    }
}

impl Ended {
    pub(super) fn last(&self) -> &Arc<Exchange> {
        self.polls.last().expect("a poll reported the end")
    }
}

pub(super) fn reported(poll: &Exchange) -> Reported {
    match (poll.status.as_u16(), poll.text("state").as_deref()) {
        (410, _) => Reported::Ended(EndState::Gone),
        (200, Some("in progress")) => Reported::InProgress,
        (200, Some("succeeded")) => Reported::Ended(EndState::Succeeded),
        (200, Some("failed")) => Reported::Ended(EndState::Failed),
        _ => Reported::Nothing,
    }
}
