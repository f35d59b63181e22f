use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value};

use super::answers::{Generated, Outcome};
use super::deployed::Deployed;
use super::difference::{Change, manifest_differences};
use super::place::Place;
use super::question::{Generate, Question};
use super::report::Area;
use super::requests::{self, INSTANCE_ID};
use super::rules::{calls, stability};
use super::secret_rules::Occasion;
use super::session::Session;
use crate::inputs::NamedPlan;

/// An instance of a plan that was ordered without parameters.
pub(super) struct Ordered {
    pub(super) plan: NamedPlan,
    pub(super) answer: Generated,
    pub(super) deployed: Deployed,
    /// Where values stand that are generated anew for each order.
    pub(super) generated: Vec<Place>,
}

impl Session<'_> {
    /// Orders an instance of each plan, twice.
    pub(super) fn check_orders(&mut self) -> Vec<Ordered> {
        self.begin(Area::Orders);
        let plans = &self.inputs.plans;
        plans
            .iter()
            .filter_map(|plan| self.check_order(plan))
            .collect()
    }

    fn check_order(&mut self, plan: &NamedPlan) -> Option<Ordered> {
        let purpose = format!("order of plan `{}`", plan.name);
        let question = Question::generate(&self.order(plan, &Map::new(), Value::Null));
        let answer = self.first_answer(&purpose, &question)?;
        self.check_manifest(&answer, &plan.document);
        self.check_secrets(&answer, Occasion::Order);
        let again = self.generate(&format!("the same {purpose}"), &question);
        let generated = match again.answer() {
            Some(again) => self.compare_orders(&answer, &again),
            None => Vec::new(),
        };
        self.check_generated(&answer, &generated);
        let deployed = self.deploy(&answer, None);
        Some(Ordered {
            plan: plan.clone(),
            answer,
            deployed,
            generated,
        })
    }

    /// The answer to an order, on stdin or, where that is not understood, in arguments.
    fn first_answer(&mut self, purpose: &str, question: &Question) -> Option<Generated> {
        let refused = match self.generate(purpose, question) {
            Outcome::Answered(answer) => return Some(answer),
            Outcome::Broken => return None,
            Outcome::Refused(refused) => refused,
        };
        if refused.code == ExitCode::NotImplemented {
            self.find(
                &calls::NO_MANIFEST,
                "",
                "it ends with exit code 10",
                Some(refused.id),
            );
            return None;
        }
        if self.asks_on_stdin() {
            let purpose = format!("{purpose}, in arguments");
            if let Some(answer) = self.generate_in_arguments(&purpose, question).answer() {
                let words = self.refusal(&refused);
                let detail = format!("the same question is answered in arguments; {words}");
                self.find_failure(&calls::STDIN_FORM, "", detail, refused.id);
                self.ask_in_arguments();
                return Some(answer);
            }
        }
        let detail = self.refusal(&refused);
        self.find_failure(&calls::PLAIN_ORDER_FAILS, purpose, detail, refused.id);
        None
    }

    /// Where two equal orders got different values. Anything else that differs is a finding.
    fn compare_orders(&mut self, one: &Generated, other: &Generated) -> Vec<Place> {
        let mut generated = Vec::new();
        for difference in manifest_differences(&one.manifest, &other.manifest) {
            match &difference.change {
                Change::Changed(from, to)
                    if is_scalar(from) && is_scalar(to) && !difference.place.is_harmless() =>
                {
                    self.learn_secret(from);
                    self.learn_secret(to);
                    generated.push(difference.place);
                }
                _ => {
                    let about = difference.place.to_string();
                    self.find(
                        &stability::UNSTABLE_ORDER,
                        about,
                        difference.to_string(),
                        Some(other.id),
                    );
                }
            }
        }
        generated
    }

    /// What is deployed after an answer.
    pub(super) fn deploy(&mut self, answer: &Generated, previous: Option<&Deployed>) -> Deployed {
        let deployed = Deployed::after(answer, previous, self.inputs.secure_manifests);
        for value in deployed.secret_values() {
            self.learn_secret(&value.into());
        }
        deployed
    }

    /// The question of an order.
    pub(super) fn order(
        &self,
        plan: &NamedPlan,
        parameters: &Map<String, Value>,
        uaa_client: Value,
    ) -> Generate {
        let mut all = self.inputs.required_parameters.clone();
        all.extend(parameters.clone());
        Generate {
            service_deployment: self.inputs.service_deployment(INSTANCE_ID),
            plan: plan.document.clone(),
            previous_plan: Value::Null,
            previous_manifest: String::new(),
            request: requests::order(&plan.name, &all),
            previous_secrets: Value::Null,
            previous_configs: Value::Null,
            uaa_client,
        }
    }

    /// The question of an update, with all that goes with what is deployed.
    pub(super) fn update(
        &self,
        plan: &NamedPlan,
        previous: &NamedPlan,
        deployed: &Deployed,
        parameters: &Map<String, Value>,
    ) -> Generate {
        Generate {
            service_deployment: self.inputs.service_deployment(INSTANCE_ID),
            plan: plan.document.clone(),
            previous_plan: previous.document.clone(),
            previous_manifest: deployed.text.clone(),
            request: requests::update(&plan.name, &previous.name, parameters),
            previous_secrets: deployed.secrets(),
            previous_configs: deployed.configs(),
            uaa_client: Value::Null,
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}
