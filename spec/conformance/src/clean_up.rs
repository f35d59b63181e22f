//! The end of a run: whatever it has made is given back and deleted.

use std::time::{Duration, Instant};

use super::{
    Exchange, Objection, Session,
    asks::{binding_path, instance_path, patient},
    client::Ask,
    ledger::Entry,
    waiting::EndState,
};

/// How often something is tried that fails, or that is refused for a reason that lasts.
const TRIES: usize = 5;

/// The shortest pause between two rounds.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct LeftBehind {
    pub instance: String,
    pub why: String,
}

/// An instance that is to be deleted, and how that went so far.
#[derive(Debug)]
struct Removal {
    instance: String,
    rounds: usize,
    rejections: usize,
    refused_since: Option<Instant>,
}

#[derive(Debug)]
enum Rejection {
    /// The broker is busy or unwell: it is asked again until the limit of an operation.
    Transient(String),
    Permanent(String),
}

impl Session {
    /// Deletes whatever this run has made, and says what it could not.
    ///
    /// Goes in rounds: what is refused in one is tried again in the next, so that no instance keeps the others waiting.
    pub(super) async fn clean_up(&self) -> Vec<LeftBehind> {
        let (mut left, limit) = (Vec::new(), self.settings.operation_limit);
        let instances = self.ledger.instances().into_iter();
        let mut removals: Vec<Removal> = instances.map(Removal::new).collect();
        loop {
            let mut refused = Vec::new();
            for mut removal in removals {
                match self.remove(&removal).await {
                    Ok(()) => self.ledger.is_gone(&removal.instance),
                    Err(rejection) if removal.goes_on(&rejection, limit) => refused.push(removal),
                    Err(Rejection::Transient(why) | Rejection::Permanent(why)) => {
                        left.push(LeftBehind {
                            instance: removal.instance,
                            why,
                        });
                    }
                }
            }
            if refused.is_empty() {
                return left;
            }
            removals = refused;
            tokio::time::sleep(self.settings.poll_interval.max(SHORTEST_PAUSE)).await;
        }
    }

    async fn remove(&self, removal: &Removal) -> Result<(), Rejection> {
        let instance = &removal.instance;
        let Some(entry) = self.ledger.entry(instance) else {
            return Ok(());
        };
        for binding in &entry.bindings {
            match self.unbind(instance, binding, &entry).await {
                Ok(()) => self.ledger.binding_is_gone(instance, binding),
                Err(Rejection::Transient(why)) if removal.rounds < TRIES => {
                    return Err(Rejection::Transient(why));
                }
                // The instance may go in spite of it, and takes it along.
                Err(Rejection::Transient(_) | Rejection::Permanent(_)) => {}
            }
        }
        self.deprovision(instance, &entry).await
    }

    async fn unbind(&self, instance: &str, binding: &str, entry: &Entry) -> Result<(), Rejection> {
        let ask = patient(Ask::unbind(instance, binding, &entry.service, &entry.plan));
        let answer = self.client.send(ask).await?;
        match answer.status.as_u16() {
            202 => {
                let operation = answer.text("operation");
                let ended = self
                    .follow_binding(instance, binding, operation.as_deref())
                    .await?;
                gone(ended.state)
            }
            200..300 | 404 | 410 => Ok(()),
            422 => {
                let making = self.client.operation_at(&binding_path(instance, binding));
                if making.is_some() {
                    // The unbind is repeated, whatever the result.
                    let _ = self
                        .follow_binding(instance, binding, making.as_deref())
                        .await;
                } else {
                    self.wait_for_other_operation(instance).await;
                }
                Err(refused(&answer))
            }
            _ => Err(refused(&answer)),
        }
    }

    async fn deprovision(&self, instance: &str, entry: &Entry) -> Result<(), Rejection> {
        let ask = Ask::deprovision(instance, &entry.service, &entry.plan);
        let answer = self.client.send(ask).await?;
        match answer.status.as_u16() {
            202 => {
                let operation = answer.text("operation");
                gone(self.follow(instance, operation.as_deref()).await?.state)
            }
            200..300 | 404 | 410 => Ok(()),
            422 => {
                self.wait_for_other_operation(instance).await;
                Err(refused(&answer))
            }
            _ => Err(refused(&answer)),
        }
    }

    /// There are brokers that make progress only when they are asked about it.
    async fn wait_for_other_operation(&self, instance: &str) {
        let operation = self.client.operation_at(&instance_path(instance));
        // The deletion is repeated, whatever the result.
        let _ = self.follow(instance, operation.as_deref()).await;
    }
}

impl Removal {
    fn new(instance: String) -> Self {
        Self {
            instance,
            rounds: 0,
            rejections: 0,
            refused_since: None,
        }
    }

    /// Whether it is worth another round after this.
    fn goes_on(&mut self, rejection: &Rejection, limit: Duration) -> bool {
        self.rounds += 1;
        let since = *self.refused_since.get_or_insert_with(Instant::now);
        if matches!(rejection, Rejection::Permanent(_)) {
            self.rejections += 1;
        }
        self.rejections < TRIES && since.elapsed() < limit
    }
}

/// No answer, or none that makes sense, is a broker that is unwell.
impl From<Objection> for Rejection {
    fn from(objection: Objection) -> Self {
        match objection {
            Objection::Broken { what, .. } | Objection::NotShown(what) => Self::Transient(what),
        }
    }
}

fn gone(state: EndState) -> Result<(), Rejection> {
    match state {
        EndState::Succeeded | EndState::Gone => Ok(()),
        EndState::Failed => Err(Rejection::Permanent("its deletion failed".to_owned())),
    }
}

fn refused(answer: &Exchange) -> Rejection {
    let status = answer.status.as_u16();
    let why = format!("its deletion was answered with {status}");
    match status {
        408 | 422 | 429 | 500.. => Rejection::Transient(why),
        _ => Rejection::Permanent(why),
    }
}
