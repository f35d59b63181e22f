//! Adapters that break one thing each. The check names that thing and nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use odb_adapter_kit::check::{Check, Report};
use odb_adapter_kit::inputs::{Inputs, Sources};
use odb_adapter_kit::process::Program;

/// Runs a check for each of many adapters, a few at once: each takes dozens of processes, which mostly wait.
pub(crate) fn each_side_by_side<T: Copy + Sync>(cases: &[T], check: impl Fn(T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(*case);
                }
            });
        }
    });
}

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

/// An adapter with an error, and the findings of the check.
const ERRORS: &[(&str, &[&str])] = &[
    ("random_value", &["D-01"]),
    ("forgets_parameter", &["U-01"]),
    ("loses_uaa_client", &["D-01"]),
    ("logs_on_stdout", &["S-01"]),
    ("secret_on_stderr", &["S-04"]),
    ("secret_for_user", &["S-05"]),
    ("secret_in_manifest", &["K-05"]),
    ("changes_secret_on_upgrade", &["K-01"]),
    ("placeholder_without_entry", &["K-02"]),
    ("ignores_errand", &["M-06"]),
    ("wrong_name", &["M-02"]),
    ("latest_version", &["M-03"]),
    ("no_update_block", &["M-07"]),
    ("success_with_error", &["S-02"]),
    ("crashes_on_wrong_types", &["P-06"]),
    ("accepts_anything", &["U-03"]),
    ("refuses_silently", &["U-04"]),
    ("arguments_only", &["C-03"]),
    ("stdin_only", &["C-04"]),
    ("needs_all_sections", &["C-05"]),
    ("refuses_unknown_fields", &["C-06"]),
    ("cannot_unbind", &["C-08"]),
    ("answers_nonsense", &["C-09"]),
    ("schema_disagrees", &["J-04"]),
    ("leaves_process_behind", &["P-03"]),
    ("floods_stdout", &["P-04"]),
];

#[test]
fn each_error_is_found_and_no_other() {
    each_side_by_side(ERRORS, |(name, findings)| is_found(name, findings));
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
