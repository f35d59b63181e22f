//! A complete fleet is upgraded while users work on it, requests fail and the errand is killed: the summary is exact.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    time::Duration,
};

use odb_stories::{
    Broker, BrokerConfiguration, Errand, ErrandConfiguration, Foundation, RunningErrand, TaskFault,
    eventually,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;

/// How many instances there are. `ODB_CASES=all`, which `scripts/test --full` sets, makes them a thousand.
const FEW: usize = 120;
const MANY: usize = 1000;

/// A run over all of them, on a machine that has other things to do.
const LONG: Duration = Duration::from_mins(15);

const ERRAND: &str = "upgrade-all-service-instances";
/// The errand's message for a started instance.
const BEGUN: &str = "Starting to process service instance";
/// The errand's message for a finished instance.
const DONE: &str = "Result: Service Instance operation success";

/// The initial state.
struct Fleet {
    /// The plan of each.
    plans: BTreeMap<String, Value>,
    /// Those that have a deployment, as the broker lists them.
    deployed: Vec<String>,
    /// Those whose creation has failed.
    never_deployed: BTreeSet<String>,
    /// Those of which the platform says that something is in progress. It does not let them be deleted.
    unsettled: BTreeSet<String>,
}

impl Fleet {
    async fn of(broker: &Broker) -> Self {
        let inventory = broker.platform().inventory("").await.json();
        let mut fleet = Self {
            plans: BTreeMap::new(),
            deployed: Vec::new(),
            never_deployed: BTreeSet::new(),
            unsettled: BTreeSet::new(),
        };
        for entry in inventory["service_instances"].as_array().unwrap() {
            let id = entry["service_instance_id"].as_str().unwrap().to_owned();
            let operation = &entry["operation"];
            if operation["kind"] == "create" && operation["state"] == "failed" {
                fleet.never_deployed.insert(id.clone());
            }
            if entry["platform_operation"]["state"] == "in progress" {
                fleet.unsettled.insert(id.clone());
            }
            fleet.plans.insert(id, entry["plan_id"].clone());
        }
        let listed = broker.platform().listed_instances("").await.json();
        for entry in listed.as_array().unwrap() {
            let id = entry["service_instance_id"].as_str().unwrap().to_owned();
            if !fleet.never_deployed.contains(&id) {
                fleet.deployed.push(id);
            }
        }
        fleet
    }
}

/// The instances by their events.
struct Cast {
    /// Another operation is in progress on them until the end.
    busy: Vec<String>,
    /// Another operation is in progress on them until the errand has been killed for the second time.
    busy_for_a_while: Vec<String>,
    /// Their deployments fail.
    failing: Vec<String>,
    /// They are deleted during the first run.
    deleted_early: Vec<String>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment sets how much is run, as in the matrices"
)]
fn size() -> usize {
    match env::var("ODB_CASES").as_deref() {
        Ok("all") => MANY,
        Ok(_) | Err(_) => FEW,
    }
}

fn offer<'f>(foundation: &'f Foundation, release: &str) -> BrokerConfiguration<'f> {
    foundation
        .broker()
        .without_quotas()
        .with_password("of both brokers")
        .with_lifecycle_errands(&json!({}))
        .with_timing("lost_answer_in_seconds", 1)
        .with("/service_deployment/releases/0/version", release.into())
}

/// A broker that offers another release than the one with which its fleet was deployed.
async fn broker_of_a_fleet(foundation: &Foundation, instances: usize) -> Broker {
    let mut old = offer(foundation, "7.4").start().await;
    let cf = foundation.cf();
    cf.register(&old).await;
    for plan in ["small", "large"] {
        let pattern = format!("pattern-{plan}");
        cf.run(&["create-service", "redis", plan, &pattern, "--wait"])
            .await
            .succeeded();
    }
    foundation.control().seed_fleet(instances, 7).await;
    old.stop().await;
    let new = offer(foundation, "7.5").start().await;
    // Operations that the seeded fleet has in progress turn out never to have begun.
    eventually("nothing is in progress", TIMEOUT, async || {
        let text = new.metrics().await.text;
        let busy: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("odb_operations_in_flight{") && !line.ends_with(" 0"))
            .collect();
        if busy.is_empty() {
            Ok(())
        } else {
            Err(busy.join("\n"))
        }
    })
    .await;
    new
}

