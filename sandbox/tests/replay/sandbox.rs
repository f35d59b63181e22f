//! The Director that answers: the one of the recording as far as settings go, on a loopback net of its own.

use std::{
    fs::Permissions,
    net::{Ipv4Addr, TcpListener},
    num::NonZeroUsize,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use odb_sandbox::{
    cpi::{AddressPool, AgentTimeouts, Cpi, CpiSettings, JobCatalog, Processes},
    credhub::{
        ALL_OPERATIONS, Acls, CredHub, CredHubSettings, Permission, Side, VERSION, director_actor,
    },
    director::{
        ConfigServer, Director, DirectorDurations, DirectorSettings, FrontEnd, LocalUser,
        UploadedRelease, UploadedStemcell, UserManagement,
    },
    net::LoopbackNet,
    serve::Servers,
    store::Store,
    uaa::{Signer, TokenVerifier},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Handle;

pub(crate) const USER: &str = "broker";
pub(crate) const PASSWORD: &str = "replayed";
const UUID: &str = "5375f730-0f21-46c1-b6e4-646de927df62";
const CONFIG_SERVER: &str = "https://127.0.0.1:25558";
const UAA: &str = "https://uaa.example:8443";

/// How the Director was set up when a part of the transcripts was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setup {
    /// Users of its own, no config server (files 001 to 235).
    Plain,
    /// Users of its own, local DNS and a config server.
    WithConfigServer,
    /// Users of a UAA, called without a front end (files 300 to 329).
    WithUaa,
}

/// The sandbox's Director, with its dependencies.
pub(crate) struct Sandbox {
    pub(crate) director: Director,
    pub(crate) cpi: Cpi,
    pub(crate) url: String,
    pub(crate) setup: Setup,
    signer: Signer,
    servers: Option<Servers>,
    store: Store,
    folder: TempDir,
    net: LoopbackNet,
}

impl Sandbox {
    pub(crate) fn start(setup: Setup) -> Self {
        let net = LoopbackNet::claim().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let cpi = cpi(&net, &folder, &store);
        let signer = Signer::generate(UAA).unwrap();
        let (director, servers, url) = serve(setup, &signer, &cpi, &store);
        Self {
            director,
            cpi,
            url,
            setup,
            signer,
            servers: Some(servers),
            store,
            folder,
            net,
        }
    }

    /// Stops the Director and starts it again with other settings. It reads its state from the store.
    pub(crate) async fn set_up(&mut self, setup: Setup) {
        if self.setup != setup {
            self.setup = setup;
            self.restart().await;
        }
    }

    /// Stops the Director and starts it again.
    pub(crate) async fn restart(&mut self) {
        if let Some(servers) = self.servers.take() {
            servers.stop().await;
        }
        self.director.shut_down().await;
        self.store.close();
        self.store = Store::open(self.folder.path()).unwrap();
        self.cpi = cpi(&self.net, &self.folder, &self.store);
        let (director, servers, url) = serve(self.setup, &self.signer, &self.cpi, &self.store);
        self.director = director;
        self.servers = Some(servers);
        self.url = url;
    }

    /// A token of a client with these scopes, that lives so many seconds.
    pub(crate) fn token(&self, client: &str, id: &str, seconds: i64, scopes: &[&str]) -> String {
        sign(&self.signer, client, id, seconds, scopes)
    }

    /// As [`Self::token`], signed by another owner.
    pub(crate) fn forged_token(client: &str, scopes: &[&str]) -> String {
        sign(&Signer::generate(UAA).unwrap(), client, "1", 300, scopes)
    }

    pub(crate) async fn shut_down(&self) {
        self.director.shut_down().await;
    }
}

fn cpi(net: &LoopbackNet, folder: &TempDir, store: &Store) -> Cpi {
    let (first, last) = net.address().vms();
    let settings = CpiSettings {
        catalog: JobCatalog::load(&jobs()).unwrap(),
        folder: folder.path().to_owned(),
        addresses: AddressPool::new(first, last),
        processes: Processes::Real,
        job_user: None,
        agent_timeouts: AgentTimeouts {
            call: Duration::from_secs(1),
            state: Duration::from_secs(1),
        },
    };
    Cpi::new(settings, store).unwrap()
}

fn serve(setup: Setup, signer: &Signer, cpi: &Cpi, store: &Store) -> (Director, Servers, String) {
    let tokens = TokenVerifier::from_rsa_public_pem(signer.public_pem()).unwrap();
    let config_server = match setup {
        Setup::Plain => ConfigServer::Off,
        Setup::WithConfigServer | Setup::WithUaa => ConfigServer::CredHub {
            url: CONFIG_SERVER.to_owned(),
            credhub: credhub(tokens.clone(), store),
        },
    };
    let director = Director::new(
        settings(setup, config_server),
        tokens,
        cpi.clone(),
        store,
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
    (director, servers, url)
}

fn sign(signer: &Signer, client: &str, id: &str, seconds: i64, scopes: &[&str]) -> String {
    let now = i64::try_from(jsonwebtoken::get_current_timestamp()).unwrap();
    let claims = json!({"jti": id, "client_id": client, "exp": now + seconds, "scope": scopes});
    signer.sign(&claims).unwrap()
}

fn jobs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/jobs")
}

fn credhub(tokens: TokenVerifier, store: &Store) -> CredHub {
    let settings = CredHubSettings {
        side: Side::Bosh,
        uaa_url: UAA.to_owned(),
        version: VERSION,
        acls: Acls::Enforced,
        permissions: vec![Permission {
            path: "/*".to_owned().into(),
            actor: director_actor(),
            operations: ALL_OPERATIONS.into(),
        }],
    };
    CredHub::new(settings, tokens, store).unwrap()
}

fn settings(setup: Setup, config_server: ConfigServer) -> DirectorSettings {
    let user = LocalUser {
        name: USER.to_owned(),
        password: PASSWORD.to_owned().into(),
    };
    DirectorSettings {
        name: "TestDirector".to_owned(),
        uuid: UUID.to_owned(),
        uaa_url: UAA.to_owned(),
        user_management: match setup {
            Setup::WithUaa => UserManagement::Uaa,
            Setup::Plain | Setup::WithConfigServer => UserManagement::Local(vec![user]),
        },
        config_server,
        local_dns: setup != Setup::Plain,
        front_end: match setup {
            Setup::WithUaa => FrontEnd::None,
            Setup::Plain | Setup::WithConfigServer => FrontEnd::Nginx,
        },
        releases: vec![UploadedRelease {
            name: "tiny".to_owned(),
            version: "1".to_owned(),
            jobs: ["bad-smoke", "smoke", "tiny"]
                .map(|job| job.to_owned().into())
                .to_vec(),
        }],
        stemcells: vec![UploadedStemcell {
            name: "dummy-stemcell".to_owned(),
            os: "toronto-os".to_owned(),
            version: "1.1".to_owned(),
        }],
        cloud_config: Value::Null,
        durations: DirectorDurations {
            lock_wait: Duration::from_millis(500),
            step: Duration::ZERO,
            workers: NonZeroUsize::new(3).unwrap(),
            checkpoint_interval: Duration::from_millis(100),
            checkpoint_timeout: Duration::from_secs(3),
            lock_lease: Duration::from_secs(15),
        },
    }
}
