//! A run: the checks one after the other, then the clean-up.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{Check, LeftBehind, Level, Moment, Objection, Rule, Session, checks};

#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these checks, if there are any. A rule's id, or the letters before the hyphen for a group.
    pub only: Vec<String>,
    pub skip: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown check `{0}`; `--list` prints all checks")]
pub struct UnknownRule(String);

#[derive(Clone, Debug)]
pub struct Report {
    pub results: Vec<CheckResult>,
    pub stopped: Option<&'static str>,
    pub left_behind: Vec<LeftBehind>,
    pub took: Duration,
}

#[derive(Clone, Debug)]
pub struct CheckResult {
    pub rule: Rule,
    pub outcome: Outcome,
    pub took: Duration,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Passed,
    Objected(Objection),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Passed,
    Failed,
    Warning,
    Skipped,
}

/// All rules that there are checks for, in the order of the checks.
pub fn rules() -> impl Iterator<Item = Rule> {
    checks::all().iter().map(|check| check.rule)
}

impl Selection {
    pub fn check(&self) -> Result<(), UnknownRule> {
        let known: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        let named = self.only.iter().chain(&self.skip);
        for name in named {
            if !known.iter().any(|id| names(name, id)) {
                return Err(UnknownRule(name.clone()));
            }
        }
        Ok(())
    }

    fn holds(&self, rule: &Rule) -> bool {
        let named = |list: &[String]| list.iter().any(|name| names(name, rule.id));
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

/// `P` names all of `P-01`, `P-02` and so on, and nothing of `PX-01`.
fn names(name: &str, id: &str) -> bool {
    let name = name.trim_end_matches('-');
    let group = id.split_once('-').map_or(id, |(group, _)| group);
    name.eq_ignore_ascii_case(id) || name.eq_ignore_ascii_case(group)
}

impl Session {
    /// Makes the selected checks until `stop` comes to an end, which says why, and deletes what was made.
    pub async fn run(
        &self,
        selection: &Selection,
        stop: impl Future<Output = &'static str>,
        progress: impl Fn(&CheckResult),
    ) -> Report {
        let began = Instant::now();
        let selected: Vec<&Check> = checks::all()
            .iter()
            .filter(|check| selection.holds(&check.rule))
            .collect();
        let moments = [Moment::Anytime, Moment::Last];
        let order = moments.into_iter().flat_map(|moment| {
            let of_moment = selected.iter().filter(move |check| check.moment == moment);
            of_moment.copied()
        });
        let (mut results, mut stopped) = (Vec::new(), None);
        let mut stop = std::pin::pin!(stop);
        for check in order {
            let began = Instant::now();
            let result = if let Some(why) = stopped {
                Err(Objection::not_shown(why))
            } else {
                tokio::select! {
                    why = &mut stop => {
                        stopped = Some(why);
                        Err(Objection::not_shown(why))
                    }
                    result = check.run(self) => result,
                }
            };
            let result = CheckResult {
                rule: check.rule,
                outcome: result.map_or_else(Outcome::Objected, |()| Outcome::Passed),
                took: began.elapsed(),
            };
            progress(&result);
            results.push(result);
        }
        let left_behind = self.clean_up().await;
        let location =
            |result: &CheckResult| selected.iter().position(|check| check.rule == result.rule);
        results.sort_by_key(location);
        Report {
            results,
            stopped,
            left_behind,
            took: began.elapsed(),
        }
    }
}

impl Report {
    /// Something was shown, all that was asked for was looked at, no rule that binds is broken, and nothing was left
    /// behind.
    pub fn is_good(&self) -> bool {
        self.stopped.is_none()
            && self.left_behind.is_empty()
            && self.count(RunState::Failed) == 0
            && self.count(RunState::Skipped) < self.results.len()
    }

    pub fn count(&self, state: RunState) -> usize {
        let alike = |result: &&CheckResult| result.state() == state;
        self.results.iter().filter(alike).count()
    }
}

impl CheckResult {
    pub fn state(&self) -> RunState {
        match &self.outcome {
            Outcome::Passed => RunState::Passed,
            Outcome::Objected(Objection::NotShown(_)) => RunState::Skipped,
            Outcome::Objected(Objection::Broken { .. }) if self.rule.level == Level::Must => {
                RunState::Failed
            }
            Outcome::Objected(Objection::Broken { .. }) => RunState::Warning,
        }
    }
}
