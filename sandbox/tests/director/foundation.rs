//! A Director on a loopback net of its own, and manifests for it.

use std::{
    fs::Permissions,
    net::{Ipv4Addr, TcpListener},
    num::NonZeroUsize,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use odb_sandbox::{
    cpi::{AddressPool, AgentTimeouts, Cpi, CpiSettings, JobCatalog, Processes},
    credhub::{
        ALL_OPERATIONS, Acls, CredHub, CredHubSettings, Permission, Side, VERSION, director_actor,
    },
    director::{
        ConfigServer, Director, DirectorDurations, DirectorSettings, FrontEnd, UploadedRelease,
        UploadedStemcell, UserManagement,
    },
    net::LoopbackNet,
    serve::Servers,
    store::Store,
    uaa::{Signer, TokenVerifier},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

use crate::client::Client;

pub(crate) const UUID: &str = "5375f730-0f21-46c1-b6e4-646de927df62";
const CONFIG_SERVER_URL: &str = "https://127.0.0.2:8844/api/";

/// A running Director.
pub(crate) struct Foundation {
    director: Director,
    cpi: Cpi,
    signer: Signer,
    url: String,
    folder: TempDir,
    _servers: Servers,
    _net: LoopbackNet,
}

/// How a Director differs from the usual one of a test.
pub(crate) struct Options {
    pub(crate) processes: Processes,
    pub(crate) durations: DirectorDurations,
    pub(crate) jobs: PathBuf,
    pub(crate) job_user: Option<String>,
    pub(crate) config_server: WithConfigServer,
}

/// Whether a Director has a config server.
#[derive(Clone, Copy)]
pub(crate) enum WithConfigServer {
    Yes,
    No,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            processes: Processes::Real,
            durations: DirectorDurations {
                step: Duration::ZERO,
                ..DirectorDurations::default()
            },
            jobs: jobs(),
            job_user: None,
            config_server: WithConfigServer::Yes,
        }
    }
}

impl Foundation {
    /// A Director whose VMs have processes.
    pub(crate) fn start() -> Self {
        Self::with(Options::default())
    }

    /// A Director whose VMs are addresses alone.
    pub(crate) fn without_processes() -> Self {
        Self::with(Options {
            processes: Processes::None,
            ..Options::default()
        })
    }

    /// A Director without a config server, whose VMs are addresses alone.
    pub(crate) fn without_config_server() -> Self {
        Self::with(Options {
            processes: Processes::None,
            config_server: WithConfigServer::No,
            ..Options::default()
        })
    }

    /// A Director that gives up on a lock soon, with so many workers.
    pub(crate) fn impatient(workers: usize) -> Self {
        Self::with(Options {
            durations: DirectorDurations {
                lock_wait: Duration::from_millis(100),
                step: Duration::ZERO,
                workers: NonZeroUsize::new(workers).unwrap(),
                ..DirectorDurations::default()
            },
            ..Options::default()
        })
    }

    pub(crate) fn with(options: Options) -> Self {
        // All tests of one process share the provider; the first one installs it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let net = LoopbackNet::claim().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        let signer = Signer::generate("https://127.0.0.2:8443").unwrap();
        let tokens = TokenVerifier::from_rsa_public_pem(signer.public_pem()).unwrap();
        let (first, last) = net.address().vms();
        let settings_of_cpi = CpiSettings {
            catalog: JobCatalog::load(&options.jobs).unwrap(),
            folder: folder.path().to_owned(),
            addresses: AddressPool::new(first, last),
            processes: options.processes,
            job_user: options.job_user,
            agent_timeouts: AgentTimeouts::default(),
        };
        let store = Store::in_memory();
        let cpi = Cpi::new(settings_of_cpi, &store).unwrap();
        let config_server = match options.config_server {
            WithConfigServer::Yes => ConfigServer::CredHub {
                url: CONFIG_SERVER_URL.to_owned(),
                credhub: credhub(tokens.clone()),
            },
            WithConfigServer::No => ConfigServer::Off,
        };
        let director = Director::new(
            settings(options.durations, config_server),
            tokens,
            cpi.clone(),
            &store,
            Handle::current(),
        )
        .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut servers = Servers::new(Handle::current());
        let mounted = director.clone();
        servers
            .http("the Director", listener, move |cfg| mounted.configure(cfg))
            .unwrap();
        Self {
            director,
            cpi,
            signer,
            url,
            folder,
            _servers: servers,
            _net: net,
        }
    }

    /// The CPI of the VMs.
    pub(crate) fn cpi(&self) -> &Cpi {
        &self.cpi
    }

    /// A client that may do everything.
    pub(crate) fn admin(&self) -> Client {
        self.client(&["bosh.admin"])
    }

    /// A client with these scopes.
    pub(crate) fn client(&self, scopes: &[&str]) -> Client {
        Client::new(&self.url, Some(self.token("odb", "1", 300, scopes)))
    }

    /// A client without a token.
    pub(crate) fn unauthenticated_client(&self) -> Client {
        Client::new(&self.url, None)
    }

    /// A client with this token.
    pub(crate) fn client_with(&self, token: String) -> Client {
        Client::new(&self.url, Some(token))
    }

    /// A token that lives so many seconds from now.
    pub(crate) fn token(&self, client: &str, id: &str, seconds: i64, scopes: &[&str]) -> String {
        let now = i64::try_from(jsonwebtoken::get_current_timestamp()).unwrap();
        let claims = json!({"jti": id, "client_id": client, "exp": now + seconds, "scope": scopes});
        self.signer.sign(&claims).unwrap()
    }

