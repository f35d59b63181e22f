use serde_json::{Map, Value};

use super::answers::{Generated, Outcome, Refused};
use super::difference::{kind, manifest_differences};
use super::orders::Ordered;
use super::place::Place;
use super::question::Question;
use super::report::Area;
use super::rules::parameters;
use super::secret_rules::Occasion;
use super::session::Session;
use super::stability::Standing;
use crate::inputs::ParameterCase;

impl Session<'_> {
    /// Orders and updates with valid parameters, and looks whether they last.
    pub(super) fn check_parameters(&mut self, ordered: &[Ordered]) {
        let cases = &self.inputs.parameters;
        if cases.is_empty() {
            self.skip(Area::Parameters, "the inputs name no `parameters`");
            return;
        }
        self.begin(Area::Parameters);
        for (nth, case) in cases.iter().enumerate() {
            let plan = case
                .plan
                .as_deref()
                .unwrap_or(&self.inputs.first_plan().name);
            if let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) {
                let name = match &case.name {
                    Some(name) => format!("parameters `{name}`"),
                    None => format!("parameters number {}", nth + 1),
                };
                self.check_case(&name, case, ordered);
            }
        }
    }

    fn check_case(&mut self, name: &str, case: &ParameterCase, ordered: &Ordered) {
        let entered = self.entered(case);
        let plan = &ordered.plan;
        let question = Question::generate(&self.order(plan, &case.create, Value::Null));
        let answer = match self.generate(&format!("order with {name}"), &question) {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refused) => return self.refused_though_valid(name, &refused),
            Outcome::Broken => return,
        };
        self.check_manifest(&answer, &plan.document);
        self.check_secrets(&answer, Occasion::Order);
        self.check_entered(&answer, &entered);
        self.check_expectations(&case.expect, &answer);

        let deployed = self.deploy(&answer, None);
        let mut chosen = chosen(&ordered.answer, &answer, &ordered.generated);
        let standing = Standing {
            name: &format!("an order with {name}"),
            plan,
            deployed: &deployed,
            generated: &ordered.generated,
            chosen: &chosen,
            uaa_client: Value::Null,
            entered: &entered,
        };
        self.check_standing(&standing);

        let Some(update) = &case.update else { return };
        let question = Question::generate(&self.update(plan, plan, &deployed, update));
        let updated = match self.generate(&format!("update with {name}"), &question) {
            Outcome::Answered(updated) => updated,
            Outcome::Refused(refused) => return self.refused_though_valid(name, &refused),
            Outcome::Broken => return,
        };
        self.check_manifest(&updated, &plan.document);
        self.check_secrets(&updated, Occasion::Deployed(&deployed));
        self.check_entered(&updated, &entered);
        self.check_expectations(&case.expect_after_update, &updated);
        chosen.extend(self::chosen(&answer, &updated, &ordered.generated));
        let deployed = self.deploy(&updated, Some(&deployed));
        self.check_standing(&Standing {
            name: &format!("an update with {name}"),
            plan,
            deployed: &deployed,
            generated: &ordered.generated,
            chosen: &chosen,
            uaa_client: Value::Null,
            entered: &entered,
        });
    }

    /// Holds an answer to what the inputs expect where.
    fn check_expectations(&mut self, expected: &Map<String, Value>, answer: &Generated) {
        for (text, expected) in expected {
            let detail = match text.parse::<Place>() {
                Err(error) => error.to_string(),
                Ok(place) => match place.look_up(&answer.manifest) {
                    Some(found) if found == expected => continue,
                    Some(found) => match (kind(found), kind(expected)) {
                        (found, expected) if found == expected => {
                            format!("{found} other than the expected one stands at `{place}`")
                        }
                        (found, expected) => {
                            format!("{found} stands at `{place}`, expected {expected}")
                        }
                    },
                    None => format!("nothing stands at `{place}`, expected {}", kind(expected)),
                },
            };
            self.find(&parameters::NOT_AS_EXPECTED, text, detail, Some(answer.id));
        }
    }

    fn refused_though_valid(&mut self, name: &str, refused: &Refused) {
        let detail = self.refusal(refused);
        self.find_failure(&parameters::VALID_REFUSED, name, detail, refused.id);
    }

    /// The values of a case's secret parameters, which are secrets from now on.
    fn entered(&mut self, case: &ParameterCase) -> Vec<String> {
        let all = [Some(&case.create), case.update.as_ref()];
        let values: Vec<String> = all
            .into_iter()
            .flatten()
            .flat_map(|parameters| case.secrets.iter().filter_map(|name| parameters.get(name)))
            .filter_map(|value| Some(value.as_str()?.to_owned()))
            .collect();
        for value in &values {
            self.learn_secret(&value.as_str().into());
        }
        values
    }
}

/// Where a manifest is another because of what the user chose.
fn chosen(without: &Generated, with: &Generated, generated: &[Place]) -> Vec<Place> {
    manifest_differences(&without.manifest, &with.manifest)
        .into_iter()
        .map(|difference| difference.place)
        .filter(|place| !generated.contains(place))
        .collect()
}
