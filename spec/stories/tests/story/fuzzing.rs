//! Schemathesis generates requests from the API document with a fixed seed, follows its links, and validates each
//! answer.
//!
//! `scripts/test` installs it and sets `ODB_SCHEMATHESIS` to its path; without it there is nothing to run.

use std::{env, path::PathBuf, process::Command, time::Duration};

use odb_stories::{Broker, Foundation, LogLine, Order, Process, new_id};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Half of it is needed on two cores.
const TIMEOUT: Duration = Duration::from_secs(150);

/// An adapter that accepts any parameters, so that generated ones pass through the complete broker.
const TAKES_ANYTHING: &str = r#"read_input
if [[ $call == generate-manifest ]]; then
  input=$(jq -c '.generate_manifest.request_parameters |= (fromjson | .parameters = {} | tojson)' <<<"$input")
fi
as_redis"#;

fn program(name: &str) -> PathBuf {
    let folder = env::var_os("ODB_SCHEMATHESIS").expect("scripts/test sets its path");
    PathBuf::from(folder).join(name)
}

#[tokio::test]
#[ignore = "needs Schemathesis, which scripts/test installs"]
async fn whatever_is_asked_no_answer_is_outside_the_document_or_an_error_of_the_broker() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script(TAKES_ANYTHING);
    let broker = foundation
        .broker()
        .with_adapter(&adapter)
        .with("/broker/enable_fetch_instance", true.into())
        .start()
        .await;

    ask_whatever_comes_to_mind(&foundation, &broker, ("osb.yaml", "hooks"), &new_id()).await;

    // Without such an answer, no request has passed the authentication.
    expect_answers(&broker, &["200", "202", "400", "404", "412", "422"]);
}

#[tokio::test]
#[ignore = "needs Schemathesis, which scripts/test installs"]
async fn whatever_an_operator_asks_no_answer_is_outside_the_document_or_an_error_of_the_broker() {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script(TAKES_ANYTHING);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    foundation.cf().register(&broker).await;
    let instance = new_id();
    let platform = broker.platform();
    platform.create(&instance).await;

    let document = ("management.yaml", "management_hooks");
    ask_whatever_comes_to_mind(&foundation, &broker, document, &instance).await;

    expect_answers(&broker, &["200", "201", "202", "400", "404"]);
}

/// Fails the test if an answer does not match the document. Hooks can replace generated ids by that of an instance.
async fn ask_whatever_comes_to_mind(
    foundation: &Foundation,
    broker: &Broker,
    (document, hooks): (&str, &str),
    instance: &str,
) {
    let order = Order::small();
    let text = |member| {
        order
            .member(member)
            .as_str()
            .expect("it is an id")
            .to_owned()
    };
    let (document, own) = (
        format!("{PROJECT}/spec/openapi/{document}"),
        format!("{PROJECT}/spec/stories/schemathesis"),
    );
    let mut command = Command::new(program("schemathesis"));
    command
        .args(["--config-file", &format!("{own}/schemathesis.toml")])
        .args(["run", &document, "--url", broker.url()])
        .env(
            "ODB_CA_CERTIFICATE",
            &foundation.description().ca_certificate,
        )
        .env("ODB_HOOKS", hooks)
        .env("PYTHONPATH", &own)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ODB_USERNAME", "broker")
        .env("ODB_PASSWORD", broker.password())
        .env("ODB_SERVICE_ID", text("service_id"))
        .env("ODB_PLAN_ID", text("plan_id"))
        .env("ODB_INSTANCE_ID", instance)
        .current_dir(foundation.folder());
    let mut process = Process::start("schemathesis", &mut command, foundation.folder());
    let status = process.exit(TIMEOUT).await;
    assert!(
        status.success(),
        "{}{}{}",
        process.output(),
        process.errors(),
        log_of_errors(broker)
    );
}

/// The broker's log of the requests that it answered with 500.
fn log_of_errors(broker: &Broker) -> String {
    let log = broker.log();
    let failed = log
        .iter()
        .filter(|line| line.text().contains("\"http.status\":500"));
    let requests: Vec<&str> = failed.filter_map(|line| line.field("request.id")).collect();
    let of_them = log
        .iter()
        .filter(|line| requests.iter().any(|request| line.mentions(request)));
    let lines: Vec<String> = of_them.map(LogLine::text).collect();
    lines.join("\n")
}

fn expect_answers(broker: &Broker, statuses: &[&str]) {
    let log = broker.log();
    for status in statuses {
        let field = format!("\"http.status\":{status}");
        assert!(
            log.iter().any(|line| line.text().contains(&field)),
            "nothing was answered with {status}"
        );
    }
}

#[tokio::test]
#[ignore = "needs openapi-spec-validator, which scripts/test installs"]
async fn the_documents_of_the_apis_are_of_openapi_3_1() {
    let folder = tempfile::tempdir().unwrap();
    for document in ["osb.yaml", "management.yaml"] {
        let mut command = Command::new(program("openapi-spec-validator"));
        let document = format!("{PROJECT}/spec/openapi/{document}");
        command.args(["--schema", "3.1", &document]);
        let mut process = Process::start("validator", &mut command, folder.path());
        let status = process.exit(TIMEOUT).await;
        assert!(status.success(), "{}{}", process.output(), process.errors());
    }
}
