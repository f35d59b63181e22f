//! The result of a check.

use std::sync::Arc;

use super::Exchange;

/// The rule is kept, or why that cannot be said.
pub type Checked = Result<(), Objection>;

#[derive(Clone, Debug)]
pub enum Objection {
    /// The broker breaks it.
    Broken {
        what: String,
        exchange: Option<Arc<Exchange>>,
    },
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

    pub(super) fn shown_by(exchange: &Arc<Exchange>, what: impl Into<String>) -> Self {
        Self::Broken {
            what: what.into(),
            exchange: Some(Arc::clone(exchange)),
        }
    }

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

pub(super) fn applies(holds: bool, why_not: &str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Objection::not_shown(why_not))
    }
}