/// Draws the cast from those that are deployed, the canaries not among them.
fn cast(deployed: &[String], unsettled: &BTreeSet<String>) -> Cast {
    let count = |percent: usize| (deployed.len() * percent / 100).max(2);
    let mut left = deployed[10..].to_vec();
    // Those at the end exist long enough to be deleted before the run reaches them.
    let deleted_early: Vec<String> = left
        .iter()
        .rev()
        .filter(|id| !unsettled.contains(*id))
        .take(count(1))
        .cloned()
        .collect();
    left.retain(|id| !deleted_early.contains(id));
    let mut spread = |count: usize| -> Vec<String> {
        let step = left.len() / count;
        let mut picked: Vec<_> = (0..count).map(|n| left[n * step].clone()).collect();
        left.retain(|id| !picked.contains(id));
        picked.sort();
        picked
    };
    let (busy, failing) = (spread(count(5)), spread(count(1)));
    let (busy_for_a_while, busy) = busy.split_at(busy.len() / 2);
    Cast {
        busy: busy.to_vec(),
        busy_for_a_while: busy_for_a_while.to_vec(),
        failing,
        deleted_early,
    }
}

/// Starts a recreation of an instance by another client, which is held until the fault is cleared.
async fn occupy(foundation: &Foundation, broker: &Broker, instance: &str, plan: &Value) -> u64 {
    let fault = json!({
        "deployment": format!("service-instance_{instance}"),
        "at": { "place": "start" },
        "effect": { "kind": "hold" },
    });
    let fault = foundation.control().set_task_fault(&fault).await;
    let body = json!({ "plan_id": plan });
    broker
        .platform()
        .operate(instance, "recreate", &body)
        .await
        .expect_status(202);
    fault
}

async fn fail(foundation: &Foundation, instance: &str) {
    foundation
        .control()
        .set_task(
            TaskFault::at_start()
                .of(instance)
                .fails(400_001, "no disk space left"),
        )
        .await;
}

/// Deletes instances as their users would, and waits until the platform has forgotten them.
async fn delete(foundation: &Foundation, instances: &[String]) {
    let controller = foundation.cloud_controller_of_admin().await;
    let path = |instance: &str| format!("/v3/service_instances/{instance}");
    for instance in instances {
        let (status, answer) = controller.send(Method::DELETE, &path(instance), None).await;
        assert_eq!(status, 202, "{answer}");
    }
    for instance in instances {
        eventually("it is gone", TIMEOUT, async || {
            let (status, answer) = controller.send(Method::GET, &path(instance), None).await;
            if status == 404 {
                Ok(())
            } else {
                Err(answer.to_string())
            }
        })
        .await;
    }
}

fn done_by(run: &RunningErrand) -> usize {
    run.stderr().matches(DONE).count()
}

/// Lets a run continue until it has finished so many, then kills it. Returns its output.
async fn kill_after(mut run: RunningErrand, done: usize) -> String {
    eventually("it has done some", LONG, async || match done_by(&run) {
        some if some >= done => Ok(()),
        some => Err(format!("{some} of {done}\n{}", run.stderr())),
    })
    .await;
    run.kill();
    run.stderr()
}

async fn listed(run: &RunningErrand) {
    eventually("it has listed the instances", TIMEOUT, async || {
        if run.stderr().contains("Total Service Instances found") {
            Ok(())
        } else {
            Err(run.stderr())
        }
    })
    .await;
}

/// The outcome of each instance in the report.
fn outcomes(report: &Value) -> BTreeMap<String, String> {
    let rows = report["instances"].as_array().unwrap().iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.map(|row| (text(row, "service_instance_id"), text(row, "outcome")))
        .collect()
}

async fn latest_task(foundation: &Foundation) -> u64 {
    let tasks = foundation.director().tasks().await;
    tasks.last().map_or(0, number)
}

fn number(task: &Value) -> u64 {
    task["id"].as_u64().unwrap()
}

/// How often each deployment was deployed since that task.
async fn deploys_since(foundation: &Foundation, latest: u64) -> BTreeMap<String, usize> {
    let mut deploys = BTreeMap::new();
    for task in foundation.director().tasks().await {
        if number(&task) > latest && task["description"] == "create deployment" {
            let deployment = task["deployment"].as_str().unwrap_or_default();
            *deploys.entry(deployment.to_owned()).or_insert(0) += 1;
        }
    }
    deploys
}

