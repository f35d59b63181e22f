//! The steps of a walk.

use proptest::prelude::*;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Deploy(Name, Shape),
    Recreate(Name),
    Errand(Name),
    Delete(Name, Force),
    /// Cancels the task that was created last and has not ended.
    CancelNewest,
    /// Every process of the foundation is killed behind its back.
    KillProcesses,
    /// A VM is lost, or its agent falls silent.
    Break(Part),
    /// The next task that comes there fails, or its worker dies.
    Trip(Location, Failures),
    /// The sandbox is stopped in good order and started again.
    Restart,
    /// The sandbox is killed and started again.
    Crash,
    /// Waits until no task is left that has not ended.
    Settle,
}

/// One of a few deployments, so that they meet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name(pub(crate) u8);

/// The outage of a VM.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Vm,
    Agent,
}

/// Where a task trips.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Location {
    Start,
    CreatingVms,
    UpdatingInstance,
    DeletingInstances,
    RunningErrand,
}

/// The fault of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failures {
    Fails,
    LosesItsWorker,
}

/// The shape of a deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Instances(u8),
    UnknownRelease,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Force {
    Yes,
    No,
}

pub(crate) fn walks() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(steps(), 1..14)
}

fn steps() -> impl Strategy<Value = Step> {
    let name = || (0_u8..3).prop_map(Name);
    let shape = prop_oneof![
        5 => (0_u8..3).prop_map(Shape::Instances),
        1 => Just(Shape::UnknownRelease),
    ];
    prop_oneof![
        6 => (name(), shape).prop_map(|(name, shape)| Step::Deploy(name, shape)),
        2 => name().prop_map(Step::Recreate),
        2 => name().prop_map(Step::Errand),
        2 => (name(), prop_oneof![Just(Force::Yes), Just(Force::No)])
            .prop_map(|(name, force)| Step::Delete(name, force)),
        3 => Just(Step::CancelNewest),
        1 => Just(Step::KillProcesses),
        1 => prop_oneof![Just(Part::Vm), Just(Part::Agent)].prop_map(Step::Break),
        2 => (locations(), prop_oneof![Just(Failures::Fails), Just(Failures::LosesItsWorker)])
            .prop_map(|(location, effect)| Step::Trip(location, effect)),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
        3 => Just(Step::Settle),
    ]
}

fn locations() -> impl Strategy<Value = Location> {
    prop_oneof![
        Just(Location::Start),
        Just(Location::CreatingVms),
        Just(Location::UpdatingInstance),
        Just(Location::DeletingInstances),
        Just(Location::RunningErrand),
    ]
}

impl Step {
    /// Takes the step. An error is a valid answer; only the invariants afterwards count.
    pub(crate) async fn take(&self, sandbox: &mut Sandbox) {
        match self {
            Self::Deploy(name, shape) => {
                let manifest = manifest(*name, *shape).to_string();
                sandbox.post("/deployments", "text/yaml", manifest).await;
            }
            Self::Recreate(name) => {
                let path = format!("/deployments/{}/jobs/*?state=recreate", name.text());
                sandbox.put(&path, "text/yaml").await;
            }
            Self::Errand(name) => {
                let path = format!("/deployments/{}/errands/health-check/runs", name.text());
                sandbox
                    .post(&path, "application/json", "{}".to_owned())
                    .await;
            }
            Self::Delete(name, force) => {
                let force = match force {
                    Force::Yes => "?force=true",
                    Force::No => "",
                };
                let path = format!("/deployments/{}{force}", name.text());
                sandbox.delete(&path).await;
            }
            Self::CancelNewest => {
                let unfinished = sandbox.unfinished_tasks().await;
                let newest = unfinished.iter().filter_map(|task| task["id"].as_u64());
                if let Some(id) = newest.max() {
                    sandbox.delete(&format!("/task/{id}")).await;
                }
            }
            Self::KillProcesses => {
                for pid in sandbox.processes().into_keys() {
                    // One that ended by itself in between is dead as well.
                    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
                }
            }
            Self::Break(part) => {
                let Some(vm) = sandbox.vms().await.pop_first() else {
                    return;
                };
                let path = match part {
                    Part::Vm => format!("/vms/{vm}"),
                    Part::Agent => format!("/vms/{vm}/agent"),
                };
                sandbox.control(Method::DELETE, &path, None).await;
            }
            Self::Trip(location, effect) => {
                let fault = json!({"at": location.json(), "effect": effect.json()});
                sandbox
                    .control(Method::POST, "/task-faults", Some(fault))
                    .await;
            }
            Self::Restart => sandbox.restart().await,
            Self::Crash => sandbox.crash().await,
            Self::Settle => sandbox.settle().await,
        }
    }
}

impl Location {
    fn json(self) -> Value {
        let stage = match self {
            Self::Start => return json!({"place": "start"}),
            Self::CreatingVms => "Creating missing vms",
            Self::UpdatingInstance => "Updating instance",
            Self::DeletingInstances => "Deleting instances",
            Self::RunningErrand => "Running errand",
        };
        json!({"place": "step", "stage": stage})
    }
}

impl Failures {
    fn json(self) -> Value {
        match self {
            Self::Fails => json!({"kind": "fail", "code": 100, "message": "no more room"}),
            Self::LosesItsWorker => json!({"kind": "kill_worker"}),
        }
    }
}

impl Name {
    fn text(self) -> String {
        format!("service-instance_{}", self.0)
    }
}

fn manifest(name: Name, shape: Shape) -> Value {
    let (version, instances) = match shape {
        Shape::Instances(count) => ("7.4", count),
        Shape::UnknownRelease => ("0.0", 1),
    };
    let group = |name: &str, lifecycle: &str, instances: u8, properties: Value| {
        json!({
            "name": name,
            "lifecycle": lifecycle,
            "instances": instances,
            "jobs": [{"name": name, "release": "redis-example-service", "properties": properties}],
            "vm_type": "small",
            "stemcell": "default",
            "azs": ["z1"],
            "networks": [{"name": "default"}],
        })
    };
    let properties = json!({"redis": {
        "password": "((password))",
        "persistence": "no",
        "maxclients": 100,
    }});
    json!({
        "name": name.text(),
        "releases": [{"name": "redis-example-service", "version": version}],
        "stemcells": [{"alias": "default", "os": "ubuntu-jammy", "version": "latest"}],
        "instance_groups": [
            group("redis-server", "service", instances, properties),
            group("health-check", "errand", 1, json!({})),
        ],
        "variables": [{"name": "password", "type": "password"}],
        "update": {
            "canaries": 1,
            "max_in_flight": 2,
            "canary_watch_time": "1000-5000",
            "update_watch_time": "1000-5000",
        },
    })
}
