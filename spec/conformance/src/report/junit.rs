//! For continuous integration: a test case for each rule. A warning is a case that passed and says so in its output.

use quick_junit::{
    NonSuccessKind, Report as Document, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use super::{reason, shown_by};
use crate::{CheckResult, Report, RunState};

pub(super) fn write(report: &Report) -> Result<String, SerializeError> {
    let mut document = Document::new("odb-conformance");
    let mut suite = TestSuite::new("Open Service Broker API");
    suite.set_time(report.took);
    for result in &report.results {
        suite.add_test_case(case(result));
    }
    for left in &report.left_behind {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(left.why.clone());
        suite.add_test_case(TestCase::new(
            format!("service instance {} is deleted", left.instance),
            status,
        ));
    }
    document.add_test_suite(suite);
    let mut text = document.to_string()?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn case(result: &CheckResult) -> TestCase {
    let why = reason(&result.outcome).unwrap_or_default();
    let evidence = shown_by(&result.outcome).map(ToString::to_string);
    let status = match result.state() {
        RunState::Passed | RunState::Warning => TestCaseStatus::success(),
        RunState::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why);
            status
        }
        RunState::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(why);
            if let Some(evidence) = &evidence {
                status.set_description(evidence.clone());
            }
            status
        }
    };
    let mut case = TestCase::new(format!("{}: {}", result.rule.id, result.rule.text), status);
    case.set_classname(result.rule.level.to_string());
    case.set_time(result.took);
    if result.state() == RunState::Warning {
        case.set_system_out(format!("warning: {why}\n{}", evidence.unwrap_or_default()));
    }
    case
}
