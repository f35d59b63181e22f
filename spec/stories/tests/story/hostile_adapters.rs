//! The adapter does its worst: the broker's memory stays small, others are served meanwhile, and no process is left.
//! `docs/contributing/security.md` has the table.

use std::path::Path;

use odb_stories::{
    Broker, Foundation, LogLine, Order, ProcessTable, Response, eventually, new_id, peak_memory_of,
};
use serde_json::json;

use crate::TIMEOUT;

/// More than a broker needs for eight answers at the limit, and far less than what the adapters print.
const MEMORY: u64 = 400 * 1024 * 1024;

/// How many misbehave at a time.
const AT_ONCE: usize = 8;

/// A recognisable process in a session of its own: `daemon NAME`.
const DAEMON: &str = r#"daemon() { setsid -f bash -c 'trap "" TERM HUP INT; exec -a "$0" sleep 86400' "$folder/$1"; }"#;

#[tokio::test]
async fn answers_without_end_cost_no_memory_and_others_are_served() {
    let scene = Scene::of("yes '{\"manifest\": \"x\"}'").await;

    for answer in scene.order_many().await {
        expect_operators_business(&scene.broker, &answer, "printed more than 8 MiB on stdout");
    }

    scene.expect_small().await;
}

#[tokio::test]
async fn a_line_without_end_on_stderr_is_stopped_and_the_log_stays_short() {
    let scene = Scene::of("tr '\\0' x </dev/zero >&2").await;

    for answer in scene.order_many().await {
        expect_operators_business(&scene.broker, &answer, "printed more than 64 MiB on stderr");
    }

    scene.expect_small().await;
    let log: usize = scene
        .broker
        .log()
        .iter()
        .map(|line| line.text().len())
        .sum();
    assert!(log < 1024 * 1024, "the log has {log} bytes");
}

