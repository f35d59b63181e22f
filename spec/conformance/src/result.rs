//! The result of a check.

use std::sync::Arc;

use super::Exchange;

/// The rule is kept, or why that cannot be said.
pub type Checked = Result<(), Objection>;

/// Why a rule does not count as kept.
#[derive(Clone, Debug)]
pub enum Objection {
    /// The broker breaks it.
    Broken {
        /// The expectation and the observation.
        what: String,
        /// The request and the answer that show it.
        exchange: Option<Arc<Exchange>>,
    },
    /// It cannot be shown with this broker, or with these options: why.
    NotShown(String),
}

impl Objection {
    /// The rule is broken; nothing but the text shows it.
    pub(super) fn broken(what: impl Into<String>) -> Self {
        Self::Broken {
            what: what.into(),
            exchange: None,
        }
    }

    /// The rule is broken, as this exchange shows.
    pub(super) fn shown_by(exchange: &Arc<Exchange>, what: impl Into<String>) -> Self {
        Self::Broken {
            what: what.into(),
            exchange: Some(Arc::clone(exchange)),
        }
    }

    /// The rule cannot be shown.
    pub(super) fn not_shown(why: impl Into<String>) -> Self {
        Self::NotShown(why.into())
    }

    /// The same as the reason why something else cannot be shown.
    pub(super) fn in_the_way_of(&self, purpose: &str) -> Self {
        match self {
            Self::Broken { what, .. } => Self::NotShown(format!("{purpose}: {what}")),
            Self::NotShown(why) => Self::NotShown(why.clone()),
        }
    }
}

/// Holds, or the exchange shows that the rule is broken.
pub(super) fn ensure(
    holds: bool,
    exchange: &Arc<Exchange>,
    what: impl FnOnce() -> String,
) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Objection::shown_by(exchange, what()))
    }
}

/// Holds, or there is nothing to show.
pub(super) fn applies(holds: bool, why_not: &str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Objection::not_shown(why_not))
    }
}
