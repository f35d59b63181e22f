//! Reading from the Director, with answers as they were recorded.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

use odb_clients::{
    FailureKind,
    director::{
        Authentication, Cancellation, Config, ConfigName, ConfigType, Deployment, DeploymentName,
        Event, Expected, PutConfigError, StepState, TaskFilter, TaskId, TaskState,
    },
};
use secrecy::ExposeSecret;

use crate::foundation::{Reply, call, director, everything, uaa, uaa_director};

fn name() -> DeploymentName {
    "service-instance_b2".parse().unwrap()
}

fn task() -> TaskId {
    TaskId::new(8)
}

#[tokio::test]
async fn the_director_reports_who_it_is() {
    let (_server, director) = director(|_| Reply::ok("")).await;

    let info = director.info(&call()).await.unwrap();

    assert_eq!(info.name, "TestDirector");
    assert_eq!(info.version, "277.3.0 (3604d808)");
    assert_eq!(info.user, None);
    assert_eq!(info.authentication, Authentication::Basic);
    assert!(info.config_server && !info.local_dns);
}

#[tokio::test]
async fn a_deployment_is_absent_new_or_there() {
    let (server, director) = director(|request| match request.path() {
        "/deployments/absent" => Reply::status(
            404,
            r#"{"code":70000,"description":"Deployment 'absent' doesn't exist"}"#,
        ),
        "/deployments/new" => Reply::ok(r#"{"manifest":null}"#),
        _ => Reply::ok(r#"{"manifest":"name: there\npassword: s3cret\n"}"#),
    })
    .await;
    let ask = async |name: &str| {
        director
            .deployment(&call(), &name.parse().unwrap())
            .await
            .unwrap()
    };

    assert!(matches!(ask("absent").await, Deployment::Absent));
    assert!(matches!(ask("new").await, Deployment::NeverDeployed));
    let there = ask("there").await;
    assert!(!format!("{there:?}").contains("s3cret"));
    let Deployment::Deployed(manifest) = there else {
        panic!("{there:?}")
    };
    assert_eq!(manifest.expose_secret(), "name: there\npassword: s3cret\n");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_name_that_another_team_has_is_taken() {
    let uaa = uaa(43199).await;
    let body = r#"{"code":600000,"description":"Require one of the scopes: bosh.admin, bosh.u.admin, bosh.read"}"#;
    let (_server, director) = uaa_director(&uaa, move |_| Reply::status(401, body)).await;

    let found = director.deployment(&call(), &name()).await.unwrap();

    assert!(matches!(found, Deployment::ForeignTeam));
}

#[tokio::test]
async fn a_404_without_the_directors_code_does_not_mean_absent() {
    for body in [
        "Endpoint '/deployments/x' not found.",
        "<html>nginx</html>",
        r#"{"code":10000,"description":"x"}"#,
    ] {
        let (_server, director) = director(move |_| Reply::status(404, body)).await;

        let error = director.deployment(&call(), &name()).await.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::Refused { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_of_another_shape_is_an_error_that_does_not_repeat_it() {
    for body in [
        "{}",
        r#"{"manifest":["s3cret"]}"#,
        r#"[{"manifest":"s3cret"}]"#,
        "s3cret",
        "",
    ] {
        let (server, director) = director(move |_| Reply::ok(body)).await;

        let error = director.deployment(&call(), &name()).await.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::NotUnderstood { .. }),
            "{body}: {error:?}"
        );
        assert!(!everything(&error).contains("s3cret"));
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_of_a_read_is_not_followed() {
    let (server, director) =
        director(|_| Reply::status(302, "").with("Location", "/elsewhere")).await;

    director.deployment(&call(), &name()).await.unwrap_err();

    assert_eq!(server.lines(), ["GET /deployments/service-instance_b2"]);
}

#[tokio::test]
async fn the_list_of_deployments_asks_for_names_only() {
    let (server, director) = director(|_| {
        Reply::ok(r#"[{"name":"cf (blue)","teams":["a"]},{"name":"..","teams":[]},{"name":"service-instance_a1","teams":[]}]"#)
    })
    .await;

    let found = director.deployments(&call()).await.unwrap();

    let names: Vec<_> = found.iter().map(DeploymentName::as_str).collect();
    assert_eq!(names, ["cf (blue)", "service-instance_a1"]);
    assert_eq!(
        server.lines(),
        [
            "GET /deployments?exclude_configs=true&exclude_releases=true&exclude_stemcells=true&exclude_lock=true"
        ]
    );
}

#[tokio::test]
async fn a_task_is_read_with_its_state_and_context() {
    let body = r#"{"id":8,"state":"processing","description":"create deployment","timestamp":null,"started_at":1795227013,"result":null,"user":"broker","deployment":"service-instance_b2","context_id":"8c3f7a2e-create-b2"}"#;
    let (_server, director) = director(move |_| Reply::ok(body)).await;

    let found = director.task(&call(), task()).await.unwrap().unwrap();

    assert_eq!(found.id, task());
    assert_eq!(found.state, TaskState::Processing);
    assert!(!found.state.is_finished());
    assert_eq!(
        found.started_at,
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_227_013))
    );
    assert_eq!(found.deployment, Some(name()));
    assert_eq!(found.context.unwrap().as_str(), "8c3f7a2e-create-b2");
}

#[tokio::test]
async fn a_task_that_the_director_has_dropped_is_none() {
    let (_server, director) =
        director(|_| Reply::status(404, r#"{"code":10000,"description":"Task 8 not found"}"#))
            .await;

    assert_eq!(director.task(&call(), task()).await.unwrap(), None);
}

#[tokio::test]
async fn tasks_are_asked_for_in_full_and_sorted_by_id() {
    let body = r#"[{"id":9,"state":"queued","description":"x","timestamp":null,"started_at":null,"result":null,"user":"b","deployment":null,"context_id":""},{"id":10,"state":"done","description":"x","timestamp":1,"started_at":1,"result":"r","user":"b","deployment":"d","context_id":"c"},{"id":7,"state":"odd","description":"x","timestamp":1,"started_at":1,"result":null,"user":"b","deployment":"d","context_id":"c"}]"#;
    let (server, director) = director(move |_| Reply::ok(body)).await;
    let filter = TaskFilter {
        deployment: Some(name()),
        states: TaskState::unfinished(),
        context: Some("ctx-1".parse().unwrap()),
        limit: Some(5),
    };

    let found = director.tasks(&call(), &filter).await.unwrap();

    let ids: Vec<_> = found.iter().map(|task| task.id.number()).collect();
    assert_eq!(ids, [7, 9, 10]);
    assert_eq!(found[0].state, TaskState::Unknown("odd".to_owned()));
    assert_eq!((&found[1].context, &found[1].deployment), (&None, &None));
    assert_eq!(
        server.lines(),
        [
            "GET /tasks?verbose=2&deployment=service-instance_b2&state=queued%2Cprocessing%2Ccancelling&context_id=ctx-1&limit=5"
        ]
    );
}

#[tokio::test]
async fn a_task_is_cancelled_at_the_singular_path_or_it_was_too_late() {
    let calls = AtomicUsize::new(0);
    let (server, director) = director(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::status(204, ""),
        _ => Reply::status(400, "Cannot cancel task 8: invalid state (cancelled)"),
    })
    .await;

    assert_eq!(
        director.cancel(&call(), task()).await.unwrap(),
        Cancellation::Requested
    );
    assert_eq!(
        director.cancel(&call(), task()).await.unwrap(),
        Cancellation::TooLate
    );
    assert_eq!(server.lines(), ["DELETE /task/8", "DELETE /task/8"]);
}

const LINES: &str = concat!(
    r#"{"time":1,"stage":"Updating instance","tags":["srv"],"total":1,"task":"srv/d9 (0)","index":1,"state":"in_progress","progress":10,"data":{"status":"executing drain"}}"#,
    "\n",
    r#"{"time":2,"error":{"code":450002,"message":"Timed out"}}"#,
    "\n",
);

#[tokio::test]
async fn events_are_tailed_from_the_byte_that_was_reached() {
    let (server, director) = director(|request| {
        let from: usize = request
            .header("range")
            .trim_start_matches("bytes=")
            .trim_end_matches('-')
            .parse()
            .unwrap();
        // The last byte, a line's end, is still to come.
        match LINES[..LINES.len() - 1].get(from..) {
            None | Some("") => Reply::status(416, "Byte range unsatisfiable"),
            Some(rest) => Reply::status(206, rest),
        }
    })
    .await;

    let first = director.events(&call(), task(), 0).await.unwrap();
    let again = director.events(&call(), task(), first.next).await.unwrap();
    let beyond = director.events(&call(), task(), 9999).await.unwrap();

    let [Event::Step(step)] = &first.events[..] else {
        panic!("{first:?}")
    };
    assert_eq!(step.state, StepState::InProgress);
    assert_eq!(step.status.as_deref(), Some("executing drain"));
    assert_eq!((again.events.len(), again.next), (0, first.next));
    assert_eq!((beyond.events.len(), beyond.next), (0, 9999));
    assert_eq!(server.lines()[0], "GET /tasks/8/output?type=event");
}

#[tokio::test]
async fn events_are_the_same_when_the_wish_for_a_part_is_ignored_on_the_way() {
    let (_server, director) = director(|_| Reply::ok(LINES)).await;
    let second = LINES.find('\n').unwrap() as u64 + 1;

    let all = director.events(&call(), task(), 0).await.unwrap();
    let rest = director.events(&call(), task(), second).await.unwrap();
    let none = director
        .events(&call(), task(), LINES.len() as u64)
        .await
        .unwrap();

    assert_eq!(all.events.len(), 2);
    assert!(matches!(&rest.events[..], [Event::Failure(failure)] if failure.code == 450_002));
    assert_eq!(
        (rest.next, none.next),
        (LINES.len() as u64, LINES.len() as u64)
    );
    assert!(none.events.is_empty());
}

#[tokio::test]
async fn an_errands_results_are_read_instance_by_instance() {
    let line = |id: &str, code: i32| {
        format!(
            r#"{{"instance":{{"group":"srv","id":"{id}"}},"errand_name":"bad-smoke","exit_code":{code},"stdout":"s3cret\n","stderr":"broken\n","logs":{{"blobstore_id":"b","sha1":"s"}}}}"#
        )
    };
    let body = format!("{}\n{}\n", line("a", 0), line("b", 7));
    let (server, director) = director(move |_| Reply::ok(body.clone())).await;

    let results = director.errand_results(&call(), task()).await.unwrap();

    let reported: Vec<_> = results
        .iter()
        .map(|result| (result.instance.as_str(), result.exit_code))
        .collect();
    assert_eq!(reported, [("a", 0), ("b", 7)]);
    assert!(results[0].succeeded() && !results[1].succeeded());
    assert_eq!(results[1].stderr, "broken\n");
    assert!(!format!("{results:?}").contains("s3cret"));
    assert_eq!(server.lines(), ["GET /tasks/8/output?type=result"]);
}

#[tokio::test]
async fn an_errand_with_nothing_to_do_has_no_results_and_garbage_is_not_success() {
    let (_server, director) = director(|request| match request.path() {
        "/tasks/8/output" => Reply::ok(""),
        _ => Reply::ok("no JSON\n"),
    })
    .await;

    assert!(
        director
            .errand_results(&call(), task())
            .await
            .unwrap()
            .is_empty()
    );
    let error = director
        .errand_results(&call(), TaskId::new(9))
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind, FailureKind::NotUnderstood { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_addresses_of_vms_are_reported_by_group_in_the_order_of_their_indexes() {
    let body = r#"[{"agent_id":"a","cid":"1","job":"srv","index":1,"id":"x","az":"z1","ips":["10.0.0.2"],"active":true},{"agent_id":"b","cid":"2","job":"srv","index":0,"id":"y","az":"z1","ips":["10.0.0.1","10.1.0.1"],"active":true},{"agent_id":"c","cid":"3","job":"srv","index":0,"id":"y","az":"z1","ips":["10.0.0.9"],"active":false},{"agent_id":"d","cid":"4","job":"other","index":0,"id":"z","az":null,"ips":[],"active":true},{"agent_id":"e","cid":"5","job":null,"index":null,"id":null,"az":null,"ips":null,"active":true}]"#;
    let (server, director) = director(move |_| Reply::ok(body)).await;

    let groups = director.vms(&call(), &name()).await.unwrap();

    assert_eq!(groups["srv"], ["10.0.0.1", "10.1.0.1", "10.0.0.2"]);
    assert!(groups["other"].is_empty());
    assert_eq!(groups.len(), 2);
    assert_eq!(server.lines(), ["GET /deployments/service-instance_b2/vms"]);
}

#[tokio::test]
async fn a_director_whose_list_has_no_addresses_has_its_agents_asked() {
    let looks = AtomicUsize::new(0);
    let (server, director) = director(move |request| match request.line().trim_start_matches("GET ") {
        "/deployments/service-instance_b2/vms" => Reply::ok(
            r#"[{"agent_id":"a","cid":"1","job":"srv","index":0,"id":"x"},{"agent_id":"b","cid":"2","job":"srv","index":1,"id":"y"}]"#,
        ),
        "/deployments/service-instance_b2/vms?format=full" => {
            Reply::status(302, "").with("Location", "https://director:25555/tasks/7")
        }
        "/tasks/7" if looks.fetch_add(1, Ordering::Relaxed) == 0 => {
            Reply::ok(r#"{"id":7,"state":"processing","description":"retrieve vm-stats"}"#)
        }
        "/tasks/7" => Reply::ok(r#"{"id":7,"state":"done","description":"retrieve vm-stats"}"#),
        _ => Reply::ok(
            "{\"job_name\":\"srv\",\"index\":1,\"ips\":[\"10.0.0.2\"]}\n{\"job_name\":\"srv\",\"index\":0,\"ips\":[\"10.0.0.1\"]}\n",
        ),
    })
    .await;

    let groups = director.vms(&call(), &name()).await.unwrap();

    assert_eq!(groups["srv"], ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(
        server.lines(),
        [
            "GET /deployments/service-instance_b2/vms",
            "GET /deployments/service-instance_b2/vms?format=full",
            "GET /tasks/7",
            "GET /tasks/7",
            "GET /tasks/7/output?type=result",
        ]
    );
}

#[tokio::test]
async fn the_states_of_instances_are_reported_by_their_agents_and_what_needs_no_vm_by_the_database()
{
    let (server, director) = director(|request| match request.line().trim_start_matches("GET ") {
        "/deployments/service-instance_b2/instances" => Reply::ok(
            r#"[{"agent_id":"a","cid":"20930","job":"srv","index":0,"id":"d9","az":"z1","ips":["10.0.0.1"],"expects_vm":true},{"agent_id":null,"cid":null,"job":"smoke-ig","index":0,"id":"f4","az":"z1","ips":[],"vm_created_at":null,"expects_vm":false}]"#,
        ),
        "/deployments/service-instance_b2/instances?format=full" => {
            Reply::status(302, "").with("Location", "https://director:25555/tasks/7")
        }
        "/tasks/7" => Reply::ok(r#"{"id":7,"state":"done","description":"retrieve vm-stats"}"#),
        _ => Reply::ok(
            r#"{"vm_cid":null,"job_name":"smoke-ig","index":0,"job_state":null,"state":"started","vitals":null,"processes":[],"id":"f4"}
{"vm_cid":"20930","job_name":"srv","index":0,"job_state":"failing","state":"started","vitals":{},"processes":[{"name":"redis","state":"failing","uptime":{"secs":1}}],"id":"d9"}
"#,
        ),
    })
    .await;

    let states = director.instance_states(&call(), &name()).await.unwrap();

    let reported: Vec<_> = states
        .unwrap_or_default()
        .into_iter()
        .map(|state| {
            (
                state.group,
                state.expects_vm,
                state.reported,
                state.processes.len(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("smoke-ig".to_owned(), false, None, 0),
            ("srv".to_owned(), true, Some("failing".to_owned()), 1),
        ]
    );
    assert_eq!(
        server.lines(),
        [
            "GET /deployments/service-instance_b2/instances",
            "GET /deployments/service-instance_b2/instances?format=full",
            "GET /tasks/7",
            "GET /tasks/7/output?type=result",
        ]
    );
}

fn kind() -> ConfigType {
    "odb-operation".parse().unwrap()
}

fn config_name() -> ConfigName {
    "odb_a1".parse().unwrap()
}

fn config(id: u64, content: &str) -> String {
    format!(
        r#"{{"content":"{content}","id":"{id}","type":"odb-operation","name":"odb_a1","team":"odb","created_at":"2026-11-21 02:14:03 UTC","current":true}}"#
    )
}

#[tokio::test]
async fn the_latest_version_of_a_config_is_read_if_there_is_one() {
    let calls = AtomicUsize::new(0);
    let (server, director) = director(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::ok(format!("[{}]", config(3, "a: s3cret"))),
        _ => Reply::ok("[]"),
    })
    .await;

    let found = director
        .config_latest(&call(), &kind(), &config_name())
        .await
        .unwrap()
        .unwrap();
    let missing: Vec<Config> = director
        .configs_of_type(&call(), &kind(), Some)
        .await
        .unwrap();
    director
        .configs_named(&call(), &config_name())
        .await
        .unwrap();

    assert_eq!(
        (found.id.as_str(), found.content.as_str()),
        ("3", "a: s3cret")
    );
    assert_eq!(found.team.as_deref(), Some("odb"));
    assert!(!format!("{found:?}").contains("s3cret"));
    assert!(missing.is_empty());
    assert_eq!(
        server.lines(),
        [
            "GET /configs?type=odb-operation&name=odb_a1&latest=true",
            "GET /configs?type=odb-operation&latest=true",
            "GET /configs?name=odb_a1&latest=true",
        ]
    );
}

#[tokio::test]
async fn one_version_of_a_config_is_read_or_is_not_there() {
    let (server, director) = director(|request| match request.path() {
        "/configs/4" => Reply::ok(config(4, "a: 1")),
        "/configs/7" => Reply::status(404, r#"{"code":440012,"description":"Config 7 not found"}"#),
        _ => Reply::status(404, "who knows"),
    })
    .await;
    let version = async |id: &str| {
        let id = id.to_owned().try_into().unwrap();
        director.config_version(&call(), &id).await
    };

    assert_eq!(version("4").await.unwrap().unwrap().content, "a: 1");
    assert!(version("7").await.unwrap().is_none());
    // A proxy answers that the path is unknown.
    version("8").await.unwrap_err();
    assert_eq!(
        server.lines(),
        ["GET /configs/4", "GET /configs/7", "GET /configs/8"]
    );
}

#[tokio::test]
async fn a_config_is_written_under_the_condition_that_is_asked_for() {
    let (server, director) = director(|_| Reply::status(201, config(4, "a: 1"))).await;
    let put = async |expected: &Expected| -> Config {
        director
            .put_config(&call(), &kind(), &config_name(), "a: 1", expected)
            .await
            .unwrap()
    };

    let written = put(&Expected::Anything).await;
    put(&Expected::Nothing).await;
    put(&Expected::Latest(written.id)).await;

    let bodies: Vec<_> = server
        .seen()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(
        bodies,
        [
            r#"{"type":"odb-operation","name":"odb_a1","content":"a: 1"}"#,
            r#"{"type":"odb-operation","name":"odb_a1","content":"a: 1","expected_latest_id":"0"}"#,
            r#"{"type":"odb-operation","name":"odb_a1","content":"a: 1","expected_latest_id":"4"}"#,
        ]
    );
    assert_eq!(server.seen()[0].header("content-type"), "application/json");
}

const STALE: &str = r#"{"latest_id":"5","expected_latest_id":"4","description":"Latest Id: '5' does not match expected latest id"}"#;

#[tokio::test]
async fn a_config_written_by_another_client_is_stale() {
    let (_server, director) = director(|request| match request.method.as_str() {
        "POST" => Reply::status(412, STALE),
        _ => Reply::ok(format!("[{}]", config(5, "b: 2"))),
    })
    .await;
    let expected = Expected::Latest("4".parse().unwrap());

    let error = director
        .put_config(&call(), &kind(), &config_name(), "a: 1", &expected)
        .await
        .unwrap_err();

    assert!(
        matches!(&error, PutConfigError::Stale { latest } if latest == "5"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_config_whose_answer_was_lost_is_written_once_and_is_not_stale() {
    let posts = AtomicUsize::new(0);
    let (server, director) = director(move |request| match request.method.as_str() {
        "POST" if posts.fetch_add(1, Ordering::Relaxed) == 0 => Reply::HangUp,
        "POST" => Reply::status(412, STALE),
        _ => Reply::ok(format!("[{}]", config(5, "a: 1"))),
    })
    .await;
    let expected = Expected::Latest("4".parse().unwrap());

    let written = director
        .put_config(&call(), &kind(), &config_name(), "a: 1", &expected)
        .await
        .unwrap();

    assert_eq!(written.id.as_str(), "5");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_config_or_one_version_of_it_is_deleted_if_it_is_there() {
    let (server, director) = director(|request| match request.line().as_str() {
        "DELETE /configs/7" => {
            Reply::status(404, r#"{"code":440012,"description":"Config 7 not found"}"#)
        }
        "DELETE /configs/6" | "DELETE /configs?type=odb-operation&name=odb_a1" => {
            Reply::status(204, "")
        }
        _ => Reply::status(404, "Endpoint '/configs' not found."),
    })
    .await;
    let other = "other".parse().unwrap();

    for name in [&config_name(), &other] {
        let deleted = director.delete_config(&call(), &kind(), name).await;
        deleted.unwrap();
    }
    for version in ["6", "7"] {
        let id = version.parse().unwrap();
        director.delete_config_version(&call(), &id).await.unwrap();
    }

    assert_eq!(server.lines().len(), 4);
}
