//! A VM with the packages of the release, and a sandbox around it.

use std::{fs, path::Path};

use odb_stories::{
    Foundation, Platform, Secrets, fences,
    manifest::{Manifest, Variables},
    new_id,
    release::{
        Deployment, Jobs, RenderedDeployment, Vm, broker_properties, credhub_link, overlay,
        secure_bindings, secure_manifests, tarball,
    },
};
use serde_json::{Value, json};

use super::TIMEOUT;

/// A broker's deployment, complete but for what a Director adds.
#[derive(Clone, Debug)]
pub(super) struct Plan(Value);

/// Both together.
#[derive(Debug)]
pub(super) struct Site {
    // First, for it uses the other.
    pub(super) vm: Vm,
    pub(super) foundation: Foundation,
    jobs: Jobs,
}

/// The result of a script.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) status: Option<i32>,
    pub(super) output: String,
    pub(super) stderr: String,
}

impl Plan {
    /// `manifests/NAME.yml`.
    pub(super) fn of_project(name: &str, foundation: &Foundation) -> Self {
        let manifest = Manifest::of_project(&format!("manifests/{name}.yml"));
        let given = variables(foundation, &manifest);
        Self::complete(&manifest, &given, foundation)
    }

    /// The manifest of a user of the Go release, with only the release's name changed.
    pub(super) fn of_a_go_user(foundation: &Foundation) -> Self {
        let contract = project_file("spec/contracts/config-and-release.md");
        let section = contract.split("\n## 3. ").nth(1);
        let fences = fences(section.expect("the contract has the operator's manifest"));
        let text = fences[0]
            .text
            .replace("on-demand-service-broker", "on-demand-broker");
        let manifest = Manifest::parse("the operator's manifest", &text).unwrap();
        let mut given = Variables::new();
        for name in Variables::asked_for_by(manifest.document()) {
            if !matches!(name.as_str(), "broker_password" | "broker_tls") {
                given = given.with(&name, "of the site");
            }
        }
        let given = given
            .with("broker_tls", broker_certificate(foundation))
            .with("nats_client", broker_certificate(foundation));
        let mut plan = Self::complete(&manifest, &given, foundation);
        plan.lay_over("broker", &secure_manifests(foundation));
        plan.lay_over("broker", &secure_bindings(foundation));
        plan
    }

    /// The manifest with its variables, on the addresses of a foundation, with errands that are in a hurry.
    fn complete(manifest: &Manifest, given: &Variables, foundation: &Foundation) -> Self {
        let complete = manifest.complete(given).unwrap();
        assert!(complete.missing.is_empty(), "{:?}", complete.missing);
        let mut plan = Self(complete.document);
        let (address, port) = foundation.broker_address();
        let url = format!("https://{address}:{port}");
        plan.lay_over("broker", &broker_properties(foundation));
        let trust = json!({ "tls": { "ca_cert": foundation.authority() }, "broker_uri": url });
        plan.lay_over("register-broker", &json!({ "broker_uri": url }));
        for errand in [
            "upgrade-all-service-instances",
            "recreate-all-service-instances",
            "orphan-deployments",
            "service-metrics-adapter",
        ] {
            plan.lay_over(errand, &trust);
        }
        let hurry = json!({ "polling_interval_seconds": 1, "attempt_interval_seconds": 1 });
        plan.lay_over("upgrade-all-service-instances", &hurry);
        plan.lay_over("recreate-all-service-instances", &hurry);
        let hurry = json!({ "polling_interval_seconds": 1, "polling_initial_offset_seconds": 0 });
        plan.lay_over("delete-all-service-instances", &hurry);
        plan.lay_over("delete-all-service-instances-and-deregister-broker", &hurry);
        plan
    }

    /// Lays properties over those of a job, if the manifest has it.
    pub(super) fn lay_over(&mut self, job: &str, properties: &Value) {
        for location in self.jobs_mut() {
            if location["name"] == job {
                if location["properties"].is_null() {
                    location["properties"] = json!({});
                }
                overlay(&mut location["properties"], properties);
            }
        }
    }

    /// One more job of the release on the broker's VM.
    pub(super) fn add_job(&mut self, name: &str, properties: &Value) {
        let job = json!({ "name": name, "release": "on-demand-broker", "properties": properties });
        let jobs = self.0["instance_groups"][0]["jobs"].as_array_mut();
        jobs.expect("the group has jobs").push(job);
    }

    /// A property of the job `broker`.
    pub(super) fn broker_property(&self, pointer: &str) -> &Value {
        let jobs = self.0["instance_groups"][0]["jobs"].as_array().unwrap();
        let broker = jobs.iter().find(|job| job["name"] == "broker").unwrap();
        broker["properties"].pointer(pointer).unwrap()
    }