#[tokio::test]
async fn lines_without_end_on_stderr_are_stopped_and_the_log_stays_short() {
    let scene = Scene::of("yes 'it is all wrong' >&2").await;

    let answers = scene.order_many().await;

    scene.expect_small().await;
    for answer in answers {
        expect_operators_business(&scene.broker, &answer, "printed more than 64 MiB on stderr");
        let reported = scene.broker.log_of_request(&answer.request_id());
        let said = reported
            .iter()
            .filter_map(|line| line.field("adapter.stderr"));
        let said: usize = said.map(str::len).sum();
        assert!(said > 0 && said <= 256 * 1024, "{said} bytes");
    }
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_delays_no_caller_and_is_ended() {
    let script = format!("{DAEMON}\ndaemon holder\nread_input\nas_redis");
    let scene = Scene::of(&script).await;

    let answer = scene.order().await;

    answer.accepted();
    scene.expect_no_process_of_adapters().await;
}

#[tokio::test]
async fn signals_that_are_ignored_and_daemons_of_daemons_end_when_the_time_is_up() {
    let script = format!(
        "{DAEMON}\ntrap '' TERM HUP INT QUIT\n\
         for i in 1 2 3; do daemon \"daemon-$i\"; (daemon \"grandchild-$i\"; exec -a \"$folder/child-$i\" sleep 86400) & done\n\
         while :; do sleep 1; done"
    );
    let scene = Scene::with_seconds_for_a_call(&script, 2).await;

    let answer = scene.order().await;

    answer.expect_status(429);
    let reported = scene.broker.log_of_request(&answer.request_id());
    let cause = "did not answer `generate-manifest` in time";
    assert!(
        reported.iter().any(|line| line.mentions(cause)),
        "{reported:#?}"
    );
    scene.expect_no_process_of_adapters().await;
}

#[tokio::test]
async fn a_storm_of_processes_is_ended_and_others_are_served() {
    let script = format!(
        "{DAEMON}\nfor i in {{1..60}}; do daemon \"storm-$i\"; (exec -a \"$folder/child-$i\" sleep 86400) & done\n\
         echo $$ >>\"$folder/entered\"\nwait"
    );
    let scene = Scene::with_seconds_for_a_call(&script, 8).await;
    let order = scene
        .broker
        .platform()
        .provision_request(&new_id(), &Order::small());
    let hanging = tokio::spawn({
        let platform = scene.broker.platform().clone();
        async move { platform.send(order).await }
    });
    eventually("the storm is there", TIMEOUT, async || {
        let there = scene.processes_of_adapters().len();
        if there > 120 {
            Ok(())
        } else {
            Err(format!("{there} processes"))
        }
    })
    .await;

    scene.broker.platform().catalog().await.expect_status(200);
    assert!(!hanging.is_finished(), "the catalog waited for the storm");

    hanging.await.unwrap().expect_status(429);
    scene.expect_no_process_of_adapters().await;
}

/// The limit of the process, which those that it starts inherit.
fn expect_no_core_dump_of(process: u32) {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<_> = core
        .unwrap_or_default()
        .split_whitespace()
        .skip(4)
        .collect();
    assert_eq!(core, ["0", "0", "bytes"], "{limits}");
}

#[tokio::test]
async fn a_broker_that_is_killed_takes_running_adapters_along() {
    // The shell and its children; both keep running when their output is closed.
    let script = "trap '' TERM HUP INT PIPE\n\
         (exec -a \"$folder/child\" sleep 86400) &\necho $$ >>\"$folder/entered\"\nwait";
    let foundation = Foundation::bare().start().await;
    let adapters = foundation.adapters();
    let mut broker = foundation
        .broker()
        .with_adapter(&adapters.script(script))
        .start()
        .await;
    expect_no_core_dump_of(broker.id());
    let table = ProcessTable::look();
    let family = table.family_of(broker.id());
    let watchdog = family
        .iter()
        .find(|one| one.command_line.ends_with(" watchdog"));
    let watchdog = watchdog.expect("it starts with the broker").id;
    let platform = broker.platform().clone();
    let order = platform.provision_request(&new_id(), &Order::small());
    let hanging = tokio::spawn(order.send());
    let running = || processes_in(foundation.folder());
    eventually("the adapter and its child run", TIMEOUT, async || {
        let there = running();
        (adapters.at_gate() == 1 && there.len() >= 2)
            .then_some(())
            .ok_or_else(|| format!("{there:?}"))
    })
    .await;

    let child = foundation.folder().join("child").display().to_string();
    let table = ProcessTable::look();
    let started_by_adapter = table.with_argument(&child);
    let child = started_by_adapter.first().expect("it runs");
    expect_no_core_dump_of(child.id);

    broker.kill();

    assert!(hanging.await.unwrap().is_err(), "no process answers");
    eventually("no adapter is left", TIMEOUT, async || {
        let left = running();
        left.is_empty()
            .then_some(())
            .ok_or_else(|| format!("{left:?}"))
    })
    .await;
    eventually("the watchdog has ended", TIMEOUT, async || {
        let table = ProcessTable::look();
        let family = table.family_of(watchdog);
        family
            .is_empty()
            .then_some(())
            .ok_or_else(|| format!("{family:?}"))
    })
    .await;
}

#[tokio::test]
async fn a_broker_that_stops_takes_all_that_adapters_have_started_along() {
    let script = format!(
        "{DAEMON}\ndaemon left\n(exec -a \"$folder/child\" sleep 86400) &\necho $$ >>\"$folder/entered\"\nwait"
    );
    let foundation = Foundation::bare().start().await;
    let adapters = foundation.adapters();
    let mut broker = foundation
        .broker()
        .with_adapter(&adapters.script(&script))
        .with("/broker/shutdown_timeout_in_seconds", 0.into())
        .start()
        .await;
    let platform = broker.platform().clone();
    let order = platform.provision_request(&new_id(), &Order::small());
    let hanging = tokio::spawn(order.send());
    let running = || processes_in(foundation.folder());
    eventually("the adapter and its daemon run", TIMEOUT, async || {
        let there = running().len();
        if adapters.at_gate() == 1 && there >= 3 {
            Ok(())
        } else {
            Err(format!("{there}"))
        }
    })
    .await;

    assert!(broker.stop().await.success());

    hanging.await.unwrap().ok();
    eventually("nothing is left", TIMEOUT, async || none(&running())).await;
}

/// `exec > >(tee -a log)` in a start script makes the broker inherit a child.
#[tokio::test]
async fn what_the_start_script_has_started_lives_on_when_the_orphans_of_adapters_are_killed() {
    let foundation = Foundation::bare().start().await;
    let script = format!("{DAEMON}\ndaemon left\nread_input\nas_redis");
    let broker = foundation
        .broker()
        .without_quotas()
        .with_adapter(&foundation.adapters().script(&script))
        .with_start_script("exec > >(exec cat)\nexec \"$@\"")
        .start()
        .await;
    let platform = broker.platform();
    let order = platform.provision(&new_id(), &Order::small()).await;
    order.accepted();

    let left = || none(&processes_in(foundation.folder()));
    eventually("the orphan is killed", TIMEOUT, async || left()).await;
    let later = platform.catalog().await.request_id();
    eventually("the log continues", TIMEOUT, async || {
        let reported = broker.log_of_request(&later);
        (!reported.is_empty()).then_some(()).ok_or_else(String::new)
    })
    .await;
}

#[tokio::test]
async fn the_answer_of_an_adapter_that_closes_its_stdin_counts() {
    let scene = Scene::of("exec 0<&-; sleep 0.2; echo 'I do not read'; exit 1").await;
    let long = json!({ "nonsense": "x".repeat(900 * 1024) });

    let order = Order::small().with_parameters(long);
    let answer = scene.broker.platform().provision(&new_id(), &order).await;

    assert_eq!(answer.expect_status(500).description(), "I do not read");
}

#[tokio::test]
async fn an_adapter_that_writes_before_it_reads_is_read_to_the_end() {
    let script = "head -c 3000000 /dev/zero | tr '\\0' ' '; head -c 3000000 /dev/zero >&2; read_input; as_redis";
    let scene = Scene::of(script).await;
    let answer = scene.order().await;
    answer.accepted();
}

/// A broker whose adapter answers with a script for every call.
struct Scene {
    broker: Broker,
    // Last, for the broker runs on it.
    foundation: Foundation,
}

impl Scene {
    async fn of(script: &str) -> Self {
        Self::with_seconds_for_a_call(script, 50).await
    }

    async fn with_seconds_for_a_call(script: &str, seconds: u64) -> Self {
        let foundation = Foundation::bare().start().await;
        let adapter = foundation.adapters().script(script);
        let broker = foundation
            .broker()
            .without_quotas()
            .with_adapter(&adapter)
            .with(
                "/broker/timings",
                json!({ "adapter_call_in_seconds": seconds }),
            )
            .start()
            .await;
        Self { broker, foundation }
    }

    async fn order(&self) -> Response {
        self.broker
            .platform()
            .provision(&new_id(), &Order::small())
            .await
    }

    /// Several orders at a time. Before the last of them is answered, another owner is.
    async fn order_many(&self) -> Vec<Response> {
        let orders: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let platform = self.broker.platform().clone();
                tokio::spawn(async move { platform.provision(&new_id(), &Order::small()).await })
            })
            .collect();
        self.broker.platform().catalog().await.expect_status(200);
        let mut answers = Vec::new();
        for order in orders {
            answers.push(order.await.unwrap());
        }
        answers
    }

    fn processes_of_adapters(&self) -> Vec<String> {
        processes_in(self.foundation.folder())
    }

    async fn expect_small(&self) {
        let peak = peak_memory_of(self.broker.id());
        assert!(peak < MEMORY, "the broker had {peak} bytes");
        self.expect_no_process_of_adapters().await;
    }

    async fn expect_no_process_of_adapters(&self) {
        eventually("no process of an adapter is left", TIMEOUT, async || {
            none(&self.processes_of_adapters())?;
            let table = ProcessTable::look();
            let left = table.adapters_of(self.broker.id());
            if left.is_empty() {
                Ok(())
            } else {
                Err(format!("{left:#?}"))
            }
        })
        .await;
    }
}

/// Adapters and those of their processes that bear the folder's name.
fn processes_in(folder: &Path) -> Vec<String> {
    let mark = |name: &str| folder.join(name).display().to_string();
    let table = ProcessTable::look();
    let marked = [
        "adapter",
        "daemon",
        "holder",
        "child",
        "grandchild",
        "storm",
        "left",
    ];
    let found = marked
        .iter()
        .flat_map(|name| table.with_argument(&mark(name)));
    found.map(|process| process.command_line.clone()).collect()
}

fn none(processes: &[String]) -> Result<(), String> {
    if processes.is_empty() {
        Ok(())
    } else {
        Err(processes.join("\n"))
    }
}

fn expect_operators_business(broker: &Broker, answer: &Response, cause: &str) {
    let request = answer.expect_status(500).request_id();
    let reported = broker.log_of_request(&request);
    let lines: Vec<String> = reported.iter().map(LogLine::text).collect();
    assert!(
        reported.iter().any(|line| line.mentions(cause)),
        "{:#?}",
        lines.last()
    );
}
