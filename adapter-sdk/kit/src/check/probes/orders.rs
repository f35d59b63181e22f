use std::collections::BTreeSet;

use odb_adapter_sdk::protocol::{ExitCode, GenerateManifest, RequestParameters, UaaClient};
use serde_json::{Map, Value};

use crate::check::answers::{Deployed, Generated, Outcome, generated};
use crate::check::difference::{Change, Difference, Location, manifest_differences};
use crate::check::manifest_rules::check_manifest;
use crate::check::report::Area;
use crate::check::request::{AdapterRequest, PLATFORM, order, uaa_client, update};
use crate::check::rules;
use crate::check::secrets::{check_entered, check_generated, check_secrets};
use crate::check::session::Session;
use crate::inputs::NamedPlan;

/// An instance of a plan that was ordered without parameters.
pub(in crate::check) struct Ordered {
    pub(in crate::check) plan: NamedPlan,
    pub(in crate::check) answer: Generated,
    pub(in crate::check) deployed: Deployed,
    /// The locations of values that are generated anew for each order.
    pub(in crate::check) generated: Vec<Location>,
}

/// An instance that must stay as it is when nothing changes.
pub(super) struct Baseline<'s> {
    /// The name in the report, such as `plan small`.
    pub(super) name: &'s str,
    pub(super) plan: &'s NamedPlan,
    pub(super) deployed: &'s Deployed,
    /// The locations of generated values.
    pub(super) generated: &'s [Location],
    /// The locations of the user's choices.
    pub(super) chosen: &'s [Location],
    /// The UAA client that comes with updates and upgrades, its secret blank.
    pub(super) uaa_client: Option<UaaClient>,
    /// Values of parameters that must not occur in a manifest.
    pub(super) entered: &'s [String],
}

/// A way to regenerate a manifest without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    PendingChanges,
    Update,
    Upgrade,
}

/// Orders an instance of each plan, twice.
pub(super) fn check_orders(session: &mut Session<'_>) -> Vec<Ordered> {
    session.begin(Area::Orders);
    let plans = session.inputs.plans.iter();
    plans
        .filter_map(|plan| check_order(session, plan))
        .collect()
}

fn check_order(session: &mut Session<'_>, plan: &NamedPlan) -> Option<Ordered> {
    let purpose = format!("order of plan `{}`", plan.name);
    let call = order(session.inputs, plan, &Map::new());
    let answer = first_answer(session, &purpose, &call)?;
    check_manifest(session, &answer, &plan.plan);
    check_secrets(session, &answer, None);
    let again = session.generate(&format!("the same {purpose}"), call);
    let generated = match again.answer() {
        Some(again) => compare_orders(session, &answer, &again),
        None => Vec::new(),
    };
    check_generated(session, &answer, &generated);
    let deployed = session.deploy(&answer, None);
    Some(Ordered {
        plan: plan.clone(),
        answer,
        deployed,
        generated,
    })
}

/// The answer to an order, on stdin or, where that is not understood, in arguments.
fn first_answer(
    session: &mut Session<'_>,
    purpose: &str,
    call: &GenerateManifest,
) -> Option<Generated> {
    let refused = match session.generate(purpose, call.clone()) {
        Outcome::Answered(answer) => return Some(answer),
        Outcome::Broken => return None,
        Outcome::Refused(refused) => refused,
    };
    if refused.code == ExitCode::NotImplemented {
        let detail = "it ends with exit code 10";
        session.find(&rules::NO_MANIFEST, "", detail, refused.id);
        return None;
    }
    if session.on_stdin {
        let purpose = format!("{purpose}, in arguments");
        let request = AdapterRequest::generate(call.clone());
        let answer = session.generate_in_arguments(&purpose, &request);
        if let Some(answer) = answer.answer() {
            let words = session.rejection(&refused);
            let detail = format!("the same request succeeds in arguments; {words}");
            session.find_failure(&rules::STDIN_FORM, "", detail, refused.id);
            session.on_stdin = false;
            return Some(answer);
        }
    }
    session.find_rejection(&rules::PLAIN_ORDER_FAILS, purpose, &refused);
    None
}