#[tokio::test]
async fn killed_three_times_and_continued_every_instance_is_deployed_once_and_the_summary_is_exact()
{
    let size = size();
    let in_flight = (size / 20).min(20);
    // Each operation on an instance holds one of them until the end.
    let foundation = Foundation::bare()
        .with("/director/durations/workers", size / 20 + 20)
        .start()
        .await;
    let broker = broker_of_a_fleet(&foundation, size).await;
    let Fleet {
        plans,
        deployed,
        never_deployed,
        unsettled,
    } = Fleet::of(&broker).await;
    assert_eq!(deployed.len() + never_deployed.len(), size + 2);
    let cast = cast(&deployed, &unsettled);
    for instance in &cast.busy {
        occupy(&foundation, &broker, instance, &plans[instance]).await;
    }
    let mut holds = Vec::new();
    for instance in &cast.busy_for_a_while {
        holds.push(occupy(&foundation, &broker, instance, &plans[instance]).await);
    }
    // A recreation is a deployment, too, by its task.
    let before = latest_task(&foundation).await;
    for instance in &cast.failing {
        fail(&foundation, instance).await;
    }
    let configuration = ErrandConfiguration::of(&foundation, &broker)
        .with("/canaries", 3.into())
        .with("/max_in_flight", in_flight.into())
        .with("/attempt_limit", 4.into());
    let errand = || Errand::new(&foundation, ERRAND).configured(&configuration);

    let first = errand().start();
    listed(&first).await;
    delete(&foundation, &cast.deleted_early).await;
    let mut said = kill_after(first, size / 6).await;
    let second = errand().with(&["--continue", "--take-over"]).start();
    said += &kill_after(second, size / 6).await;
    for hold in holds {
        foundation.control().clear_task_fault(hold).await;
    }
    let third = errand().with(&["--continue", "--take-over"]).start();
    said += &kill_after(third, size / 6).await;
    // Nothing is deployed until some are gone whose turn has not come.
    let standstill = json!({
        "server": "director",
        "requests": { "method": "POST", "path": "/deployments" },
        "effect": { "kind": "hold" },
    });
    let standstill = foundation.control().set_fault(&standstill).await;
    // Fewer than the broker submits at once, so that deletions find a place beside them.
    let few = in_flight.min(10);
    let last = Errand::new(&foundation, ERRAND)
        .configured(&configuration.clone().with("/max_in_flight", few.into()))
        .with(&["--continue", "--take-over", "--output", "json"])
        .start();
    listed(&last).await;
    eventually("as many are begun as may be", TIMEOUT, async || {
        let begun = last.stderr().matches(BEGUN).count();
        (begun >= few).then_some(()).ok_or_else(|| last.stderr())
    })
    .await;
    said += &last.stderr();
    let mut left = deployed.clone();
    left.retain(|id| !said.contains(&format!("[{id}] {BEGUN}")));
    left.retain(|id| !cast.deleted_early.contains(id) && !unsettled.contains(id));
    let deleted_late = left.split_off(left.len() - size.div_ceil(100).max(2));
    delete(&foundation, &deleted_late).await;
    foundation.control().clear_fault(standstill.id).await;
    let ended = last.ended_within(LONG).await.expect_status(1);

    let rows = outcomes(&ended.json());
    let of = |outcome: &str| -> BTreeSet<String> {
        let those = rows.iter().filter(|(_, found)| *found == outcome);
        those.map(|(id, _)| id.clone()).collect()
    };
    let all = |ids: &[String]| -> BTreeSet<String> { ids.iter().cloned().collect() };
    assert_eq!(of("busy"), all(&cast.busy));
    assert_eq!(of("failed"), all(&cast.failing));
    assert_eq!(of("gone"), all(&deleted_late));
    assert_eq!(of("deployment_missing"), never_deployed);
    let untouched: BTreeSet<String> = [
        all(&cast.busy),
        all(&cast.failing),
        all(&cast.deleted_early),
        all(&deleted_late),
    ]
    .into_iter()
    .flatten()
    .collect();
    let expected: BTreeSet<String> = all(&deployed).difference(&untouched).cloned().collect();
    assert_eq!(of("succeeded"), expected);
    assert_eq!(rows.len(), size + 2 - cast.deleted_early.len());

    let deploys = deploys_since(&foundation, before).await;
    let repeated: Vec<_> = deploys.iter().filter(|(_, count)| **count > 1).collect();
    assert!(repeated.is_empty(), "deployed twice: {repeated:?}");
    for instance in expected.iter().chain(&cast.failing) {
        let deployment = format!("service-instance_{instance}");
        assert_eq!(deploys.get(&deployment), Some(&1), "{deployment}");
    }
}
