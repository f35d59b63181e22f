use std::time::Duration;

use odb_api_types::ids::InstanceId;

use super::*;

fn instance(name: &str) -> InstanceId {
    name.to_owned().try_into().unwrap()
}

/// One of each sort, with all that can be known and with nothing.
fn report() -> Report {
    let mut report = Report::of("upgrade-all-service-instances");
    report.note("run", "5a0f6e0c");
    report.add(Row {
        plan: Some("small".to_owned()),
        organization: Some("payments".to_owned()),
        space: Some("production".to_owned()),
        task: Some(4711),
        duration: Some(Duration::from_millis(192_900)),
        ..Row::of(instance("instance-1"), Outcome::Succeeded)
    });
    report.add(Row {
        plan: Some("large".to_owned()),
        space: Some("9f1d".to_owned()),
        cause: Some("the Director reports:\n\u{1b}[31m'redis/0' is not running".to_owned()),
        task: Some(4712),
        duration: Some(Duration::from_secs(7)),
        ..Row::of(instance("instance-2"), Outcome::Failed)
    });
    report.add(Row::of(instance("instance-3"), Outcome::Busy));
    report.add(Row::of(instance("instance-4"), Outcome::Gone));
    report
}

#[test]
fn people_read_a_table_of_what_is_not_well_and_the_counts() {
    insta::assert_snapshot!(report().table(Shown::Unsuccessful), @r"
    INSTANCE    PLAN   SPACE  OUTCOME  TASK  TOOK  CAUSE
    instance-2  large  9f1d   failed   4712  7 s   the Director reports: \u{1b}[31m'redis/0' is not running
    instance-3                busy
    4 instances: 1 succeeded, 1 gone, 1 busy, 1 failed
    ");
}

#[test]
fn people_read_of_every_instance_if_they_want() {
    insta::assert_snapshot!(report().table(Shown::All), @r"
    INSTANCE    PLAN   SPACE                OUTCOME    TASK  TOOK        CAUSE
    instance-1  small  payments/production  succeeded  4711  3 min 12 s
    instance-2  large  9f1d                 failed     4712  7 s         the Director reports: \u{1b}[31m'redis/0' is not running
    instance-3                              busy
    instance-4                              gone
    4 instances: 1 succeeded, 1 gone, 1 busy, 1 failed
    ");
}

#[test]
fn a_table_without_rows_is_the_counts_alone() {
    let mut report = Report::of("delete-all-service-instances");
    assert_eq!(report.table(Shown::All), "0 instances\n");
    report.add(Row::of(instance("instance-1"), Outcome::Succeeded));
    assert_eq!(
        report.table(Shown::Unsuccessful),
        "1 instance: 1 succeeded\n"
    );
}

#[test]
fn programs_read_one_document_with_an_object_per_instance() {
    insta::assert_snapshot!(report().document(), @r#"
    {
      "errand": "upgrade-all-service-instances",
      "status": "failed",
      "run": "5a0f6e0c",
      "counts": {
        "succeeded": 1,
        "gone": 1,
        "busy": 1,
        "failed": 1
      },
      "instances": [
        {
          "service_instance_id": "instance-1",
          "plan": "small",
          "organization": "payments",
          "space": "production",
          "outcome": "succeeded",
          "task": 4711,
          "duration_in_seconds": 192
        },
        {
          "service_instance_id": "instance-2",
          "plan": "large",
          "space": "9f1d",
          "outcome": "failed",
          "cause": "the Director reports:\n\u001b[31m'redis/0' is not running",
          "task": 4712,
          "duration_in_seconds": 7
        },
        {
          "service_instance_id": "instance-3",
          "outcome": "busy"
        },
        {
          "service_instance_id": "instance-4",
          "outcome": "gone"
        }
      ]
    }
    "#);
}

#[test]
fn an_instance_has_one_row_whatever_becomes_of_it_in_the_end() {
    let mut report = report();
    report.add(Row::of(instance("instance-3"), Outcome::Succeeded));
    assert_eq!(report.rows().len(), 4);
    assert_eq!(report.count(Outcome::Succeeded), 2);
    assert_eq!(report.count(Outcome::Busy), 0);
    assert!(!report.document().contains("busy"));
}
