use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use odb_adapter_sdk::protocol::{ManifestText, Plan, RequestParameters, ServiceDeployment};
use odb_config::Timings;
use odb_redaction::Chain;
use tempfile::TempDir;

use super::*;

/// A little program that plays an adapter.
struct Script {
    folder: TempDir,
    adapter: ServiceAdapter,
}

impl Script {
    fn new(body: &str) -> Self {
        Self::with_locations(body, 4)
    }

    fn with_arguments(body: &str) -> Self {
        Self::of(body, 4, AdapterForm::Arguments)
    }

    fn with_locations(body: &str, adapter_processes: usize) -> Self {
        Self::of(body, adapter_processes, AdapterForm::Stdin)
    }

    fn with_timings(body: &str, timings: &Timings) -> Self {
        Self::made(body, timings, AdapterForm::Stdin)
    }

    fn of(body: &str, adapter_processes: usize, form: AdapterForm) -> Self {
        let timings = Timings {
            adapter_processes,
            ..Timings::default()
        };
        Self::made(body, &timings, form)
    }

    fn made(body: &str, timings: &Timings, form: AdapterForm) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adapter");
        fs::write(
            &path,
            format!("#!/bin/sh\ncd {}\n{body}\n", folder.path().display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let config = odb_config::Adapter {
            path,
            environment: vec!["LISTED".to_owned()],
            form,
            plan_schemas: false,
            concurrent_bindings: std::num::NonZeroU32::MIN,
        };
        let environment = [
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("SECRET_OF_THE_BROKER", "hunter2".into()),
            ("LISTED", "seen".into()),
        ];
        let adapter = ServiceAdapter::new(
            &config,
            timings,
            environment
                .into_iter()
                .map(|(name, value)| (name.into(), value)),
        );
        Self { folder, adapter }
    }

    async fn dashboard(&self, timeout: Duration) -> Result<Option<String>, AdapterError> {
        let request =
            GenerateDashboardUrl::new("i1", Plan::new(Vec::new()), ManifestText::from("name: x\n"));
        self.adapter
            .dashboard_url(&request, Instant::now() + timeout)
            .await
    }

    async fn manifest(&self) -> Result<String, AdapterError> {
        let deployment = ServiceDeployment::new("service-instance_1", Vec::new(), Vec::new());
        let (plan, parameters) = (Plan::new(Vec::new()), RequestParameters::default());
        let request = GenerateManifest::new(deployment, plan, parameters);
        let answer = self
            .adapter
            .generate_manifest(&request, Instant::now() + LONG)
            .await?;
        Ok(answer.manifest.into_string())
    }

    /// Asserts that the process whose id is in this file ends.
    async fn expect_gone(&self, name: &str) {
        let pid = self.file(name);
        assert!(!pid.trim().is_empty(), "{name} has not begun");
        let is_gone = || {
            fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                .map_or(true, |stat| stat.contains(") Z "))
        };
        let end = Instant::now() + LONG;
        while !is_gone() {
            assert!(Instant::now() < end, "{name} {pid} is still there");
            tokio::task::yield_now().await;
        }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn an_answer_is_parsed_and_the_request_arrives_on_stdin() {
    let script = Script::new(
        "cat > question; echo \"$@\" > arguments; echo '{\"dashboard_url\":\"https://d\"}'",
    );
    assert_eq!(
        script.dashboard(LONG).await.unwrap().as_deref(),
        Some("https://d")
    );
    assert_eq!(script.file("arguments"), "dashboard-url\n");
    let adapter_request: serde_json::Value =
        serde_json::from_str(&script.file("question")).unwrap();
    assert_eq!(adapter_request["dashboard_url"]["instance_id"], "i1");
    assert_eq!(adapter_request["generate_manifest"]["plan"], "");
}

#[tokio::test]
async fn in_argument_form_the_request_is_on_the_command_line_and_stdin_is_empty() {
    let script = Script::with_arguments(
        "cat > stdin; printf '%s\n' \"$@\" > arguments; echo '{\"dashboard_url\":\"https://d\"}'",
    );
    let answer = script.dashboard(LONG).await.unwrap();
    assert_eq!(answer.as_deref(), Some("https://d"));
    let plan = r#"{"properties":{},"lifecycle_errands":{},"instance_groups":[]}"#;
    assert_eq!(
        script.file("arguments"),
        format!("dashboard-url\ni1\n{plan}\nname: x\n\n")
    );
    assert_eq!(script.file("stdin"), "");
}

#[tokio::test]
async fn in_argument_form_a_manifest_is_bare() {
    let script = Script::with_arguments("echo 'name: service-instance_1 # bare'");
    let manifest = script.manifest().await.unwrap();
    assert_eq!(manifest, "name: service-instance_1 # bare\n");
}

#[tokio::test]
async fn in_argument_form_nothing_and_noise_are_no_manifest() {
    for body in ["true", "echo", "printf '\\377hunter2'"] {
        let error = Script::with_arguments(body).manifest().await.unwrap_err();
        assert!(
            matches!(error, AdapterError::Answer { .. }),
            "{body}: {error}"
        );
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn an_argument_that_the_system_does_not_take_is_reported_with_the_way_out() {
    let script = Script::with_arguments("echo '{\"dashboard_url\":\"https://d\"}'");
    let manifest = ManifestText::from(format!("name: {}", "x".repeat(128 * 1024)));
    let request = GenerateDashboardUrl::new("i1", Plan::new(Vec::new()), manifest);

    let error = script
        .adapter
        .dashboard_url(&request, Instant::now() + LONG)
        .await
        .unwrap_err();

    let reported = error.to_string();
    assert!(
        matches!(error, AdapterError::ArgumentsTooLong { longest, .. } if longest == 128 * 1024 + 6),
        "{error:?}"
    );
    assert!(reported.contains("`broker.use_stdin`"), "{reported}");
}

#[tokio::test]
async fn an_adapter_without_a_dashboard_is_fine() {
    assert_eq!(Script::new("exit 10").dashboard(LONG).await.unwrap(), None);
}

#[tokio::test]
async fn the_brokers_environment_stays_with_the_broker() {
    let script = Script::new("env > seen; echo '{\"dashboard_url\":\"\"}'");
    script.dashboard(LONG).await.unwrap();
    let seen = script.file("seen");
    assert!(seen.contains("LISTED=seen"), "{seen}");
    assert!(!seen.contains("hunter2"), "{seen}");
}

#[tokio::test]
async fn a_hanging_adapter_is_killed_with_all_that_it_started() {
    let script = Script::new("sleep 1000 & echo $! > grandchild; echo $$ > leader; wait");
    assert!(matches!(
        script.dashboard(SHORT).await,
        Err(AdapterError::Hung { .. })
    ));
    for name in ["leader", "grandchild"] {
        script.expect_gone(name).await;
    }
}

#[tokio::test]
async fn a_daemon_with_a_session_of_its_own_goes_with_its_call() {
    for body in [
        "setsid -f sh -c 'echo $$ > daemon; exec sleep 1000'",
        // With its own process group, and ignoring SIGTERM.
        "setsid -f sh -c 'trap \"\" TERM HUP; setsid -f sh -c \"echo \\$\\$ > daemon; sleep 1000; sleep 1000\"; sleep 1000'",
    ] {
        let script = Script::new(&format!(
            "{body}\nuntil [ -s daemon ]; do sleep 0.01; done\necho '{{\"dashboard_url\":\"x\"}}'"
        ));
        assert_eq!(script.dashboard(LONG).await.unwrap().as_deref(), Some("x"));
        script.expect_gone("daemon").await;
    }
}

#[tokio::test]
async fn the_daemon_of_an_abandoned_call_is_ended_too() {
    let script = Script::new("setsid -f sh -c 'echo $$ > daemon; exec sleep 1000'; sleep 1000");
    let begun = async {
        while script.file("daemon").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = script.dashboard(LONG) => panic!("{ended:?}"),
        () = begun => {}
    }
    script.expect_gone("daemon").await;
}

#[tokio::test]
async fn a_call_that_ends_leaves_the_daemons_of_a_running_one_alone() {
    let script = Script::with_locations(
        "if mkdir first 2>/dev/null
         then setsid -f sh -c 'echo $$ > daemon; exec sleep 1000'
              until [ -e second ]; do sleep 0.01; done
              kill -0 $(cat daemon) && echo '{\"dashboard_url\":\"alive\"}'
         else until [ -s daemon ]; do sleep 0.01; done
              echo '{\"dashboard_url\":\"second\"}'
         fi",
        2,
    );
    let first = script.dashboard(LONG);
    let second = async {
        while script.file("daemon").is_empty() {
            tokio::task::yield_now().await;
        }
        let answer = script.dashboard(LONG).await;
        fs::write(script.folder.path().join("second"), "").unwrap();
        answer
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(second.unwrap().as_deref(), Some("second"));
    assert_eq!(first.unwrap().as_deref(), Some("alive"));
    script.expect_gone("daemon").await;
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_does_not_hold_us_up() {
    let script = Script::new("setsid -f sleep 1000; echo '{\"dashboard_url\":\"x\"}'");
    let ended = tokio::time::timeout(LONG, script.dashboard(Duration::from_mins(10))).await;
    assert_eq!(ended.unwrap().unwrap().as_deref(), Some("x"));
}

#[tokio::test]
async fn errors_without_end_are_stopped() {
    let script = Script::new("yes >&2");
    let error = script.dashboard(LONG).await.unwrap_err();
    assert!(
        matches!(
            error,
            AdapterError::TooMuchOutput {
                stream: Stream::Stderr,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_that_comes_before_the_input_is_read_is_taken() {
    let script = Script::new(
        "head -c 1000000 /dev/zero | tr '\\0' ' '; echo '{\"dashboard_url\":\"x\"}'; cat >/dev/null",
    );
    let manifest = ManifestText::from("x".repeat(1024 * 1024));
    let request = GenerateDashboardUrl::new("i1", Plan::new(Vec::new()), manifest);
    let answer = script
        .adapter
        .dashboard_url(&request, Instant::now() + LONG)
        .await;
    assert_eq!(answer.unwrap().as_deref(), Some("x"));
}

#[tokio::test]
async fn the_operator_decides_how_much_and_how_long() {
    let timings = Timings {
        adapter_call: SHORT,
        adapter_answer: 10,
        ..Timings::default()
    };
    let talkative = Script::with_timings("echo 01234567890123456789", &timings);
    assert!(matches!(
        talkative.dashboard(LONG).await,
        Err(AdapterError::TooMuchOutput { limit: 10, .. })
    ));
    let slow = Script::with_timings("sleep 1000", &timings);
    assert!(matches!(
        slow.dashboard(LONG).await,
        Err(AdapterError::Hung { .. })
    ));
}

#[tokio::test]
async fn a_leader_that_leaves_a_child_with_its_output_does_not_hold_us_up() {
    let script = Script::new("sleep 1000 & echo '{\"dashboard_url\":\"x\"}'");
    let ended = tokio::time::timeout(LONG, script.dashboard(Duration::from_mins(10))).await;
    assert_eq!(ended.unwrap().unwrap().as_deref(), Some("x"));
}

#[tokio::test]
async fn an_adapter_that_prints_without_end_is_stopped() {
    let script = Script::new("yes");
    assert!(matches!(
        script.dashboard(LONG).await,
        Err(AdapterError::TooMuchOutput { .. })
    ));
}

#[tokio::test]
async fn stderr_without_end_does_not_fill_a_pipe() {
    let script = Script::new("head -c 5000000 /dev/zero >&2; echo '{\"dashboard_url\":\"x\"}'");
    assert_eq!(script.dashboard(LONG).await.unwrap().as_deref(), Some("x"));
}

#[tokio::test]
async fn an_adapter_that_does_not_read_its_input_is_fine() {
    let script = Script::new("exec 0<&-; echo '{\"dashboard_url\":\"x\"}'");
    assert_eq!(script.dashboard(LONG).await.unwrap().as_deref(), Some("x"));
}

#[tokio::test]
async fn garbage_is_refused_without_quoting_it() {
    for body in [
        "echo hunter2",
        "echo '{\"dashboard_url\":[\"hunter2\"]}'",
        "true",
        "echo '{\"dashboard_url\":\"a\"} hunter2'",
    ] {
        let error = Script::new(body).dashboard(LONG).await.unwrap_err();
        assert!(
            matches!(error, AdapterError::Answer { .. }),
            "{body}: {error}"
        );
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn what_a_failing_adapter_prints_is_for_the_user() {
    let error = Script::new("echo 'no such parameter: x'; exit 1")
        .dashboard(LONG)
        .await
        .unwrap_err();
    let AdapterError::Failed { code, for_user, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(code, ExitCode::Failure);
    assert_eq!(for_user.as_deref(), Some("no such parameter: x"));
}

#[tokio::test]
async fn the_operator_reads_how_a_failing_adapter_ended_and_its_last_words() {
    for (stderr, words) in [
        ("one\ntwo\n\n", Some("two")),
        ("one\ntwo", Some("two")),
        ("password: hunter2\n", Some("password: <redacted>")),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n",
            Some("<redacted>"),
        ),
        (" \n", None),
    ] {
        let error = Script::new(&format!("printf '%b' '{stderr}' >&2; exit 1"))
            .dashboard(LONG)
            .await
            .unwrap_err();

        let ended = "the service adapter ended `dashboard-url` with exit status: 1";
        assert_eq!(error.to_string(), ended);
        let reported = words.map_or(ended.to_owned(), |words| {
            format!("{ended}: its last words on stderr were `{words}`")
        });
        assert_eq!(Chain(&error).to_string(), reported);
    }
}

#[tokio::test]
async fn a_crash_is_a_failure_like_any_other() {
    let error = Script::new("kill -SEGV $$")
        .dashboard(LONG)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            AdapterError::Failed {
                code: ExitCode::Failure,
                for_user: None,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_hanging_call_takes_one_location_and_no_more() {
    let script = Script::with_locations(
        "test -e hang && rm hang && sleep 1000; echo '{\"dashboard_url\":\"x\"}'",
        2,
    );
    fs::write(script.folder.path().join("hang"), "").unwrap();
    let hanging = script.dashboard(LONG);
    let answered = async {
        // The first adapter to run removes the file and hangs.
        while script.folder.path().join("hang").exists() {
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            assert_eq!(script.dashboard(LONG).await.unwrap().as_deref(), Some("x"));
        }
    };
    tokio::select! {
        ended = hanging => panic!("the hanging call ended first: {ended:?}"),
        () = answered => {}
    }
}

#[tokio::test]
async fn waiting_for_a_location_ends_with_the_requests_time() {
    let script = Script::with_locations("echo > started; sleep 1000", 1);
    let first = script.dashboard(LONG);
    let second = async {
        while !script.folder.path().join("started").exists() {
            tokio::task::yield_now().await;
        }
        script.dashboard(SHORT).await
    };
    tokio::select! {
        ended = first => panic!("{ended:?}"),
        ended = second => assert!(matches!(ended, Err(AdapterError::NoLocation { .. })), "{ended:?}"),
    }
}
