//! A rule of the Open Service Broker API, and the check that shows whether a broker keeps it.

use std::{fmt, pin::Pin};

use super::{Checked, Session};

/// How much a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A broker has to.
    Must,
    /// A broker should.
    Should,
    /// A broker may; what it does then has a form.
    May,
    /// The specification leaves it open; this is what platforms get on with best.
    Advice,
}

/// A rule, by its id in `spec/contracts/osb-api.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For example `P-01`.
    pub id: &'static str,
    /// How much it binds.
    pub level: Level,
    /// The requirement, as far as it can be observed from outside.
    pub text: &'static str,
}

/// How a check tests a rule.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The rule.
    pub rule: Rule,
    /// When it can be seen.
    pub moment: Moment,
    run: Run,
}

/// When a rule can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At any time: the check makes what it needs.
    Anytime,
    /// When everything else is done: it is about all answers of the run.
    Last,
}

type Run = for<'s> fn(&'s Session) -> Pin<Box<dyn Future<Output = Checked> + 's>>;

impl Check {
    pub(super) const fn new(id: &'static str, level: Level, text: &'static str, run: Run) -> Self {
        Self {
            rule: Rule { id, level, text },
            moment: Moment::Anytime,
            run,
        }
    }

    pub(super) const fn last(self) -> Self {
        Self {
            moment: Moment::Last,
            ..self
        }
    }

    pub(super) async fn run(&self, session: &Session) -> Checked {
        (self.run)(session).await
    }
}

impl Level {
    /// One letter, as in the list of rules; advice has none.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Must => "M",
            Self::Should => "S",
            Self::May => "O",
            Self::Advice => "-",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
            Self::Advice => "advice",
        })
    }
}
