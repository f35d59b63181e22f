//! What is configured, as far as it is right, and how long everybody may take.

use super::patience::Patience;
use crate::config::{BoshConfigs, Offering, Sections};

/// What is configured, and how long everybody may take.
pub(super) struct Whole<'a> {
    pub(super) sections: &'a Sections,
    pub(super) patience: Patience,
}

impl Whole<'_> {
    pub(super) fn offering(&self) -> Option<&Offering> {
        self.sections.offering.right().map(AsRef::as_ref)
    }

    /// Whether secrets of instances are kept in the Director's CredHub.
    pub(super) fn keeps_secrets(&self) -> bool {
        self.sections.bosh_credhub.right().is_some()
    }

    pub(super) fn has_dns_bindings(&self) -> bool {
        let plans = self.offering().into_iter();
        let mut plans = plans.flat_map(|offering| &offering.plans);
        plans.any(|plan| !plan.dns_bindings.is_empty())
    }

    pub(super) fn bosh_configs(&self) -> BoshConfigs {
        let broker = self.sections.broker.right();
        broker.map_or(BoshConfigs::Enabled, |broker| broker.bosh_configs)
    }
}
