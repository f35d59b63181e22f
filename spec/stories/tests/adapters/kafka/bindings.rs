use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::TopicCommands;
use crate::executable::Run;

#[test]
fn every_broker_and_every_zookeeper_is_reported() {
    let commands = TopicCommands::that("exit 0");
    let vms = json!({"kafka_server": ["10.0.0.1", "10.0.0.2"], "zookeeper_server": ["10.0.0.8", "10.0.0.9"]});
    let answer = bind(&commands, &vms, &json!({})).answer();
    assert_eq!(
        answer,
        json!({"credentials": {"bootstrap_servers": ["10.0.0.1:9092", "10.0.0.2:9092"]}})
    );
    assert_eq!(commands.called(), ["create 10.0.0.8,10.0.0.9 b-1"]);
}

#[test]
fn a_binding_whose_topic_exists_exists() {
    let commands = TopicCommands::that(
        "echo 'Error: kafka.common.TopicExistsException: Topic \"b-1\" already exists.' >&2; exit 1",
    );
    let run = bind(&commands, &vms(), &json!({"topic": "orders"}));
    assert_eq!(run.code, Some(49), "{run:?}");
    assert_eq!(commands.called(), ["create 10.0.0.8 b-1"]);
}

#[test]
fn a_failing_command_is_asked_to_the_operator_with_what_it_said() {
    let commands =
        TopicCommands::that("echo 'no broker is up'; echo 'java.net.ConnectException' >&2; exit 3");
    let run = bind(&commands, &vms(), &json!({}));
    assert_eq!(run.rejection(), "");
    for part in [
        "could not create topic `b-1`",
        "no broker is up",
        "java.net.ConnectException",
    ] {
        assert!(run.stderr.contains(part), "{part}: {run:?}");
    }
}

