//! A rule of the Open Service Broker API, and the check that shows whether a broker keeps it.

use std::{fmt, pin::Pin};

use super::{Checked, Session};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Must,
    Should,
    /// A broker may; what it does then has a form.
    May,
    /// The specification leaves it open; this is what platforms get on with best.
    Advice,
}

/// A rule, by its id in `spec/contracts/osb-api.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: &'static str,
    pub level: Level,
    pub text: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Check {
    pub rule: Rule,
    pub moment: Moment,
    run: Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Anytime,
    /// When everything else is done: it is about all answers of the run.
    Last,
}

pub(super) type Run = for<'s> fn(&'s Session) -> Pin<Box<dyn Future<Output = Checked> + 's>>;

impl Check {
    /// Of a line of `checks/rules.txt`: `G-10*  should a text`.
    pub(super) fn declared(line: &'static str, run: Run) -> Option<Self> {
        let (id, rest) = line.split_once(' ')?;
        let (level, text) = rest.trim_start().split_once(' ')?;
        let levels = [Level::Must, Level::Should, Level::May, Level::Advice];
        let level = levels.into_iter().find(|known| known.word() == level)?;
        let (id, moment) = match id.strip_suffix('*') {
            Some(id) => (id, Moment::Last),
            None => (id, Moment::Anytime),
        };
        let text = text.trim_start();
        Some(Self {
            rule: Rule { id, level, text },
            moment,
            run,
        })
    }

    pub(super) async fn run(&self, session: &Session) -> Checked {
        (self.run)(session).await
    }
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
            Self::Advice => "advice",
        }
    }

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
        f.write_str(self.word())
    }
}