    /// The Director itself.
    pub(crate) fn director(&self) -> &Director {
        &self.director
    }

    /// Has dead agents given up on at once.
    pub(crate) fn impatient_with_agents(&self) {
        self.cpi.set_agent_timeouts(AgentTimeouts {
            call: Duration::from_millis(50),
            state: Duration::from_millis(50),
        });
    }

    /// Ends the Director and all its processes.
    pub(crate) async fn shut_down(&self) {
        self.director.shut_down().await;
    }

    /// The folders of VMs that there are.
    pub(crate) fn vm_folders(&self) -> Vec<PathBuf> {
        let vms = std::fs::read_dir(self.folder.path().join("vms")).unwrap();
        vms.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Foundation {
    fn drop(&mut self) {
        // Also after a failed test: no process stays, and every one is reaped.
        tokio::task::block_in_place(|| Handle::current().block_on(self.shut_down()));
    }
}

/// The jobs that the sandbox is delivered with.
pub(crate) fn jobs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/sandbox/jobs")
}

/// The pids of processes whose command line mentions `text`.
pub(crate) fn processes_with(text: &str) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}

fn credhub(tokens: TokenVerifier) -> CredHub {
    let settings = CredHubSettings {
        side: Side::Bosh,
        uaa_url: "https://127.0.0.2:8443".to_owned(),
        version: VERSION,
        acls: Acls::Enforced,
        permissions: vec![Permission {
            path: "/*".to_owned().into(),
            actor: director_actor(),
            operations: ALL_OPERATIONS.into(),
        }],
    };
    CredHub::new(settings, tokens, &Store::in_memory()).unwrap()
}

fn settings(durations: DirectorDurations, config_server: ConfigServer) -> DirectorSettings {
    DirectorSettings {
        name: "TestDirector".to_owned(),
        uuid: UUID.to_owned(),
        uaa_url: "https://127.0.0.2:8443".to_owned(),
        user_management: UserManagement::Uaa,
        config_server,
        local_dns: true,
        front_end: FrontEnd::Nginx,
        releases: vec![UploadedRelease {
            name: "redis-example-service".to_owned(),
            version: "7.4".to_owned(),
            jobs: JobCatalog::load(&jobs())
                .unwrap()
                .names()
                .cloned()
                .chain(["absent".to_owned().into()])
                .collect(),
        }],
        stemcells: vec![UploadedStemcell {
            name: "ubuntu-jammy-go_agent".to_owned(),
            os: "ubuntu-jammy".to_owned(),
            version: "1.80".to_owned(),
        }],
        cloud_config: json!({
            "azs": [{"name": "z1"}, {"name": "z2"}],
            "vm_types": [{"name": "small"}, {"name": "large"}],
            "vm_extensions": [{"name": "public"}],
            "disk_types": [{"name": "1GB", "disk_size": 1024}],
            "networks": [{"name": "default", "type": "manual", "subnets": []}],
        }),
        durations,
    }
}

/// A manifest with one Redis and its errands, as a service adapter writes it.
pub(crate) fn redis(name: &str) -> Value {
    json!({
        "name": name,
        "releases": [{"name": "redis-example-service", "version": "7.4"}],
        "stemcells": [{"alias": "only-stemcell", "os": "ubuntu-jammy", "version": "1.80"}],
        "instance_groups": [
            {
                "name": "redis-server",
                "instances": 1,
                "jobs": [{
                    "name": "redis-server",
                    "release": "redis-example-service",
                    "provides": {"redis": {"shared": true}},
                    "custom_provider_definitions": [{"name": "redis-server-link", "type": "address"}],
                    "properties": {"redis": {
                        "password": "((secret_pass))",
                        "persistence": "yes",
                        "maxclients": 250,
                        "ca_cert": "((instance_certificate.ca))",
                        "unknown": "((nowhere))",
                    }},
                }],
                "vm_type": "small",
                "vm_extensions": ["public"],
                "stemcell": "only-stemcell",
                "persistent_disk_type": "1GB",
                "azs": ["z1"],
                "networks": [{"name": "default"}],
            },
            errand_group("health-check"),
            errand_group("cleanup-data"),
        ],
        "update": {
            "canaries": 1,
            "canary_watch_time": "5000-60000",
            "update_watch_time": "5000-60000",
            "max_in_flight": 1,
        },
        "variables": [
            {"name": "secret_pass", "type": "password"},
            {
                "name": "instance_certificate",
                "type": "certificate",
                "update_mode": "no-overwrite",
                "options": {"common_name": "redis", "is_ca": true},
                "consumes": {
                    "alternative_name": {"from": "redis-server-link", "properties": {"wildcard": true}},
                    "common_name": {"from": "redis-server-link"},
                },
            },
        ],
        "tags": {"product": "redis"},
    })
}

/// As [`redis`], with a password that the test knows.
pub(crate) fn redis_with_password(name: &str, password: &str) -> Value {
    let mut manifest = redis(name);
    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["password"] = json!(password);
    manifest
}

fn errand_group(name: &str) -> Value {
    json!({
        "name": name,
        "lifecycle": "errand",
        "instances": 1,
        "jobs": [{"name": name, "release": "redis-example-service"}],
        "vm_type": "small",
        "stemcell": "only-stemcell",
        "azs": ["z1"],
        "networks": [{"name": "default"}],
    })
}
