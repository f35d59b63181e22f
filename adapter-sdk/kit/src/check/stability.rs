use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::answers::{Generated, Outcome};
use super::deployed::{Deployed, generated};
use super::difference::{Change, Difference, manifest_differences};
use super::orders::Ordered;
use super::place::Place;
use super::question::{Generate, Question};
use super::report::Area;
use super::requests;
use super::rules::{calls, parameters, secrets, stability};
use super::secret_rules::Occasion;
use super::session::Session;
use crate::inputs::NamedPlan;

/// An instance that must stay as it is when nothing changes.
pub(super) struct Standing<'s> {
    /// What the report calls it, such as `plan small`.
    pub(super) name: &'s str,
    pub(super) plan: &'s NamedPlan,
    pub(super) deployed: &'s Deployed,
    /// Where generated values stand.
    pub(super) generated: &'s [Place],
    /// Where stands what the user chose.
    pub(super) chosen: &'s [Place],
    /// The UAA client that comes with updates and upgrades, its secret blank.
    pub(super) uaa_client: Value,
    /// Values of parameters that must not stand in a manifest.
    pub(super) entered: &'s [String],
}

/// A way to regenerate a manifest without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    PendingChanges,
    Update,
    Upgrade,
}

impl Session<'_> {
    /// Looks for pending changes, updates and upgrades what was ordered, changing nothing.
    pub(super) fn check_stability(&mut self, ordered: &[Ordered]) {
        self.begin(Area::Stability);
        for ordered in ordered {
            let name = format!("plan `{}`", ordered.plan.name);
            self.check_standing(&Standing {
                name: &name,
                plan: &ordered.plan,
                deployed: &ordered.deployed,
                generated: &ordered.generated,
                chosen: &[],
                uaa_client: Value::Null,
                entered: &[],
            });
        }
        if self.asks_on_stdin() {
            self.check_with_uaa_client(&ordered[0]);
        }
    }

    /// The same for an instance with a UAA client, whose secret comes once.
    fn check_with_uaa_client(&mut self, ordered: &Ordered) {
        let secret = generated();
        self.learn_secret(&secret.as_str().into());
        let name = format!("plan `{}` with a UAA client", ordered.plan.name);
        let asked = self.order(&ordered.plan, &Map::new(), requests::uaa_client(&secret));
        let answer = match self.generate(&format!("order of {name}"), &Question::generate(&asked)) {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refused) => {
                let detail = self.refusal(&refused);
                self.find_failure(&calls::PLAIN_ORDER_FAILS, &name, detail, refused.id);
                return;
            }
            Outcome::Broken => return,
        };
        let deployed = self.deploy(&answer, None);
        self.check_standing(&Standing {
            name: &name,
            plan: &ordered.plan,
            deployed: &deployed,
            generated: &ordered.generated,
            chosen: &[],
            uaa_client: requests::uaa_client(""),
            entered: &[],
        });
    }

    /// Regenerates the manifest in all ways that change nothing, and compares.
    pub(super) fn check_standing(&mut self, standing: &Standing<'_>) {
        let mut told = BTreeSet::new();
        for step in [Step::PendingChanges, Step::Update, Step::Upgrade] {
            let purpose = format!("{} of {}", step.name(), standing.name);
            let question = Question::generate(&self.regeneration(step, standing));
            match self.generate(&purpose, &question) {
                Outcome::Answered(answer) => self.compare(step, standing, &answer, &mut told),
                Outcome::Refused(refused) => {
                    let detail = self.refusal(&refused);
                    self.find_failure(&stability::REGENERATION_FAILS, "", detail, refused.id);
                }
                Outcome::Broken => {}
            }
        }
    }

    fn regeneration(&self, step: Step, standing: &Standing<'_>) -> Generate {
        let asked = self.update(standing.plan, standing.plan, standing.deployed, &Map::new());
        match step {
            Step::PendingChanges => Generate {
                request: requests::pending_changes(),
                ..asked
            },
            Step::Update => Generate {
                uaa_client: standing.uaa_client.clone(),
                ..asked
            },
            Step::Upgrade => Generate {
                request: requests::upgrade(),
                previous_secrets: Value::Null,
                uaa_client: standing.uaa_client.clone(),
                ..asked
            },
        }
    }

    fn compare(
        &mut self,
        step: Step,
        standing: &Standing<'_>,
        answer: &Generated,
        told: &mut BTreeSet<Place>,
    ) {
        self.check_secrets(answer, Occasion::Deployed(standing.deployed));
        self.check_entered(answer, standing.entered);
        for difference in manifest_differences(&standing.deployed.manifest, &answer.manifest) {
            if !told.insert(difference.place.clone()) {
                continue;
            }
            let rule = if standing
                .chosen
                .iter()
                .any(|place| place.holds(&difference.place))
            {
                &parameters::FORGOTTEN
            } else if step != Step::PendingChanges
                && is_of_a_secret(&difference, standing.generated)
            {
                &secrets::SECRET_CHANGED
            } else {
                step.rule()
            };
            let about = difference.place.to_string();
            self.find(rule, about, difference.to_string(), Some(answer.id));
        }
    }
}

fn is_of_a_secret(difference: &Difference, generated: &[Place]) -> bool {
    let is_reference = |value: &Value| value.as_str().is_some_and(|text| text.contains("(("));
    let was_reference = match &difference.change {
        Change::Changed(from, _) | Change::Removed(from) => is_reference(from),
        Change::Added(_) | Change::Reordered => false,
    };
    was_reference || generated.contains(&difference.place)
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::PendingChanges => "pending-changes check",
            Self::Update => "update without parameters",
            Self::Upgrade => "upgrade",
        }
    }

    fn rule(self) -> &'static super::rules::Rule {
        match self {
            Self::PendingChanges => &stability::PENDING_CHANGES,
            Self::Update | Self::Upgrade => &stability::CHANGES_WITHOUT_CAUSE,
        }
    }
}
