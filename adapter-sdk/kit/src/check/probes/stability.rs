use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::check::answers::{Generated, Outcome};
use crate::check::deployed::{Deployed, generated};
use crate::check::difference::{Change, Difference, manifest_differences};
use crate::check::place::Place;
use crate::check::probes::orders::Ordered;
use crate::check::question::{Generate, Question};
use crate::check::report::Area;
use crate::check::requests;
use crate::check::rules::{calls, parameters, secrets, stability};
use crate::check::secret_rules::{Occasion, check_entered, check_secrets};
use crate::check::session::Session;
use crate::inputs::NamedPlan;

/// An instance that must stay as it is when nothing changes.
pub(in crate::check) struct Standing<'s> {
    /// What the report calls it, such as `plan small`.
    pub(in crate::check) name: &'s str,
    pub(in crate::check) plan: &'s NamedPlan,
    pub(in crate::check) deployed: &'s Deployed,
    /// Where generated values stand.
    pub(in crate::check) generated: &'s [Place],
    /// Where stands what the user chose.
    pub(in crate::check) chosen: &'s [Place],
    /// The UAA client that comes with updates and upgrades, its secret blank.
    pub(in crate::check) uaa_client: Value,
    /// Values of parameters that must not stand in a manifest.
    pub(in crate::check) entered: &'s [String],
}

/// A way to regenerate a manifest without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    PendingChanges,
    Update,
    Upgrade,
}

/// Looks for pending changes, updates and upgrades what was ordered, changing nothing.
pub(in crate::check) fn check_stability(session: &mut Session<'_>, ordered: &[Ordered]) {
    session.begin(Area::Stability);
    for ordered in ordered {
        let name = format!("plan `{}`", ordered.plan.name);
        check_standing(
            session,
            &Standing {
                name: &name,
                plan: &ordered.plan,
                deployed: &ordered.deployed,
                generated: &ordered.generated,
                chosen: &[],
                uaa_client: Value::Null,
                entered: &[],
            },
        );
    }
    if session.asks_on_stdin() {
        check_with_uaa_client(session, &ordered[0]);
    }
}

/// The same for an instance with a UAA client, whose secret comes once.
fn check_with_uaa_client(session: &mut Session<'_>, ordered: &Ordered) {
    let secret = generated();
    session.learn_secret(&secret.as_str().into());
    let name = format!("plan `{}` with a UAA client", ordered.plan.name);
    let asked = Generate::order(
        session.inputs,
        &ordered.plan,
        &Map::new(),
        requests::uaa_client(&secret),
    );
    let answer = match session.generate(&format!("order of {name}"), &Question::generate(&asked)) {
        Outcome::Answered(answer) => answer,
        Outcome::Refused(refused) => {
            let detail = session.refusal(&refused);
            session.find_failure(&calls::PLAIN_ORDER_FAILS, &name, detail, refused.id);
            return;
        }
        Outcome::Broken => return,
    };
    let deployed = session.deploy(&answer, None);
    check_standing(
        session,
        &Standing {
            name: &name,
            plan: &ordered.plan,
            deployed: &deployed,
            generated: &ordered.generated,
            chosen: &[],
            uaa_client: requests::uaa_client(""),
            entered: &[],
        },
    );
}

/// Regenerates the manifest in all ways that change nothing, and compares.
pub(in crate::check) fn check_standing(session: &mut Session<'_>, standing: &Standing<'_>) {
    let mut told = BTreeSet::new();
    for step in [Step::PendingChanges, Step::Update, Step::Upgrade] {
        let purpose = format!("{} of {}", step.name(), standing.name);
        let question = Question::generate(&regeneration(session, step, standing));
        match session.generate(&purpose, &question) {
            Outcome::Answered(answer) => compare(session, step, standing, &answer, &mut told),
            Outcome::Refused(refused) => {
                let detail = session.refusal(&refused);
                session.find_failure(&stability::REGENERATION_FAILS, "", detail, refused.id);
            }
            Outcome::Broken => {}
        }
    }
}

fn regeneration(session: &Session<'_>, step: Step, standing: &Standing<'_>) -> Generate {
    let asked = Generate::update(
        session.inputs,
        standing.plan,
        standing.plan,
        standing.deployed,
        &Map::new(),
    );
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
    session: &mut Session<'_>,
    step: Step,
    standing: &Standing<'_>,
    answer: &Generated,
    told: &mut BTreeSet<Place>,
) {
    check_secrets(session, answer, Occasion::Deployed(standing.deployed));
    check_entered(session, answer, standing.entered);
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
        } else if step != Step::PendingChanges && is_of_a_secret(&difference, standing.generated) {
            &secrets::SECRET_CHANGED
        } else {
            step.rule()
        };
        let about = difference.place.to_string();
        session.find(rule, about, difference.to_string(), Some(answer.id));
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

    fn rule(self) -> &'static crate::check::rules::Rule {
        match self {
            Self::PendingChanges => &stability::PENDING_CHANGES,
            Self::Update | Self::Upgrade => &stability::CHANGES_WITHOUT_CAUSE,
        }
    }
}
