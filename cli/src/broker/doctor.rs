//! `odb broker doctor`: what a broker reports of its upstreams.

use std::fmt::Write as _;

use anyhow::bail;
use odb_clients::http::StatusCode;
use odb_errand::{BrokerApi, BrokerApiRejection, ExitStatus, harmless};
use serde_json::Value;

use crate::output::{Output, Tone};

pub(super) async fn run(broker: &BrokerApi, output: &Output) -> anyhow::Result<ExitStatus> {
    let report = match broker.doctor().await {
        Ok(report) => report,
        Err(error) if error.is_unknown_route() => bail!(
            "This broker has no /mgmt/v1/doctor: it is older than this command line. On its VM: on-demand-broker doctor --config FILE"
        ),
        Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
            bail!("Another examination is in progress. Try again in half a minute")
        }
        Err(error) => return Err(error.into()),
    };
    output.print_text(&report, &text(&report, output))?;
    Ok(if report["well"] == Value::Bool(true) {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    })
}

fn text(report: &Value, output: &Output) -> String {
    let member = |value: &Value, name: &str| {
        let text = value[name].as_str().unwrap_or_default();
        harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut text = String::new();
    for level in ["errors", "warnings"] {
        for finding in list(&report["configuration"][level]) {
            let _ = writeln!(
                text,
                "{} configuration, line {}: `{}` {}\n  remedy: {}",
                mark(level, output),
                finding["line"],
                member(&finding, "key"),
                member(&finding, "wrong"),
                member(&finding, "right")
            );
        }
    }
    let probes = list(&report["probes"]);
    let width = |name: &str| {
        let cells = probes
            .iter()
            .map(|probe| member(probe, name).chars().count());
        cells.max().unwrap_or_default()
    };
    let (upstreams, names) = (width("upstream"), width("probe"));
    for probe in &probes {
        let _ = writeln!(
            text,
            "{} {:upstreams$}  {:names$}  {}",
            mark(&member(probe, "result"), output),
            member(probe, "upstream"),
            member(probe, "probe"),
            member(probe, "text")
        );
    }
    for finding in list(&report["findings"]) {
        let _ = write!(
            text,
            "\n{} {} {}, {}\n  tried:  {}\n  came:   {}\n  remedy: {}\n",
            mark(&member(&finding, "severity"), output),
            member(&finding, "code"),
            member(&finding, "upstream"),
            member(&finding, "probe"),
            member(&finding, "tried"),
            member(&finding, "came"),
            member(&finding, "remedy")
        );
    }
    text
}

/// The sign of a result, as the broker names it.
fn mark(result: &str, output: &Output) -> String {
    match result {
        "fine" => output.toned(Tone::Good, "✓"),
        "error" | "errors" => output.toned(Tone::Bad, "✗"),
        "warning" | "warnings" => output.toned(Tone::Busy, "⚠"),
        _ => "–".to_owned(),
    }
}
