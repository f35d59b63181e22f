//! The features that the Director needs for the enabled options.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind,
    director::{ConfigName, ConfigType, Director, Info},
};
use odb_config::{BoshConfigs, Offering};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    director::version,
    doctor::{
        chart::Chart,
        context::{Context, timed},
        subject::Probe,
    },
};

/// The name of the config that is read, which never exists.
const KIND: &str = "odb-rights";
const NAME: &str = "trial";

/// Whether it is new enough.
pub(crate) fn version(info: &Info, offering: Option<&Offering>, chart: &mut Chart) {
    let finding = |came, remedy: &str| {
        let tried = "to compare its version with what is configured";
        Finding::tried(Code::DirectorTooOld, Some("bosh.url"), tried, came, remedy)
    };
    let Some(offering) = offering else {
        return chart.not_asked(Probe::Version, "because of the errors in the file");
    };
    let version = short(&info.version);
    if let Err(came) = version::check(&info.version, offering) {
        let remedy = "upgrade the Director, or leave out what needs more";
        chart.found(Probe::Version, None, finding(came, remedy));
    } else if version::joins_tasks(&info.version) {
        let text = format!("{version} is enough for what is configured");
        chart.fine(Probe::Version, None, text);
    } else {
        let came = format!(
            "{version} is older than 261: the broker cannot resume operations whose answer is lost"
        );
        let finding = finding(came, "upgrade the Director").warning();
        chart.found(Probe::Version, None, finding);
    }
}

fn short(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or(version)
}

/// Checks the Director's own features for the enabled options.
pub(crate) fn features(info: &Info, context: &Context<'_>, chart: &mut Chart) {
    let mut fine = Vec::new();
    if context.keeps_secrets() {
        if info.config_server {
            fine.push("it resolves references to its CredHub");
        } else {
            let finding = Finding::tried(
                Code::NoDirectorCredHub,
                Some("broker.enable_secure_manifests"),
                "to see whether it has a CredHub (`features.config_server` of `GET /info`)",
                "not configured: deployments whose manifests refer to secrets will fail",
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
                "it is off: plans with `binding_with_dns` cannot be bound",
                "switch `director.local_dns.enabled` on, or leave `binding_with_dns` out",
            );
            chart.found(Probe::Features, None, finding.warning());
        }
    }
    if !fine.is_empty() {
        chart.fine(Probe::Features, None, fine.join("; "));
    }
}

/// Configs are read with the same right with which they are written.
pub(crate) async fn configs(
    director: &Director,
    context: &Context<'_>,
    chart: &mut Chart,
) -> Option<()> {
    if context.bosh_configs() == BoshConfigs::Disabled {
        chart.not_asked(Probe::Configs, "`broker.disable_bosh_configs` is set");
        return Some(());
    }
    let kind = ConfigType::try_from(KIND.to_owned()).expect("it is plain text");
    let name = ConfigName::try_from(NAME.to_owned()).expect("it is plain text");
    let call = chart.timeouts.call();
    let (read, took) = timed(director.config_latest(&call, &kind, &name)).await;
    let Err(error) = read else {
        chart.fine(Probe::Configs, took, "can be read");
        return Some(());
    };
    let remedy = match error.kind {
        FailureKind::NotAllowed { .. } => {
            "give the client `bosh.teams.TEAM.admin`, or set `broker.disable_bosh_configs` if this is intended"
        }
        FailureKind::Refused { .. } => "upgrade the Director, or set `broker.disable_bosh_configs`",
        _ => "look at the Director's log",
    };
    let (key, came) = (Some("bosh.authentication"), Chain(&error).to_string());
    let finding = Finding::tried(Code::ConfigRights, key, "`GET /configs`", came, remedy);
    chart.failed(Probe::Configs, took, finding.warning())
}