#[test]
fn where_the_topic_that_was_asked_for_cannot_be_made_nothing_remains() {
    let commands =
        TopicCommands::that(r#"[[ $topic == b-1 ]] || { echo "out of disk" >&2; exit 1; }"#);
    let run = bind(&commands, &vms(), &json!({"topic": "orders"}));
    assert_eq!(run.rejection(), "");
    assert!(
        run.stderr.contains("topic `orders`") && run.stderr.contains("out of disk"),
        "{run:?}"
    );
    let called = [
        "create 10.0.0.8 b-1",
        "create 10.0.0.8 orders",
        "delete 10.0.0.8 b-1",
    ];
    assert_eq!(commands.called(), called);
}

#[test]
fn a_topic_that_exists_already_is_named_to_the_user() {
    let commands = TopicCommands::that(
        r#"[[ $topic == b-1 ]] || { echo "kafka.common.TopicExistsException" >&2; exit 1; }"#,
    );
    let run = bind(&commands, &vms(), &json!({"topic": "orders"}));
    assert!(
        run.rejection().starts_with("topic `orders` already exists"),
        "{run:?}"
    );
    assert_eq!(commands.called().last().unwrap(), "delete 10.0.0.8 b-1");
}

#[test]
fn what_cannot_be_rolled_back_is_named_to_the_operator() {
    let commands = TopicCommands::that(
        r#"[[ $action$topic == createb-1 ]] || { echo "no $action of $topic" >&2; exit 1; }"#,
    );
    let run = bind(&commands, &vms(), &json!({"topic": "orders"}));
    assert_eq!(run.rejection(), "");
    for part in [
        "topic `b-1` could not be removed again and stays",
        "no delete of b-1",
        "no create of orders",
    ] {
        assert!(run.stderr.contains(part), "{part}: {run:?}");
    }
}

#[test]
fn a_command_that_hangs_is_killed_with_what_it_started() {
    let commands = TopicCommands::that(r#"sleep 1000 & echo $! >"$folder/sleeper"; wait"#);
    let adapter = commands
        .adapter()
        .with_environment("TOPIC_COMMAND_TIMEOUT_IN_SECONDS", "1");
    let run = adapter.ask("create-binding", &input(&vms(), &json!({"parameters": {}})));
    assert_eq!(run.rejection(), "");
    run.expect_said("had not ended after 1 s and was killed");
    // The init process reaps a killed orphan in its own time, so it may show up as a zombie.
    let status = format!("/proc/{}/stat", commands.note("sleeper").trim());
    let until = Instant::now() + Duration::from_secs(30);
    let runs = || std::fs::read_to_string(&status).is_ok_and(|seen| !seen.contains(") Z "));
    while runs() {
        assert!(
            Instant::now() < until,
            "what the command started still runs"
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_time_that_no_broker_waits_is_refused() {
    let commands = TopicCommands::that("exit 0");
    for (seconds, outcome) in [("50", 0), ("51", 1), ("0", 1), ("18446744073709551615", 1)] {
        let adapter = commands
            .adapter()
            .with_environment("TOPIC_COMMAND_TIMEOUT_IN_SECONDS", seconds);
        let run = adapter.ask("create-binding", &input(&vms(), &json!({"parameters": {}})));
        let is_named = run.stderr.contains("a whole number from 1 to 50");
        assert_eq!(
            (run.code, is_named),
            (Some(outcome), outcome == 1),
            "{seconds}: {run:?}"
        );
    }
}

#[test]
fn a_binding_with_a_named_topic_gets_it() {
    let commands = TopicCommands::that(
        r#"mkdir "$folder/topic-$topic" || { echo kafka.common.TopicExistsException >&2; exit 1; }"#,
    );
    let run = bind(&commands, &vms(), &json!({"topic": "b-1"}));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(commands.called(), ["create 10.0.0.8 b-1"]);
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let adapter =
        super::inputs::kafka().with_environment("TOPIC_CREATOR_COMMAND", "/does/not/exist");
    let run = adapter.ask("create-binding", &input(&vms(), &json!({})));
    assert_eq!(run.rejection(), "");
    run.expect_said("could not start `/does/not/exist`");
}

#[test]
fn words_of_users_are_no_options_and_no_shell_reads_them() {
    let commands = TopicCommands::that("exit 0");
    for topic in ["--delete", "a b", "$(id)", "a;b", "", ".", "test-topic"] {
        let run = bind(&commands, &vms(), &json!({ "topic": topic }));
        assert!(run.rejection().contains("`topic`"), "{topic}: {run:?}");
    }
    for parameters in [json!({"topic": 5}), json!({"topic": ["a"]})] {
        assert!(
            bind(&commands, &vms(), &parameters)
                .rejection()
                .contains("`topic`")
        );
    }
    assert_eq!(commands.called(), Vec::<String>::new());
}

#[test]
fn parameters_that_no_binding_has_are_named() {
    let commands = TopicCommands::that("exit 0");
    let run = bind(
        &commands,
        &vms(),
        &json!({"zeta": 1, "topic": "orders", "alpha": 2}),
    );
    let (alpha, zeta) = (run.rejection().find("alpha"), run.rejection().find("zeta"));
    assert!(alpha.is_some() && alpha < zeta, "{run:?}");
    assert_eq!(commands.called(), Vec::<String>::new());
}

#[test]
fn an_instance_without_addresses_cannot_be_bound() {
    let commands = TopicCommands::that("exit 0");
    for vms in [
        json!({}),
        json!({"kafka_server": ["10.0.0.1"]}),
        json!({"zookeeper_server": ["10.0.0.8"]}),
        json!({"kafka_server": [], "zookeeper_server": ["10.0.0.8"]}),
    ] {
        let run = bind(&commands, &vms, &json!({}));
        assert_eq!(run.rejection(), "", "{vms}");
        run.expect_said("has no address");
    }
    assert_eq!(commands.called(), Vec::<String>::new());
}

#[test]
fn the_topic_of_a_binding_goes_with_it() {
    let commands = TopicCommands::that("exit 0");
    let run = unbind(&commands);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(commands.called(), ["delete 10.0.0.8 b-1"]);
}

#[test]
fn a_binding_whose_topic_is_gone_is_gone() {
    let commands = TopicCommands::that(
        "echo \"Topic $topic does not exist on ZK path $zookeeper\" >&2; exit 1",
    );
    let run = unbind(&commands);
    assert_eq!(run.code, Some(41), "{run:?}");

    // Another topic is none of its business.
    let commands = TopicCommands::that("echo 'Topic b-10 does not exist on ZK path x' >&2; exit 1");
    let run = unbind(&commands);
    assert_eq!(
        (
            run.rejection(),
            run.stderr.contains("could not delete topic `b-1`")
        ),
        ("", true),
        "{run:?}"
    );
}

fn bind(commands: &TopicCommands, vms: &Value, parameters: &Value) -> Run {
    let request = json!({"app_guid": "", "parameters": parameters});
    commands
        .adapter()
        .ask("create-binding", &input(vms, &request))
}

fn unbind(commands: &TopicCommands) -> Run {
    let request = json!({"plan_id": "p", "service_id": "s"});
    commands
        .adapter()
        .ask("delete-binding", &input(&vms(), &request))
}

fn vms() -> Value {
    json!({"kafka_server": ["10.0.0.1"], "zookeeper_server": ["10.0.0.8"]})
}

fn input(vms: &Value, request: &Value) -> Value {
    json!({
        "binding_id": "b-1",
        "bosh_vms": vms.to_string(),
        "manifest": "name: service-instance_1\n",
        "request_parameters": request.to_string(),
        "secrets": "null",
        "dns_addresses": "{}",
    })
}
