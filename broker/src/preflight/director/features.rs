//! Whether the Director is new enough, and has the features that the enabled options need.

use odb_api_types::code::Code;
use odb_clients::director::Info;
use odb_config::Bosh;
use odb_core::finding::Finding;

use super::version;
use crate::preflight::{
    chart::{Chart, Probe},
    context::{BECAUSE_OF_ERRORS, Context},
};

pub(crate) fn compare_version(info: &Info, context: &Context<'_>, bosh: &Bosh, chart: &mut Chart) {
    let finding = |found, remedy: &str| {
        let tried = "to compare its version with what is configured";
        Finding::tried(Code::DirectorTooOld, Some("bosh.url"), tried, found, remedy)
    };
    let Some(offering) = context.offering else {
        return chart.not_asked(Probe::Version, BECAUSE_OF_ERRORS);
    };
    let version = info.version.split_whitespace().next();
    let version = version.unwrap_or(&info.version);
    if let Err(cause) = version::check(&info.version, offering) {
        let found = format!(
            "the Director at `{}` cannot do what is configured",
            bosh.url
        );
        let remedy = "upgrade the Director, or leave out what needs more";
        let finding = Finding {
            cause,
            ..finding(found, remedy)
        };
        chart.found(Probe::Version, None, finding);
    } else if version::joins_tasks(&info.version) {
        let text = format!("{version} is enough for what is configured");
        chart.fine(Probe::Version, None, text);
    } else {
        let found = format!(
            "the Director's version {version} is older than 261 and does not store context ids: the broker cannot resume \
             operations whose answer is lost or that an earlier process began"
        );
        let finding = finding(found, "upgrade the Director").warning();
        chart.found(Probe::Version, None, finding);
    }
}

/// Checks the Director's own features for the enabled options.
pub(crate) fn look(info: &Info, context: &Context<'_>, chart: &mut Chart) {
    let mut fine = Vec::new();
    if context.keeps_secrets() {
        if info.config_server {
            fine.push("it resolves references to its CredHub");
        } else {
            let finding = Finding::tried(
                Code::NoDirectorCredHub,
                Some("broker.enable_secure_manifests"),
                "to see whether it has a CredHub (`features.config_server` of `GET /info`)",
                "the Director has no CredHub of its own: deployments whose manifests refer to secrets will fail",
                "give the Director a CredHub (`director.config_server`), or unset `broker.enable_secure_manifests`",
            );
            chart.found(Probe::Features, None, finding);
        }
    }
    if context.has_dns_bindings() {
        if info.local_dns {
            fine.push("BOSH DNS is on");
        } else {
            let finding = Finding::tried(
                Code::DirectorTooOld,
                Some("service_catalog.plans"),
                "to see whether BOSH DNS is on (`features.local_dns` of `GET /info`)",
                "the Director's BOSH DNS is off: plans with `binding_with_dns` cannot be bound",
                "switch `director.local_dns.enabled` on, or leave `binding_with_dns` out",
            );
            chart.found(Probe::Features, None, finding.warning());
        }
    }
    if !fine.is_empty() {
        chart.fine(Probe::Features, None, fine.join("; "));
    }
}
