//! Rules that need no adapter of their own to be broken: each by a few lines of `broken/small_errors`.

use std::collections::BTreeSet;
use std::time::Duration;

use odb_adapter_kit::check::{Check, Report};
use odb_adapter_kit::inputs::{BindingCase, BindingOutcome, Inputs};
use odb_adapter_kit::process::Program;

use crate::broken::adapter;

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

#[test]
fn an_adapter_that_cannot_order_is_found() {
    is_found("CannotOrder", &["C-01"]);
}

#[test]
fn an_order_that_needs_a_parameter_is_found() {
    is_found("NeedsAParameter", &["C-02"]);
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

#[test]
fn an_upgrade_that_fails_is_found_and_not_taken_for_one_that_changes_something() {
    is_found("UpgradeFails", &["D-04"]);
}

#[test]
fn schemas_that_fail_are_found() {
    is_found("SchemasFail", &["J-05"]);
}

#[test]
fn an_exit_code_with_another_meaning_is_found() {
    is_found("WrongExitCode", &["C-10", "U-04"]);
}

#[test]
fn two_answers_to_two_forms_are_found() {
    is_found("FormsDiffer", &["C-11"]);
}

#[test]
fn an_upgrade_that_changes_something_is_found() {
    is_found("ChangesOnUpgrade", &["D-02"]);
}

/// Because no two answers are alike, those to other forms of the request differ, too.
#[test]
fn random_keys_in_an_order_are_found() {
    is_found("RandomKeys", &["D-03", "C-05", "C-06", "C-07", "C-11"]);
}

#[test]
fn an_unused_entry_is_found() {
    is_found("SpareEntry", &["K-03"]);
}

#[test]
fn a_secret_that_is_a_number_is_found() {
    is_found("NumberAsSecret", &["K-04"]);
}

#[test]
fn a_secret_with_a_space_in_its_name_is_found() {
    is_found("SecretNameWithSpace", &["K-06"]);
}

#[test]
fn a_new_secret_under_an_old_name_is_found() {
    is_found("SameSecretName", &["K-07"]);
}

#[test]
fn a_generated_password_in_the_manifest_is_found() {
    is_found("PlainPassword", &["K-08"]);
}

#[test]
fn a_generated_password_in_the_manifest_that_bindings_have_is_found() {
    is_found("PlainCredential", &["K-08"]);
}

#[test]
fn a_location_where_a_plain_password_is_allowed_is_skipped() {
    let mut inputs = inputs();
    let location = "instance_groups[cache].jobs[cache-server].properties.replication_password";
    inputs.plain_secrets = vec![location.to_owned()];
    holds(&report_with("PlainPassword", inputs), &[]);
}

#[test]
fn a_valid_parameter_that_is_refused_is_found() {
    is_found("RefusesValid", &["U-02"]);
}

#[test]
fn a_parameter_without_effect_is_found() {
    is_found("ParameterWithoutEffect", &["U-05"]);
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
fn a_change_of_plan_that_is_refused_is_found() {
    is_found("KeepsPlan", &["U-06"]);
}

#[test]
fn a_binding_that_fails_is_found() {
    is_found("BindFails", &["B-01"]);
}

#[test]
fn a_binding_without_credentials_is_found() {
    is_found("NoCredentials", &["B-02"]);
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

#[test]
fn a_binding_that_cannot_be_deleted_is_found() {
    is_found("UnbindFails", &["B-04"]);
}

#[test]
fn a_binding_that_needs_all_sections_is_found() {
    is_found("BindNeedsAllSections", &["C-05"]);
}

#[test]
fn a_binding_that_refuses_unknown_fields_is_found() {
    is_found("BindRefusesUnknownFields", &["C-06"]);
}

#[test]
fn a_deletion_that_refuses_unknown_fields_is_found() {
    is_found("UnbindRefusesUnknownFields", &["C-06"]);
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
fn an_answer_to_a_malformed_binding_is_found() {
    is_found("BindAnswersNonsense", &["C-09"]);
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
fn a_dashboard_that_fails_is_found() {
    is_found("DashboardFails", &["B-05"]);
}

#[test]
fn a_dashboard_that_is_no_address_is_found() {
    is_found("DashboardNowhere", &["B-06"]);
}

#[test]
fn an_end_by_a_signal_is_found() {
    is_found("DashboardKilled", &["P-06"]);
}

#[test]
fn an_answer_before_the_end_of_the_request_is_found() {
    is_found("DashboardUnasked", &["P-08"]);
}

#[test]
fn a_schema_of_no_draft_is_found() {
    is_found("SchemaOfNoDraft", &["J-01"]);
}

#[test]
fn a_schema_that_is_none_is_found() {
    is_found("SchemaInvalid", &["J-02"]);
}

#[test]
fn a_schema_that_refuses_valid_parameters_is_found() {
    let report = report("SchemaTooStrict");
    holds(&report, &["J-03"]);
    let text = report.to_string();
    assert!(text.contains("the schema for updates refuses"), "{text}");
}

#[test]
fn a_schema_that_accepts_any_name_is_found() {
    is_found("SchemaOfAnything", &["J-04"]);
}

#[test]
fn a_silent_failure_is_found() {
    is_found("Silent", &["S-03"]);
}

#[test]
fn an_error_of_the_broker_that_a_user_reads_is_found() {
    is_found("ShowsUserTheProtocol", &["S-06"]);
}

#[test]
fn a_stack_trace_for_the_user_is_found() {
    is_found("TraceForUser", &["S-07"]);
}

#[test]
fn success_with_any_subcommand_is_found() {
    is_found("AnySubcommand", &["P-07"]);
}
