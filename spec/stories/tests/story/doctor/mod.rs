//! `on-demand-broker doctor` examines every upstream, reports the right one, and changes nothing.
//!
//! | file | broken part |
//! | --- | --- |
//! | `healthy` | none |
//! | `broken` | each upstream in turn |
//! | `rights` | rights are missing, as listed in `docs/operators/permissions.md` |
//! | `document` | the examples of `docs/operators/reference/doctor.md` |

mod broken;
mod document;
mod healthy;
mod rights;

use std::process::{Command, Output, Stdio};

use odb_stories::{Binaries, BrokerConfiguration, Foundation, client_definition};
use serde_json::Value;

/// The doctor's report.
struct Ran {
    status: i32,
    output: String,
}

impl Ran {
    fn report(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("{error}: {}", self.output))
    }

    /// The findings, without the warning that a team cannot cancel tasks, which a broker with minimal rights always
    /// gets.
    fn findings(&self) -> Vec<Value> {
        let report = self.report();
        let findings = report["findings"].as_array().expect("there is a list");
        let is_of_a_team = |finding: &&Value| {
            let came = finding["came"].as_str().unwrap_or_default();
            finding["severity"] == "warning" && came.contains("but not cancel tasks")
        };
        let others = findings.iter().filter(|finding| !is_of_a_team(finding));
        others.cloned().collect()
    }

    /// The findings, by upstream, probe and code.
    fn blamed(&self) -> Vec<(String, String, String)> {
        let findings = self.findings();
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or("").to_owned();
        let mut blamed: Vec<_> = findings
            .iter()
            .map(|finding| {
                (
                    text(finding, "upstream"),
                    text(finding, "probe"),
                    text(finding, "code"),
                )
            })
            .collect();
        blamed.sort();
        blamed
    }
}

/// A broker with every feature on that needs a right.
fn everything(foundation: &Foundation) -> BrokerConfiguration<'_> {
    foundation
        .broker()
        .with_secure_manifests()
        .with_secure_bindings()
        .with_client_definition(client_definition())
        .with("/broker/enable_plan_schemas", true.into())
}

async fn doctor(configuration: BrokerConfiguration<'_>, arguments: &[&str]) -> Ran {
    // Names are to be looked up here, whatever the environment of the test.
    doctor_in(configuration, arguments, ("NO_PROXY", "*")).await
}

async fn doctor_in(
    configuration: BrokerConfiguration<'_>,
    arguments: &[&str],
    (variable, value): (&str, &str),
) -> Ran {
    let file = configuration.write("doctor.yml").display().to_string();
    let mut command = Command::new(Binaries::find().path("on-demand-broker"));
    command
        .args(["doctor", "--config", &file])
        .args(arguments)
        .env(variable, value)
        .stdin(Stdio::null());
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    let Output {
        status,
        stdout,
        stderr,
    } = ran.expect("no test panics").expect("it can be started");
    assert_eq!(String::from_utf8_lossy(&stderr), "");
    Ran {
        status: status.code().expect("it ends by itself"),
        output: String::from_utf8(stdout).expect("it prints text"),
    }
}

/// The report as JSON.
async fn examined(configuration: BrokerConfiguration<'_>) -> Ran {
    doctor(configuration, &["--format", "json", "--timeout", "1"]).await
}
