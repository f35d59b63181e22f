//! One run against one broker: the observations so far, and the created objects.
//!
//! Creating a service instance takes minutes. So a sequence that many checks need is run once, as a scene, and kept;
//! the first check that needs a scene runs it.

use std::{sync::Mutex, time::Duration};

use serde_json::Value;
use tokio::sync::OnceCell;

use super::{
    Checked, Choice, Objection, Target,
    client::{Ask, Client},
    ledger::Ledger,
    offer::Offer,
    scenes::{Bindings, Change, Creation, CutShort, Deletion},
};

#[derive(Clone, Debug)]
pub struct Settings {
    pub choice: Choice,
    pub parameters: Option<Value>,
    pub update_parameters: Option<Value>,
    pub bind_parameters: Option<Value>,
    pub organization: String,
    pub space: String,
    pub operation_limit: Duration,
    pub poll_interval: Duration,
}

#[derive(Debug)]
pub struct Session {
    pub(super) client: Client,
    pub(super) settings: Settings,
    pub(super) ledger: Ledger,
    current_plan: Mutex<Option<String>>,
    catalog: OnceCell<Result<(Value, Offer), Objection>>,
    creation: OnceCell<Result<Creation, Objection>>,
    change: OnceCell<Result<Change, Objection>>,
    bindings: OnceCell<Result<Bindings, Objection>>,
    deletion: OnceCell<Result<Deletion, Objection>>,
    cut_short: OnceCell<Result<CutShort, Objection>>,
}

impl Session {
    /// Sends a request that should be answered with one of these statuses.
    pub(super) async fn expect(&self, ask: Ask, statuses: &[u16]) -> Checked {
        self.client.send(ask).await?.expect(statuses)
    }

    pub fn new(target: Target, settings: Settings) -> Self {
        Self {
            client: Client::new(target),
            settings,
            ledger: Ledger::default(),
            current_plan: Mutex::default(),
            catalog: OnceCell::new(),
            creation: OnceCell::new(),
            change: OnceCell::new(),
            bindings: OnceCell::new(),
            deletion: OnceCell::new(),
            cut_short: OnceCell::new(),
        }
    }

    /// The ids of the instances that were ordered and are not known to be gone.
    pub fn instances(&self) -> Vec<String> {
        self.ledger.instances()
    }

    /// Looks whether there is anything to check: a broker that answers, takes the credentials and offers what was
    /// chosen. Gives the reason if not, in which case no rule can be looked at.
    pub async fn look(&self) -> Result<(), String> {
        match self.offer().await {
            Ok(_) => Ok(()),
            Err(Objection::Broken { what, .. } | Objection::NotShown(what)) => Err(what),
        }
    }

    pub(super) async fn offer(&self) -> Result<&Offer, Objection> {
        let read = self.catalog.get_or_init(|| self.read_catalog()).await;
        kept(read, "the catalog cannot be read").map(|(_, offer)| offer)
    }

    pub(super) async fn catalog(&self) -> Result<&Value, Objection> {
        let read = self.catalog.get_or_init(|| self.read_catalog()).await;
        kept(read, "the catalog cannot be read").map(|(catalog, _)| catalog)
    }

    /// An instance is made, whatever comes of it.
    pub(super) async fn creation(&self) -> Result<&Creation, Objection> {
        let played = self.creation.get_or_init(|| Creation::play(self)).await;
        kept(played, "no instance could be ordered")
    }

    pub(super) async fn ready_instance(&self) -> Result<&str, Objection> {
        let creation = self.creation().await?;
        creation.succeeded()?;
        Ok(&creation.instance)
    }

    pub(super) async fn change(&self) -> Result<&Change, Objection> {
        let played = self.change.get_or_init(|| Change::play(self)).await;
        kept(played, "the instance could not be changed")
    }

    /// Credentials for that instance are asked for, and given back.
    pub(super) async fn bindings(&self) -> Result<&Bindings, Objection> {
        let played = self.bindings.get_or_init(|| Bindings::play(self)).await;
        kept(played, "the instance could not be bound")
    }

    /// The deletion of the instance. It cannot be used afterwards.
    pub(super) async fn deletion(&self) -> Result<&Deletion, Objection> {
        let played = self.deletion.get_or_init(|| Deletion::play(self)).await;
        kept(played, "the instance could not be deleted")
    }

    pub(super) async fn cut_short(&self) -> Result<&CutShort, Objection> {
        let played = self.cut_short.get_or_init(|| CutShort::play(self)).await;
        kept(played, "no second instance could be ordered")
    }

    /// The scenes that could not be played, for a reason that is the broker's.
    pub(super) fn scenes_that_failed(&self) -> Vec<Objection> {
        let scenes = [
            self.creation.get().and_then(broken),
            self.change.get().and_then(broken),
            self.bindings.get().and_then(broken),
            self.deletion.get().and_then(broken),
            self.cut_short.get().and_then(broken),
        ];
        scenes.into_iter().flatten().collect()
    }

    /// The plan that the instance of the scenes is on.
    pub(super) fn current_plan(&self, offer: &Offer) -> String {
        let plan = self.current_plan.lock().ok().and_then(|plan| plan.clone());
        plan.unwrap_or_else(|| offer.plan.id.clone())
    }

    pub(super) fn moved_to(&self, instance: &str, plan: &str) {
        self.ledger.moved_to(instance, plan);
        if let Ok(mut current) = self.current_plan.lock() {
            *current = Some(plan.to_owned());
        }
    }

    /// Skips what bindings are needed for where the plan has none.
    pub(super) async fn needs_bindings(&self) -> Checked {
        if self.offer().await?.is_bindable() {
            Ok(())
        } else {
            Err(Objection::not_shown("the plan is not bindable"))
        }
    }

    async fn read_catalog(&self) -> Result<(Value, Offer), Objection> {
        let answer = self.client.send(Ask::catalog()).await?;
        answer.expect(&[200])?;
        let catalog = answer.json()?;
        let offer = Offer::choose(&catalog, &self.settings.choice)?;
        Ok((catalog, offer))
    }
}

fn kept<'s, T>(scene: &'s Result<T, Objection>, purpose: &str) -> Result<&'s T, Objection> {
    scene
        .as_ref()
        .map_err(|objection| objection.in_the_way_of(purpose))
}

fn broken<T>(scene: &Result<T, Objection>) -> Option<Objection> {
    scene
        .as_ref()
        .err()
        .filter(|objection| matches!(objection, Objection::Broken { .. }))
        .cloned()
}
