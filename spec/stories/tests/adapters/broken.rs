//! Adapters that break one thing each. The check names that thing and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use odb_adapter_kit::check::{Check, Report};
use odb_adapter_kit::inputs::{Inputs, Sources};
use odb_adapter_kit::process::Program;

/// The fixture of that name.
pub(crate) fn adapter(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters/broken");
    folder.join(name)
}

fn report(name: &str, deadline: Duration) -> Report {
    let path = adapter(name);
    let sources = Sources {
        deadline: Some(deadline),
        ..Sources::default()
    };
    let inputs = Inputs::of(&path, &sources).unwrap();
    Check::new(Program::at(&path).unwrap(), inputs).run()
}

#[track_caller]
fn is_found(name: &str, errors: &[&str]) {
    let report = report(name, Duration::from_secs(50));
    assert_eq!(report.error_ids(), errors, "{report}");
}

#[test]
fn an_adapter_without_an_error_passes() {
    let report = report("faultless", Duration::from_secs(50));
    let ids: Vec<_> = report.findings.iter().map(|finding| finding.id).collect();
    // On a busy machine any interpreter may take its time.
    assert!(ids.iter().all(|id| *id == "P-05"), "{report}");
    assert!(report.is_clean());
}

#[test]
fn a_random_value_each_time_is_found() {
    is_found("random_value", &["D-01"]);
}

#[test]
fn a_forgotten_parameter_is_found() {
    is_found("forgets_parameter", &["U-01"]);
}

#[test]
fn a_uaa_client_that_is_not_kept_is_found() {
    is_found("loses_uaa_client", &["D-01"]);
}

#[test]
fn log_lines_on_stdout_are_found() {
    is_found("logs_on_stdout", &["S-01"]);
}

#[test]
fn secrets_on_stderr_are_found() {
    is_found("secret_on_stderr", &["S-04"]);
}

#[test]
fn a_secret_in_the_text_for_the_user_is_found() {
    is_found("secret_for_user", &["S-05"]);
}

#[test]
fn a_secret_in_the_manifest_is_found() {
    is_found("secret_in_manifest", &["K-05"]);
}

#[test]
fn a_secret_that_an_upgrade_changes_is_found() {
    is_found("changes_secret_on_upgrade", &["K-01"]);
}

#[test]
fn a_placeholder_without_its_value_is_found() {
    is_found("placeholder_without_entry", &["K-02"]);
}

#[test]
fn a_missing_errand_is_found() {
    is_found("ignores_errand", &["M-06"]);
}

#[test]
fn a_wrong_name_is_found() {
    is_found("wrong_name", &["M-02"]);
}

#[test]
fn a_version_that_is_not_exact_is_found() {
    is_found("latest_version", &["M-03"]);
}

#[test]
fn a_missing_update_block_is_found() {
    is_found("no_update_block", &["M-07"]);
}

#[test]
fn an_error_that_ends_with_success_is_found() {
    is_found("success_with_error", &["S-02"]);
}

#[test]
fn a_crash_over_a_value_of_the_wrong_type_is_found() {
    is_found("crashes_on_wrong_types", &["P-06"]);
}

#[test]
fn parameters_that_are_passed_over_are_found() {
    is_found("accepts_anything", &["U-03"]);
}

#[test]
fn a_rejection_that_the_user_does_not_learn_of_is_found() {
    is_found("refuses_silently", &["U-04"]);
}

#[test]
fn an_adapter_that_ignores_stdin_is_found() {
    is_found("arguments_only", &["C-03"]);
}

#[test]
fn an_adapter_that_ignores_its_arguments_is_found() {
    is_found("stdin_only", &["C-04"]);
}

#[test]
fn an_adapter_that_needs_all_sections_is_found() {
    is_found("needs_all_sections", &["C-05"]);
}

#[test]
fn an_adapter_that_refuses_unknown_fields_is_found() {
    is_found("refuses_unknown_fields", &["C-06"]);
}

#[test]
fn an_adapter_that_cannot_unbind_is_found() {
    is_found("cannot_unbind", &["C-08"]);
}

#[test]
fn an_answer_to_malformed_input_is_found() {
    is_found("answers_nonsense", &["C-09"]);
}

#[test]
fn a_schema_that_disagrees_with_the_adapter_is_found() {
    is_found("schema_disagrees", &["J-04"]);
}

#[test]
fn a_process_that_is_left_behind_is_found() {
    is_found("leaves_process_behind", &["P-03"]);
}

#[test]
fn a_flood_on_stdout_is_found() {
    is_found("floods_stdout", &["P-04"]);
}

#[test]
fn an_adapter_that_hangs_is_found() {
    let report = report("hangs", Duration::from_secs(5));
    assert_eq!(report.error_ids(), ["P-02"], "{report}");
}

/// Secrets that the fixtures know of, or make up, are in no report.
#[test]
fn reports_show_no_secrets() {
    for name in ["secret_on_stderr", "secret_for_user", "secret_in_manifest"] {
        let report = report(name, Duration::from_secs(50));
        let text = format!("{report}{}", serde_json::to_string(&report).unwrap());
        assert!(!text.contains("chosen-at-order"), "{text}");
        assert!(!text.contains("chosen-at-update"), "{text}");
    }
}
