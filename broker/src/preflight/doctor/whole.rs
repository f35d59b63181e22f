//! What is configured, as far as it is right, and how long everybody may take.

use crate::{
    config::{BoshConfigs, Offering, Sections},
    preflight::doctor::patience::Patience,
};

/// What is configured, and how long everybody may take.
pub(crate) struct Whole<'a> {
    pub(crate) sections: &'a Sections,
    pub(crate) patience: Patience,
}

impl Whole<'_> {
    pub(crate) fn offering(&self) -> Option<&Offering> {
        self.sections.offering.right().map(AsRef::as_ref)
    }

    /// Whether secrets of instances are kept in the Director's CredHub.
    pub(crate) fn keeps_secrets(&self) -> bool {
        self.sections.bosh_credhub.right().is_some()
    }

    pub(crate) fn has_dns_bindings(&self) -> bool {
        let plans = self.offering().into_iter();
        let mut plans = plans.flat_map(|offering| &offering.plans);
        plans.any(|plan| !plan.dns_bindings.is_empty())
    }

    pub(crate) fn bosh_configs(&self) -> BoshConfigs {
        let broker = self.sections.broker.right();
        broker.map_or(BoshConfigs::Enabled, |broker| broker.bosh_configs)
    }
}
