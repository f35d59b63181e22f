//! Events between the recorded calls: deploys of which only a part was recorded, agents that died, an infrastructure
//! that failed. Tasks are held where the recording caught them in progress.

use odb_sandbox::director::{TaskEffect, TaskPoint};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    names::Kind,
    story::{Story, TIMEOUT, manifest_of, stage},
    transcript::{self, Body},
};

impl Story {
    /// The events before the call of this name.
    pub(crate) async fn interlude(&mut self, next: &str) {
        match next {
            "030-deploy-create" => {
                self.hold("service-instance_b2", TaskPoint::Queue);
                self.hold("service-instance_b2", stage("Creating missing vms"));
            }
            "032-task-processing" => {
                self.go_on_first();
                self.until_held().await;
            }
            "120-errand-run" => {
                let manifest = manifest_of("293-deployment-after-failed-delete");
                self.deploy(&manifest).await;
            }
            "140-long-errand-processing" => {
                self.settle().await;
                let task = self
                    .errand_held_up("service-instance_c3", running_errand())
                    .await;
                self.task_is(28, task);
            }
            "142-second-task-processing" => self.until_processing(29).await,
            "150-cancel-task" => {
                self.go_on();
                self.settle().await;
                let location = step("Updating instance", "starting jobs");
                let task = self.errand_held_up("service-instance_c3", location).await;
                self.task_is(30, task);
            }
            "264-link-delete-not-external" => self.learn_link_of_a1().await,
            "271-delete-task-running" => self.until_held().await,
            "270-delete-deployment" => {
                self.hold("service-instance_d4", stage("Deleting instances"));
            }
            "069-vms-full-unresponsive-agent" => {
                self.kill_agent("service-instance_b2").await;
                let task = self.ask_vms("service-instance_b2").await;
                self.task_is(36, task);
            }
            "160-delete-while-locked" => {
                self.settle().await;
                let task = self
                    .errand_held_up("service-instance_c3", running_errand())
                    .await;
                self.task_is(40, task);
                self.hold("service-instance_c3", TaskPoint::Start);
                self.hold("service-instance_c3", TaskPoint::Start);
            }
            "162-deploy-when-all-workers-busy" => {
                self.until_processing(41).await;
                self.until_processing(42).await;
                let task = self.ask_vms("service-instance_a1").await;
                self.task_is(43, task);
            }
            // Two tasks wait for the lock of the errand until their timeout; then the queue continues.
            "167-cancelled-queued-task-later" => self.go_on_but_first(),
            "113-deploy-cpi-failure" => {
                self.go_on();
                self.settle().await;
                self.refuse_vm("service-instance_e6");
            }
            "290-delete-agent-dead-no-force" => {
                self.delete("service-instance_e6").await;
                self.kill_agent("service-instance_c3").await;
            }
            "172-task-of-killed-worker-at-once" => self.kill_worker_of_g8().await,
            "054-tasks-default-verbosity" => {
                let task = self.ask_vms("service-instance_a1").await;
                self.task_is(64, task);
            }
            "189-deploy-bad-max-in-flight" => {
                let manifest = transcript::named("098-deploy-with-context").request_body;
                let task = self.deploy(&manifest).await;
                self.task_is(56, task);
            }
            "190-deployments-at-the-end" => {
                for left in ["bad2", "bad3", "bad4", "bad5", "bad6"] {
                    self.delete(&format!("service-instance_{left}")).await;
                }
                self.delete_until_gone("service-instance_g8").await;
            }
            "117-update-fails-half-way" => self.refuse_vm("service-instance_a1"),
            "147-second-task-waits-and-succeeds" => self.wait_for_lock_and_succeed().await,
            "223-config-delete-by-id" => {
                let config = json!({"type": "anything", "name": "n2", "content": "a: 1\n"});
                let answer = self.post_json("/configs", &config).await;
                self.names
                    .learn(Kind::Config, "6", answer["id"].as_str().unwrap());
            }
            "038-task-done" | "153-task-cancelled" | "272-delete-task-done" => self.go_on(),
            _ => {}
        }
    }

    /// The infrastructure refuses the next VM of a deployment, in the words of the recording.
    fn refuse_vm(&self, deployment: &str) {
        let recorded = transcript::named("113-deploy-cpi-failure-events");
        let Body::Whole(lines) = &recorded.body else {
            panic!("the events of the failure are whole")
        };
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        let fail = TaskEffect::Fail {
            code: 100,
            message: last["error"]["message"].as_str().unwrap().to_owned(),
        };
        self.arm(deployment, stage("Creating missing vms"), fail);
    }

    async fn errand_held_up(&mut self, deployment: &str, at: TaskPoint) -> u64 {
        self.hold(deployment, at);
        let task = self.run_errand(deployment, "").await;
        self.until_held().await;
        task
    }

    async fn kill_worker_of_g8(&mut self) {
        self.delete("service-instance_c3").await;
        let manifest = transcript::named("085-deploy-update").request_body;
        let manifest = manifest.replace("service-instance_b2", "service-instance_g8");
        self.deploy(&manifest).await;
        self.settle().await;
        let location = step("Updating instance", "installing packages");
        self.arm("service-instance_g8", location, TaskEffect::KillWorker);
        let task = self.run_errand("service-instance_g8", "ctx-timeout").await;
        self.task_is(50, task);
        self.until("a worker to die", || {
            self.sandbox.director.armed().is_empty()
        })
        .await;
    }

    async fn wait_for_lock_and_succeed(&mut self) {
        self.errand_held_up("service-instance_a1", running_errand())
            .await;
        let manifest = transcript::named("098-deploy-with-context").request_body;
        let task = self.deploy(&manifest).await;
        self.task_is(70, task);
        self.until_processing(70).await;
        self.go_on();
    }

    async fn kill_agent(&self, deployment: &str) {
        let vms = self.get(&format!("/deployments/{deployment}/vms")).await;
        let vms = vms.as_array().unwrap();
        let vm = vms.iter().find(|vm| vm["job"] == "srv").unwrap();
        let cid = vm["cid"].as_str().unwrap().to_owned();
        self.sandbox.cpi.kill_agent(&cid.into()).unwrap();
    }

    async fn learn_link_of_a1(&mut self) {
        let links = self.get("/links?deployment=service-instance_a1").await;
        let id = links[0]["id"].as_str().unwrap().to_owned();
        self.names.learn(Kind::Link, "1", &id);
    }

    /// The lock of a dead worker has to expire first.
    async fn delete_until_gone(&self, deployment: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while self.get(&format!("/deployments/{deployment}")).await["code"].is_null() {
            assert!(
                Instant::now() < deadline,
                "`{deployment}` cannot be deleted"
            );
            self.delete(deployment).await;
        }
    }
}

fn step(name: &str, status: &str) -> TaskPoint {
    TaskPoint::Step {
        stage: name.to_owned(),
        task: None,
        status: Some(status.to_owned()),
    }
}

fn running_errand() -> TaskPoint {
    stage("Running errand")
}
