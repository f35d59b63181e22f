//! What a Director has, and must have for what is switched on.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    director::{ConfigName, ConfigType, Director, Info},
};

use crate::{
    config::{BoshConfigs, Offering},
    finding::Finding,
    preflight::{
        director::version,
        doctor::{chart::Chart, subject::Probe, whole::Whole},
    },
    telemetry::Chain,
};

/// The config that is looked for; there never is one.
const KIND: &str = "odb-rights";
const NAME: &str = "trial";

/// Whether it is new enough.
pub(crate) fn version(info: &Info, offering: Option<&Offering>, chart: &mut Chart) {
    let trouble = |came, remedy: &str| {
        Finding::tried(
            Code::DirectorTooOld,
            Some("bosh.url"),
            "to compare its version with what is configured",
            came,
            remedy,
        )
    };
    let Some(offering) = offering else {
        return chart.not_asked(Probe::Version, "because of the faults in the file");
    };
    if let Err(came) = version::check(&info.version, offering) {
        let remedy = "upgrade the Director, or leave out what needs more";
        return chart.wrong(Probe::Version, None, trouble(came, remedy));
    }
    if version::joins_tasks(&info.version) {
        let text = format!("{} is enough for what is configured", short(&info.version));
        chart.fine(Probe::Version, None, text);
    } else {
        let came = format!(
            "{} is older than 261: operations whose answer is lost are not found again",
            short(&info.version)
        );
        chart.odd(Probe::Version, None, trouble(came, "upgrade the Director"));
    }
}

fn short(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or(version)
}

/// What the Director itself must have for what is switched on.
pub(crate) fn features(info: &Info, whole: &Whole<'_>, chart: &mut Chart) {
    let mut fine = Vec::new();
    if whole.keeps_secrets() {
        if info.config_server {
            fine.push("it resolves references to its CredHub");
        } else {
            let trouble = Finding::tried(
                Code::NoDirectorCredHub,
                Some("broker.enable_secure_manifests"),
                "to see whether it has a CredHub (`features.config_server` of `GET /info`)",
                "it has none: deployments whose manifests refer to secrets will fail",
                "give the Director a CredHub (`director.config_server`), or unset `broker.enable_secure_manifests`",
            );
            chart.wrong(Probe::Features, None, trouble);
        }
    }
    if whole.has_dns_bindings() {
        if info.local_dns {
            fine.push("BOSH DNS is on");
        } else {
            let trouble = Finding::tried(
                Code::DirectorTooOld,
                Some("service_catalog.plans"),
                "to see whether BOSH DNS is on (`features.local_dns` of `GET /info`)",
                "it is off: plans with `binding_with_dns` cannot be bound",
                "switch `director.local_dns.enabled` on, or leave `binding_with_dns` out",
            );
            chart.odd(Probe::Features, None, trouble);
        }
    }
    if !fine.is_empty() {
        chart.fine(Probe::Features, None, fine.join("; "));
    }
}

/// Configs are read with the same right with which they are written.
pub(crate) async fn configs(
    director: &Director,
    whole: &Whole<'_>,
    chart: &mut Chart,
) -> Option<()> {
    if whole.bosh_configs() == BoshConfigs::Disabled {
        chart.not_asked(Probe::Configs, "`broker.disable_bosh_configs` is set");
        return Some(());
    }
    let kind = ConfigType::try_from(KIND.to_owned()).expect("it is plain text");
    let name = ConfigName::try_from(NAME.to_owned()).expect("it is plain text");
    let began = tokio::time::Instant::now();
    let read = director
        .config_latest(&whole.patience.call(), &kind, &name)
        .await;
    let took = began.elapsed();
    match read {
        Ok(_) => {
            chart.fine(Probe::Configs, took, "can be read");
            Some(())
        }
        Err(error) => {
            let remedy = match &error {
                ServiceError {
                    kind: FailureKind::NotAllowed { .. },
                    ..
                } => {
                    "give the client `bosh.teams.TEAM.admin`, or set `broker.disable_bosh_configs` if that is meant"
                }
                ServiceError {
                    kind: FailureKind::Refused { .. },
                    ..
                } => "upgrade the Director, or set `broker.disable_bosh_configs`",
                _ => "look at the Director's log",
            };
            let trouble = Finding::tried(
                Code::ConfigRights,
                Some("bosh.authentication"),
                "`GET /configs`",
                Chain(&error).to_string(),
                remedy,
            );
            chart.odd(Probe::Configs, took, trouble);
            None
        }
    }
}
