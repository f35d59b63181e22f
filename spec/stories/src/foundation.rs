//! A sandbox of the test's own.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use odb_adapter_sdk::yaml;
use rustix::process::geteuid;
use rustls::ClientConfig;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    AdapterFolder, Adapters, Binaries, Broker, BrokerConfiguration, Cf, CloudController, Control,
    CredHub, Director, Platform, Process, Secrets, UaaClients, eventually, trust,
};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests/sandbox");

/// Everything is up within a second; a busy machine takes its time.
const START_LIMIT: Duration = Duration::from_mins(1);

/// A running sandbox: Director, Cloud Controller, a UAA for each, and what they have started.
#[derive(Debug)]
pub struct Foundation {
    binaries: Binaries,
    description: Description,
    http: reqwest::Client,
    tls: ClientConfig,
    sandbox: Process,
    // Last, for the others have files there.
    folder: TempDir,
}

/// The differences from `manifests/sandbox/foundation.yml`, besides shorter pauses.
#[derive(Clone, Debug)]
pub struct FoundationSetup {
    settings: Value,
    processes: Processes,
    users: Users,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upstream {
    Director,
    DirectorCredHub,
    CloudController,
    RuntimeCredHub,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processes {
    Real,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Users {
    Own,
    NonRoot,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    pub control: String,
    pub ca_certificate: PathBuf,
    pub director: DirectorAccess,
    pub cloud_controller: CloudControllerAccess,
    pub broker_address: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct DirectorAccess {
    pub url: String,
    pub uaa_url: String,
    pub team_client: Client,
    pub admin_client: Client,
    pub credhub: CredHubAccess,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CloudControllerAccess {
    pub url: String,
    pub uaa_url: String,
    pub broker_client: Client,
    pub user: User,
    pub admin_user: User,
    pub organization: Location,
    pub space: Location,
    pub credhub: CredHubAccess,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CredHubAccess {
    pub url: String,
    pub uaa_url: String,
    pub client: Client,
    pub admin_client: Client,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Client {
    pub id: String,
    pub secret: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct User {
    pub name: String,
    pub password: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Location {
    pub guid: String,
}

impl Foundation {
    pub async fn start() -> Self {
        Self::setup().start().await
    }

    /// The same with a broker that may cancel tasks.
    pub async fn start_with_director_admin() -> Self {
        Self::setup().with_director_admin().start().await
    }

    /// A foundation with VMs on which nothing runs.
    pub fn bare() -> FoundationSetup {
        Self::setup().without_processes()
    }

    pub fn setup() -> FoundationSetup {
        let settings = yaml::from_str(&Self::manifest("foundation.yml"))
            .expect("it is the configuration of a foundation");
        FoundationSetup {
            settings,
            processes: Processes::Real,
            users: Users::Own,
        }
        .with("/cloud_controller/broker_polling_interval", "100ms")
        .with("/cloud_controller/mitigation_delay", "50ms")
        .with("/director/durations/lock_wait", "2s")
        .with("/director/durations/step", "10ms")
    }

    /// The configuration of a broker that sells Redis here, by the real adapter.
    pub fn broker(&self) -> BrokerConfiguration<'_> {
        BrokerConfiguration::new(self, "redis-broker.yml")
    }

    /// The configuration of a broker that sells PostgreSQL here, by the example that is a folder.
    pub fn postgres_broker(&self) -> BrokerConfiguration<'_> {
        BrokerConfiguration::new(self, "postgres-broker.yml")
            .with_adapter(&self.adapter_folder("postgres").executable())
    }

    /// The configuration of a broker for Kafka, for which the sandbox has stand-ins. The test sets the path of the
    /// topic commands.
    pub fn kafka_broker(&self) -> BrokerConfiguration<'_> {
        BrokerConfiguration::new(self, "kafka-broker.yml")
            .with_adapter(&self.binaries.path("kafka-service-adapter"))
    }

    /// An adapter without code, copied from the examples into the foundation's folder.
    pub fn adapter_folder(&self, example: &str) -> AdapterFolder {
        AdapterFolder::copy_of(example, self.folder.path(), &self.binaries)
    }

    /// The Director, as its administrator sees it.
    pub fn director(&self) -> Director {
        Director::new(self.http.clone(), &self.description.director)
    }

    /// The clients of the Cloud Controller's UAA, as its administrator sees them.
    pub fn uaa_clients(&self) -> UaaClients {
        UaaClients::new(self.http.clone(), &self.description.cloud_controller)
    }

    /// The clients of the Director's UAA, as this client sees them, which has to administer clients there.
    pub fn director_uaa_clients(&self, id: &str, secret: &str) -> UaaClients {
        let administrator = Client {
            id: id.to_owned(),
            secret: secret.to_owned(),
        };
        let access = &self.description.director;
        UaaClients::of_director(self.http.clone(), access, administrator)
    }

    /// The guid of the space in which services are ordered.
    pub fn space(&self) -> &str {
        &self.description.cloud_controller.space.guid
    }

    pub fn control(&self) -> Control {
        Control::new(self.http.clone(), &self.description.control)
    }

    pub fn bosh_credhub(&self) -> CredHub {
        CredHub::new(self.http.clone(), &self.description.director.credhub)
    }

    pub fn runtime_credhub(&self) -> CredHub {
        CredHub::new(
            self.http.clone(),
            &self.description.cloud_controller.credhub,
        )
    }

    pub fn cf(&self) -> Cf {
        Cf::new(
            self.binaries.path("odb-sandbox"),
            self.state().join("foundation.json"),
        )
    }

    /// The Cloud Controller, as a client of the user who orders services.
    pub async fn cloud_controller(&self) -> CloudController {
        let access = &self.description.cloud_controller;
        CloudController::log_in(self.http.clone(), access, &access.user).await
    }

    /// The same, as a client of its administrator.
    pub async fn cloud_controller_of_admin(&self) -> CloudController {
        let access = &self.description.cloud_controller;
        CloudController::log_in(self.http.clone(), access, &access.admin_user).await
    }

    /// The Cloud Controller, as the broker's client, which may do everything.
    pub async fn cloud_controller_as_the_broker(&self) -> CloudController {
        CloudController::as_the_broker(self.http.clone(), &self.description.cloud_controller).await
    }

    pub fn adapters(&self) -> Adapters {
        Adapters::new(self.folder.path(), &self.binaries)
    }

    /// Starts the broker's executable with these arguments, whatever comes of it.
    pub fn broker_process(&self, arguments: &[&str]) -> Process {
        self.broker_process_in(arguments, &[])
    }

    /// The same, with more in its environment.
    pub fn broker_process_in(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Process {
        let mut command = Command::new(self.binaries.path("on-demand-broker"));
        command.args(arguments).envs(environment.iter().copied());
        Process::start("broker", &mut command, self.folder.path())
    }

    /// The certificate of the authority that has signed for all servers here, in PEM.
    pub fn authority(&self) -> String {
        fs::read_to_string(&self.description.ca_certificate).expect("the sandbox has written it")
    }

    pub fn authority_file(&self) -> String {
        self.description.ca_certificate.display().to_string()
    }

    /// The address on which a broker listens, and the port.
    pub fn broker_address(&self) -> (&str, u16) {
        (
            &self.description.broker_address,
            crate::broker_configuration::PORT,
        )
    }

    /// A folder for the test's files, which ends with the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Neither Director nor Cloud Controller answers any more, but connections are accepted.
    pub async fn freeze(&self) {
        self.sandbox.freeze().await;
    }

    /// They answer again, first what they were asked in between.
    pub fn thaw(&self) {
        self.sandbox.thaw();
    }

    pub fn id(&self) -> u32 {
        self.sandbox.id()
    }

    pub async fn secrets(&self) -> Secrets {
        Secrets::of_foundation(&self.http, &self.state()).await
    }

    /// A platform for a broker at an address, with the credentials of that broker.
    pub fn platform(&self, url: &str, username: &str, password: &str) -> Platform {
        Platform::new(
            self.http.clone(),
            url,
            (username, password),
            &self.description.cloud_controller,
        )
    }

    pub(crate) fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    pub fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    pub(crate) fn tls(&self) -> &ClientConfig {
        &self.tls
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("foundation")
    }

    pub(crate) fn manifest(name: &str) -> String {
        fs::read_to_string(Path::new(MANIFESTS).join(name)).expect("it is part of the project")
    }
}

impl Upstream {
    fn client(self) -> &'static str {
        match self {
            Self::Director => "/director/team_client",
            Self::DirectorCredHub => "/director/credhub/client",
            Self::CloudController => "/cloud_controller/broker_client",
            Self::RuntimeCredHub => "/cloud_controller/credhub/client",
        }
    }
}

impl FoundationSetup {
    #[must_use]
    pub fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let (section, key) = pointer.rsplit_once('/').expect("a pointer has slashes");
        let section = self.settings.pointer_mut(section);
        section.expect("`foundation.yml` has this section")[key] = value.into();
        self
    }

    /// With a broker that is an administrator of the Director, and not of its team alone: it may cancel tasks.
    #[must_use]
    pub fn with_director_admin(mut self) -> Self {
        let client = self.section_mut(Upstream::Director.client());
        client["authorities"] = serde_json::json!(["bosh.teams.odb.admin", "bosh.admin"]);
        self
    }

    /// With a Director that gives tasks up soon after their workers have died.
    #[must_use]
    pub fn with_impatient_workers(self) -> Self {
        self.with("/director/durations/checkpoint_interval", "300ms")
            .with("/director/durations/checkpoint_timeout", "3s")
            .with("/director/durations/lock_lease", "3s")
    }

    /// With a Cloud Controller of the time before version 3 of its API could be used for services.
    #[must_use]
    pub fn with_old_cloud_controller(self) -> Self {
        self.with("/cloud_controller/v2", "on_3_94")
    }

    /// With this password for the users of Cloud Foundry, `admin` and `developer`.
    #[must_use]
    pub fn with_password_of_users(self, password: &str) -> Self {
        self.with("/cloud_controller/admin_user/password", password)
            .with("/cloud_controller/user/password", password)
    }

    /// With a broker that has these rights at the Cloud Controller's UAA.
    #[must_use]
    pub fn with_broker_rights(mut self, authorities: &[&str]) -> Self {
        let client = self.settings.pointer_mut("/cloud_controller/broker_client");
        client.expect("`foundation.yml` has this section")["authorities"] = authorities.into();
        self
    }

    /// With the client that a broker uses for this upstream, as the properties of the job `uaa` describe it.
    #[must_use]
    pub fn with_client_for(mut self, upstream: Upstream, id: &str, client: &Value) -> Self {
        let authorities = client["authorities"].as_str().unwrap_or_default();
        let authorities: Vec<&str> = authorities.split(',').collect();
        *self.section_mut(upstream.client()) = serde_json::json!({
            "id": id,
            "secret": client["secret"],
            "authorities": authorities,
        });
        self
    }

    /// With further clients, as `foundation.yml` has them, of the Director's UAA and of the Cloud Controller's.
    #[must_use]
    pub fn with_clients(mut self, of_director: Value, of_platform: Value) -> Self {
        self.settings["director"]["other_clients"] = of_director;
        self.settings["cloud_controller"]["other_clients"] = of_platform;
        self
    }

    /// With these permissions, as `foundation.yml` has them, in the Director's CredHub and in that of applications.
    #[must_use]
    pub fn with_permissions(mut self, of_director: Value, of_applications: Value) -> Self {
        self.settings["director"]["credhub"]["permissions"] = of_director;
        self.settings["cloud_controller"]["credhub"]["permissions"] = of_applications;
        self
    }

    /// With a Director that has its own users, among them this one.
    #[must_use]
    pub fn with_director_user(mut self, name: &str, password: &str) -> Self {
        self.settings["director"]["user_management"] = serde_json::json!({
            "provider": "local",
            "local": { "users": [{ "name": name, "password": password }] },
        });
        self
    }

    /// With one more organization with a space, for the users of the first one.
    #[must_use]
    pub fn with_another_location(mut self, organization: &str, space: &str) -> Self {
        let organizations = self.settings.pointer_mut("/cloud_controller/organizations");
        let organizations = organizations.and_then(Value::as_array_mut);
        let organizations = organizations.expect("`foundation.yml` has this section");
        let mut another = organizations[0].clone();
        another["name"] = organization.into();
        another["spaces"][0]["name"] = space.into();
        organizations.push(another);
        self
    }

    #[must_use]
    pub fn without_processes(self) -> Self {
        Self {
            processes: Processes::None,
            ..self
        }
    }

    /// With VMs for programs that refuse to be run by root, such as PostgreSQL.
    #[must_use]
    pub fn with_programs_that_refuse_root(self) -> Self {
        Self {
            users: Users::NonRoot,
            ..self
        }
    }

    fn section_mut(&mut self, pointer: &str) -> &mut Value {
        let section = self.settings.pointer_mut(pointer);
        section.unwrap_or_else(|| panic!("`foundation.yml` has no `{pointer}`"))
    }

    pub(crate) fn text(&self) -> String {
        // JSON is YAML.
        format!("{:#}", self.settings)
    }

    /// Starts it with the usual broker for Redis.
    pub async fn start_with_broker(self) -> (Foundation, Broker) {
        let foundation = self.start().await;
        let broker = foundation.broker().start().await;
        (foundation, broker)
    }

    /// Starts it with a broker that has another duration or ceiling, by its key under `broker.timings`.
    pub async fn start_with_timing(self, key: &str, value: u64) -> (Foundation, Broker) {
        let foundation = self.start().await;
        let broker = foundation.broker().with_timing(key, value).start().await;
        (foundation, broker)
    }

    /// Starts it with a broker and an instance of the plan `small`.
    pub async fn start_with_instance(self) -> (Foundation, Broker, String) {
        let (foundation, broker) = self.start_with_broker().await;
        let instance = broker.platform().created().await;
        (foundation, broker, instance)
    }

    pub async fn start(self) -> Foundation {
        let binaries = Binaries::find();
        let folder = tempfile::Builder::new()
            .prefix("odb-story.")
            .tempdir()
            .expect("tests may write temporary files");
        let (state, config) = (
            folder.path().join("foundation"),
            folder.path().join("foundation.yml"),
        );
        // JSON is YAML.
        fs::write(&config, format!("{:#}", self.settings)).expect("the test made the folder");
        let mut command = Command::new(binaries.path("odb-sandbox"));
        command
            .args(["up", "--config"])
            .arg(&config)
            .arg("--state")
            .arg(&state)
            .arg("--jobs")
            .arg(Path::new(MANIFESTS).join("jobs"))
            .arg("--rsa-keys")
            .arg(binaries.rsa_keys());
        if self.processes == Processes::None {
            command.arg("--no-processes");
        }
        if self.users == Users::NonRoot && geteuid().is_root() {
            command.args(["--job-user", "nobody"]);
            // Where VMs are is for others to pass through, not to look into.
            fs::set_permissions(folder.path(), Permissions::from_mode(0o711))
                .expect("the test made the folder");
        }
        let mut sandbox = Process::start("sandbox", &mut command, folder.path());
        let described = eventually("the sandbox is ready", START_LIMIT, async || {
            assert!(sandbox.is_running(), "the sandbox has ended");
            let output = sandbox.output();
            let ready = output.lines().find_map(|line| line.strip_prefix("ready "));
            ready.map(PathBuf::from).ok_or(output)
        })
        .await;
        let description = fs::read(described).expect("it is there when the sandbox is ready");
        let description: Description =
            serde_json::from_slice(&description).expect("the sandbox describes itself");
        let tls = trust::client_tls(&description.ca_certificate);
        Foundation {
            binaries,
            http: trust::http_client(tls.clone()),
            tls,
            description,
            sandbox,
            folder,
        }
    }
}