/// Where two equal orders got different values. Anything else that differs is a finding.
fn compare_orders(session: &mut Session<'_>, one: &Generated, other: &Generated) -> Vec<Location> {
    let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
    let mut generated = Vec::new();
    for difference in manifest_differences(&one.manifest, &other.manifest) {
        match &difference.change {
            Change::Changed(from, to)
                if is_scalar(from) && is_scalar(to) && !difference.location.is_harmless() =>
            {
                session.learn_secret(from);
                session.learn_secret(to);
                generated.push(difference.location);
            }
            _ => {
                let about = difference.location.to_string();
                let detail = difference.to_string();
                session.find(&rules::UNSTABLE_ORDER, about, detail, other.id);
            }
        }
    }
    generated
}

/// Checks pending changes, update and upgrade of an ordered instance without changing anything.
pub(super) fn check_stability(session: &mut Session<'_>, ordered: &[Ordered]) {
    session.begin(Area::Stability);
    for ordered in ordered {
        let name = format!("plan `{}`", ordered.plan.name);
        check_baseline(session, &Baseline::of(&name, ordered, &ordered.deployed));
    }
    if session.on_stdin {
        check_with_uaa_client(session, &ordered[0]);
    }
}

/// The same for an instance with a UAA client, whose secret the broker passes only once.
fn check_with_uaa_client(session: &mut Session<'_>, ordered: &Ordered) {
    let secret = generated();
    session.learn_secret(&secret.as_str().into());
    let name = format!("plan `{}` with a UAA client", ordered.plan.name);
    let mut call = order(session.inputs, &ordered.plan, &Map::new());
    call.uaa_client = Some(uaa_client(&secret));
    let outcome = session.generate(&format!("order of {name}"), call);
    if let Some(answer) = session.expect(outcome, &rules::PLAIN_ORDER_FAILS, &name) {
        let deployed = session.deploy(&answer, None);
        let baseline = Baseline {
            uaa_client: Some(uaa_client("")),
            ..Baseline::of(&name, ordered, &deployed)
        };
        check_baseline(session, &baseline);
    }
}

/// Regenerates the manifest in all ways that change nothing, and compares.
pub(super) fn check_baseline(session: &mut Session<'_>, baseline: &Baseline<'_>) {
    let mut reported = BTreeSet::new();
    for step in [Step::PendingChanges, Step::Update, Step::Upgrade] {
        let purpose = format!("{} of {}", step.name(), baseline.name);
        let call = baseline.regeneration(session, step);
        let outcome = session.generate(&purpose, call);
        if let Some(answer) = session.expect(outcome, &rules::REGENERATION_FAILS, "") {
            compare(session, step, baseline, &answer, &mut reported);
        }
    }
}

impl<'s> Baseline<'s> {
    /// An instance like an ordered one, without choices of a user.
    pub(super) fn of(name: &'s str, ordered: &'s Ordered, deployed: &'s Deployed) -> Self {
        Self {
            name,
            plan: &ordered.plan,
            deployed,
            generated: &ordered.generated,
            chosen: &[],
            uaa_client: None,
            entered: &[],
        }
    }

    fn regeneration(&self, session: &Session<'_>, step: Step) -> GenerateManifest {
        let plan = self.plan;
        let mut call = update(session.inputs, plan, plan, self.deployed, &Map::new());
        match step {
            Step::PendingChanges => call.request_parameters = RequestParameters::default(),
            Step::Update => call.uaa_client.clone_from(&self.uaa_client),
            Step::Upgrade => {
                call.request_parameters = PLATFORM.upgrade();
                call.previous_secrets = None;
                call.uaa_client.clone_from(&self.uaa_client);
            }
        }
        call
    }
}

fn compare(
    session: &mut Session<'_>,
    step: Step,
    baseline: &Baseline<'_>,
    answer: &Generated,
    reported: &mut BTreeSet<Location>,
) {
    check_secrets(session, answer, Some(baseline.deployed));
    check_entered(session, answer, baseline.entered);
    for difference in manifest_differences(&baseline.deployed.manifest, &answer.manifest) {
        if !reported.insert(difference.location.clone()) {
            continue;
        }
        let mut chosen = baseline.chosen.iter();
        let rule = if chosen.any(|location| location.holds(&difference.location)) {
            &rules::FORGOTTEN
        } else if step == Step::PendingChanges {
            &rules::PENDING_CHANGES
        } else if is_of_a_secret(&difference, baseline.generated) {
            &rules::SECRET_CHANGED
        } else {
            &rules::CHANGES_WITHOUT_CAUSE
        };
        let about = difference.location.to_string();
        session.find(rule, about, difference.to_string(), answer.id);
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
}
