use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::{Generated, Outcome};
use crate::check::deployed::{Deployed, generated};
use crate::check::difference::{Change, Difference, manifest_differences};
use crate::check::location::Location;
use crate::check::probes::orders::Ordered;
use crate::check::report::Area;
use crate::check::requests;
use crate::check::rules::{calls, parameters, secrets, stability};
use crate::check::secret_rules::{Occasion, check_entered, check_secrets};
use crate::check::session::Session;
use crate::inputs::NamedPlan;

/// An instance that must stay as it is when nothing changes.
pub(in crate::check) struct Baseline<'s> {
    /// The name in the report, such as `plan small`.
    pub(in crate::check) name: &'s str,
    pub(in crate::check) plan: &'s NamedPlan,
    pub(in crate::check) deployed: &'s Deployed,
    /// The locations of generated values.
    pub(in crate::check) generated: &'s [Location],
    /// The locations of the user's choices.
    pub(in crate::check) chosen: &'s [Location],
    /// The UAA client that comes with updates and upgrades, its secret blank.
    pub(in crate::check) uaa_client: Value,
    /// Values of parameters that must not occur in a manifest.
    pub(in crate::check) entered: &'s [String],
}

/// A way to regenerate a manifest without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    PendingChanges,
    Update,
    Upgrade,
}

/// Checks pending changes, update and upgrade of an ordered instance without changing anything.
pub(in crate::check) fn check_stability(session: &mut Session<'_>, ordered: &[Ordered]) {
    session.begin(Area::Stability);
    for ordered in ordered {
        let name = format!("plan `{}`", ordered.plan.name);
        check_baseline(
            session,
            &Baseline {
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

/// The same for an instance with a UAA client, whose secret the broker passes only once.
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
    let answer = match session.generate(
        &format!("order of {name}"),
        &AdapterRequest::generate(&asked),
    ) {
        Outcome::Answered(answer) => answer,
        Outcome::Refused(refused) => {
            let detail = session.rejection(&refused);
            session.find_failure(&calls::PLAIN_ORDER_FAILS, &name, detail, refused.id);
            return;
        }
        Outcome::Broken => return,
    };
    let deployed = session.deploy(&answer, None);
    check_baseline(
        session,
        &Baseline {
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
pub(in crate::check) fn check_baseline(session: &mut Session<'_>, baseline: &Baseline<'_>) {
    let mut reported = BTreeSet::new();
    for step in [Step::PendingChanges, Step::Update, Step::Upgrade] {
        let purpose = format!("{} of {}", step.name(), baseline.name);
        let adapter_request = AdapterRequest::generate(&regeneration(session, step, baseline));
        match session.generate(&purpose, &adapter_request) {
            Outcome::Answered(answer) => compare(session, step, baseline, &answer, &mut reported),
            Outcome::Refused(refused) => {
                let detail = session.rejection(&refused);
                session.find_failure(&stability::REGENERATION_FAILS, "", detail, refused.id);
            }
            Outcome::Broken => {}
        }
    }
}

fn regeneration(session: &Session<'_>, step: Step, baseline: &Baseline<'_>) -> Generate {
    let asked = Generate::update(
        session.inputs,
        baseline.plan,
        baseline.plan,
        baseline.deployed,
        &Map::new(),
    );
    match step {
        Step::PendingChanges => Generate {
            request: requests::pending_changes(),
            ..asked
        },
        Step::Update => Generate {
            uaa_client: baseline.uaa_client.clone(),
            ..asked
        },
        Step::Upgrade => Generate {
            request: requests::upgrade(),
            previous_secrets: Value::Null,
            uaa_client: baseline.uaa_client.clone(),
            ..asked
        },
    }
}

fn compare(
    session: &mut Session<'_>,
    step: Step,
    baseline: &Baseline<'_>,
    answer: &Generated,
    reported: &mut BTreeSet<Location>,
) {
    check_secrets(session, answer, Occasion::Deployed(baseline.deployed));
    check_entered(session, answer, baseline.entered);
    for difference in manifest_differences(&baseline.deployed.manifest, &answer.manifest) {
        if !reported.insert(difference.location.clone()) {
            continue;
        }
        let rule = if baseline
            .chosen
            .iter()
            .any(|location| location.holds(&difference.location))
        {
            &parameters::FORGOTTEN
        } else if step != Step::PendingChanges && is_of_a_secret(&difference, baseline.generated) {
            &secrets::SECRET_CHANGED
        } else {
            step.rule()
        };
        let about = difference.location.to_string();
        session.find(rule, about, difference.to_string(), Some(answer.id));
    }
}

fn is_of_a_secret(difference: &Difference, generated: &[Location]) -> bool {
    let is_reference = |value: &Value| value.as_str().is_some_and(|text| text.contains("(("));
    let was_reference = match &difference.change {
        Change::Changed(from, _) | Change::Removed(from) => is_reference(from),
        Change::Added(_) | Change::Reordered => false,
    };
    was_reference || generated.contains(&difference.location)
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