    fn jobs_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let groups = self.0["instance_groups"]
            .as_array_mut()
            .into_iter()
            .flatten();
        groups.flat_map(|group| group["jobs"].as_array_mut().into_iter().flatten())
    }
}

impl Site {
    /// With what the tarball of the release has: its jobs, and its packages as their `packaging` leaves them.
    pub(super) async fn of_the_tarball(foundation: Foundation) -> Self {
        let vm = Vm::in_folder(foundation.folder());
        let release = vm.unpack(&tarball());
        for package in ["on-demand-broker", "service-adapters"] {
            vm.install(&release, package).await;
        }
        let jobs = release.jobs();
        Self {
            vm,
            foundation,
            jobs,
        }
    }

    /// With the sources of jobs, and the executables under test in the place of packages: quicker.
    pub(super) fn of_the_sources(foundation: Foundation) -> Self {
        let vm = Vm::in_folder(foundation.folder());
        vm.link("on-demand-broker", &["on-demand-broker", "odb-errand"]);
        vm.link(
            "service-adapters",
            &["redis-service-adapter", "kafka-service-adapter"],
        );
        let jobs = Jobs::of_project();
        Self {
            vm,
            foundation,
            jobs,
        }
    }

    /// The rendered deployment of a plan.
    pub(super) fn rendered(&self, plan: &Plan) -> RenderedDeployment {
        let (address, _) = self.foundation.broker_address();
        let rendered = Deployment::of(&plan.0)
            .with_jobs(self.jobs.clone())
            .with_address("broker", address)
            .with_link_of("cf", "credhub", credhub_link(&self.foundation))
            .render();
        rendered.unwrap_or_else(|rejection| panic!("{rejection}"))
    }

    /// Puts a plan's jobs onto the VM.
    pub(super) fn apply(&self, plan: &Plan) {
        self.vm.apply(&self.rendered(plan));
    }

    /// Runs a script of a job to its end.
    pub(super) async fn run(&self, job: &str, script: &str) -> Run {
        let mut process = self.vm.script(job, script);
        let status = process.exit(TIMEOUT).await;
        Run {
            status: status.code(),
            output: process.output(),
            stderr: process.errors(),
        }
    }

    /// Runs an errand to its end.
    pub(super) async fn errand(&self, name: &str) -> Run {
        self.run(name, "run").await
    }

    /// Runs `drain` to its end: it has to print that there is nothing to wait for.
    pub(super) async fn drain(&self) -> Run {
        let run = self.run("broker", "drain").await;
        assert_eq!(
            (run.status, run.output.as_str()),
            (Some(0), "0\n"),
            "{}",
            run.stderr
        );
        run
    }

    /// Starts the broker as monit does, and waits as the agent does until it is up.
    pub(super) async fn start_broker(&self) {
        self.vm.monit_start("broker").await;
        self.run("broker", "post-start").await.expect_success();
    }

    /// A platform for the broker of a plan.
    pub(super) fn platform(&self, plan: &Plan) -> Platform {
        let (address, port) = self.foundation.broker_address();
        let text = |pointer| plan.broker_property(pointer).as_str().unwrap();
        let url = format!("https://{address}:{port}");
        self.foundation
            .platform(&url, text("/username"), text("/password"))
    }

    /// Values that other users of the machine must not see.
    pub(super) async fn secrets(&self, plan: &Plan) -> Secrets {
        let password = plan.broker_property("/password").as_str().unwrap();
        self.foundation
            .secrets()
            .await
            .and("the broker's password", password)
    }
}

impl Run {
    /// It has ended with this status; else the test fails with all that was said.
    pub(super) fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}{}", self.output, self.stderr);
        self
    }

    /// It has ended well; else the test fails with all that was said.
    pub(super) fn expect_success(self) -> Self {
        self.expect_status(0)
    }
}

/// Those that a manifest asks for: the example's, and of them those that the sandbox decides.
fn variables(foundation: &Foundation, manifest: &Manifest) -> Variables {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/vars/example.yml");
    let given = Variables::new().with_file(&example).unwrap();
    given
        .with("service_network", "default")
        .with("service_stemcell_version", "1.80")
        .with("broker_tls", broker_certificate(foundation))
        .with(
            "broker_ca",
            json!({ "certificate": foundation.authority() }),
        )
        .with("broker_password", new_id())
        .only(&Variables::asked_for_by(manifest.document()))
}

/// The certificate that the sandbox has for a broker.
fn broker_certificate(foundation: &Foundation) -> Value {
    let mut certificate = broker_properties(foundation)["tls"].clone();
    certificate["ca"] = foundation.authority().into();
    certificate
}

fn project_file(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()))
}
