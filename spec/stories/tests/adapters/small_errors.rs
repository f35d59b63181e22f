//! Rules that need no adapter of their own to be broken: each by a few lines of `broken/small_errors`.

use std::collections::BTreeSet;
use std::time::Duration;

use odb_adapter_kit::check::{Check, Report};
use odb_adapter_kit::inputs::{BindingCase, BindingOutcome, Inputs};
use odb_adapter_kit::process::Program;

use crate::broken::{adapter, each_side_by_side};

fn inputs() -> Inputs {
    let mut inputs = Inputs::beside(&adapter("small_errors")).unwrap();
    inputs.deadline = Duration::from_secs(50);
    inputs
}

fn report(error: &str) -> Report {
    report_with(error, inputs())
}

fn report_with(error: &str, mut inputs: Inputs) -> Report {
    let program = Program::at(&adapter("small_errors")).unwrap();
    inputs.environment.insert("ERROR".to_owned(), error.into());
    Check::new(program, inputs).run()
}

/// Exactly these findings are reported. The duration of a call does not matter.
#[track_caller]
fn is_found(error: &str, expected: &[&str]) {
    holds(&report(error), expected);
}

#[track_caller]
fn holds(report: &Report, expected: &[&str]) {
    let findings = report.findings.iter().map(|finding| finding.id);
    let found: BTreeSet<&str> = findings.filter(|id| *id != "P-05").collect();
    assert_eq!(found, expected.iter().copied().collect(), "{report}");
}

/// An adapter with an error, and the findings of the check.
const ERRORS: &[(&str, &[&str])] = &[
    ("CannotOrder", &["C-01"]),
    ("NeedsAParameter", &["C-02"]),
    ("UpgradeFails", &["D-04"]),
    ("SchemasFail", &["J-05"]),
    ("WrongExitCode", &["C-10", "U-04"]),
    ("FormsDiffer", &["C-11"]),
    ("ChangesOnUpgrade", &["D-02"]),
    ("RandomKeys", &["D-03", "C-05", "C-06", "C-07", "C-11"]),
    ("SpareEntry", &["K-03"]),
    ("NumberAsSecret", &["K-04"]),
    ("SecretNameWithSpace", &["K-06"]),
    ("SameSecretName", &["K-07"]),
    ("PlainPassword", &["K-08"]),
    ("PlainCredential", &["K-08"]),
    ("RefusesValid", &["U-02"]),
    ("ParameterWithoutEffect", &["U-05"]),
    ("KeepsPlan", &["U-06"]),
    ("BindFails", &["B-01"]),
    ("NoCredentials", &["B-02"]),
    ("UnbindFails", &["B-04"]),
    ("BindNeedsAllSections", &["C-05"]),
    ("BindRefusesUnknownFields", &["C-06"]),
    ("UnbindRefusesUnknownFields", &["C-06"]),
    ("BindAnswersNonsense", &["C-09"]),
    ("DashboardFails", &["B-05"]),
    ("DashboardNowhere", &["B-06"]),
    ("DashboardKilled", &["P-06"]),
    ("DashboardUnasked", &["P-08"]),
    ("SchemaOfNoDraft", &["J-01"]),
    ("SchemaInvalid", &["J-02"]),
    ("SchemaOfAnything", &["J-04"]),
    ("Silent", &["S-03"]),
    ("ShowsUserTheProtocol", &["S-06"]),
    ("TraceForUser", &["S-07"]),
    ("AnySubcommand", &["P-07"]),
];

#[test]
fn each_error_is_found_and_no_other() {
    each_side_by_side(ERRORS, |(name, findings)| is_found(name, findings));
}

#[test]
fn a_failure_of_every_order_is_reported_once_with_its_stderr() {
    let report = report("AlwaysFails");
    holds(&report, &["C-02"]);
    assert_eq!(report.errors, 1, "{report}");
    let text = report.to_string();
    let title = "error C-02: an order without parameters fails: the input breaks the protocol: ValueError\n";
    assert!(text.contains(title), "{text}");
    assert!(
        text.contains("order of plans `small`, `large`: exit code 1"),
        "{text}"
    );
    assert!(text.contains("remedy: fix what stderr reports"), "{text}");
}

/// Because no two answers are alike, those to other forms of the request differ, too.
#[test]
fn a_location_where_a_plain_password_is_allowed_is_skipped() {
    let mut inputs = inputs();
    let location = "instance_groups[cache].jobs[cache-server].properties.replication_password";
    inputs.plain_secrets = vec![location.to_owned()];
    holds(&report_with("PlainPassword", inputs), &[]);
}

#[test]
fn a_value_of_another_kind_than_expected_is_reported_by_both_kinds() {
    let mut inputs = inputs();
    let expected = &mut inputs.parameters[0].expect;
    for value in expected.values_mut() {
        *value = "256".into();
    }
    let program = Program::at(&adapter("faultless")).unwrap();
    let report = Check::new(program, inputs).run();
    holds(&report, &["U-05"]);
    let text = report.to_string();
    assert!(text.contains("is a number"), "{text}");
    assert!(text.contains("expected a text"), "{text}");
}

#[test]
fn a_binding_that_should_exist_and_is_created_is_found() {
    let mut inputs = inputs();
    inputs.bindings = Some(vec![BindingCase {
        outcome: BindingOutcome::Exists,
        ..BindingCase::default()
    }]);
    let program = Program::at(&adapter("faultless")).unwrap();
    holds(&Check::new(program, inputs).run(), &["B-03"]);
}

/// Where there are none, for a broker that stores none.
#[test]
fn a_binding_that_needs_secrets_to_be_there_is_found() {
    let mut inputs = inputs();
    inputs.secure_manifests = false;
    // No secrets travel in arguments, either.
    holds(&report_with("BindNeedsSecrets", inputs), &["C-04", "C-07"]);
}

#[test]
fn credentials_on_stderr_are_found_at_every_depth_of_the_answer() {
    for error in [
        "LogsPasswordOfUri",
        "LogsPasswordOfList",
        "LogsPasswordOfShortName",
    ] {
        is_found(error, &["S-04"]);
    }
}

#[test]
fn a_schema_that_refuses_valid_parameters_is_found() {
    let report = report("SchemaTooStrict");
    holds(&report, &["J-03"]);
    let text = report.to_string();
    assert!(text.contains("the schema for updates refuses"), "{text}");
}
