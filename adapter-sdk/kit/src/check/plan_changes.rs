use serde_json::{Map, Value};

use super::answers::Outcome;
use super::question::Question;
use super::report::Area;
use super::rules::parameters;
use super::secret_rules::Occasion;
use super::session::Session;
use super::stability::Standing;
use crate::inputs::{NamedPlan, PlanChange, PlanChangeOutcome};

impl Session<'_> {
    /// Moves instances from plan to plan.
    pub(super) fn check_plan_changes(&mut self) {
        let changes = &self.inputs.plan_changes;
        if changes.is_empty() {
            self.skip(Area::PlanChanges, "the inputs name no `plan_changes`");
            return;
        }
        self.begin(Area::PlanChanges);
        for change in changes {
            let plans = (self.inputs.plan(&change.from), self.inputs.plan(&change.to));
            if let (Some(from), Some(to)) = plans {
                self.check_plan_change(change, from, to);
            }
        }
    }

    fn check_plan_change(&mut self, change: &PlanChange, from: &NamedPlan, to: &NamedPlan) {
        let name = format!("change from plan `{}` to `{}`", from.name, to.name);
        let order = Question::generate(&self.order(from, &Map::new(), Value::Null));
        let Some(ordered) = self
            .generate(&format!("order before a {name}"), &order)
            .answer()
        else {
            return;
        };
        let deployed = self.deploy(&ordered, None);
        let question = Question::generate(&self.update(to, from, &deployed, &Map::new()));
        match (self.generate(&name, &question), change.outcome) {
            (Outcome::Answered(answer), PlanChangeOutcome::Accepted) => {
                self.check_manifest(&answer, &to.document);
                self.check_secrets(&answer, Occasion::Deployed(&deployed));
                let deployed = self.deploy(&answer, Some(&deployed));
                self.check_standing(&Standing {
                    name: &format!("a {name}"),
                    plan: to,
                    deployed: &deployed,
                    generated: &[],
                    chosen: &[],
                    uaa_client: Value::Null,
                    entered: &[],
                });
            }
            (Outcome::Answered(answer), PlanChangeOutcome::Refused) => {
                self.find(
                    &parameters::PLAN_CHANGE,
                    &name,
                    "it is accepted",
                    Some(answer.id),
                );
            }
            (Outcome::Refused(refused), PlanChangeOutcome::Accepted) => {
                let detail = self.refusal(&refused);
                self.find_failure(&parameters::PLAN_CHANGE, &name, detail, refused.id);
            }
            (Outcome::Refused(refused), PlanChangeOutcome::Refused) => {
                self.check_user_text(&refused, change.message.as_deref());
            }
            (Outcome::Broken, _) => {}
        }
    }
}
