//! Starting and stopping a foundation.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use actix_web::web::ServiceConfig;
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::runtime::Handle;

use super::{
    bosh::BoshSide,
    cf::CfSide,
    description::Description,
    files::{self, FileError, Readers},
    identity::Identity,
    settings::FoundationSettings,
};
use crate::{
    calls::Calls,
    certificates::{CertificateAuthority, CertificateError, server_tls},
    cloud_controller::CloudControllerError,
    control::{Control, Controls},
    cpi::{CatalogError, Cpi, CpiError, Processes},
    director::Director,
    faults::{Faults, ServerName},
    net::{ClaimError, LoopbackNet, NetAddress},
    serve::{Passage, ServeError, Servers},
    store::{Store, StoreError},
    uaa::UaaError,
};

/// The name of the file with everything that clients need.
pub const DESCRIPTION_FILE: &str = "foundation.json";

#[derive(Clone, Debug)]
pub struct UpOptions {
    pub state: PathBuf,
    /// The folders with the jobs that VMs can run. Of two jobs with one name that of the later folder counts.
    pub jobs: Vec<PathBuf>,
    /// The net to take. Without one a free one is found.
    pub net: Option<NetAddress>,
    /// Whether VMs have processes.
    pub processes: Processes,
    /// As whom processes run, if not as the calling user.
    pub job_user: Option<String>,
    /// Whether the next start in the folder finds what this one leaves.
    pub persistence: Persistence,
}

/// Whether a foundation outlives its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Everything is kept in the folder, and a start there finds it again.
    Kept,
    /// Every start begins anew.
    Forgotten,
}

/// A running foundation. It runs until it is stopped.
pub struct Foundation {
    servers: Servers,
    bosh: BoshSide,
    cf: CfSide,
    description_file: PathBuf,
    description: Description,
    faults: Faults,
    calls: Calls,
    control: Control,
    store: Store,
    // Claimed for as long as the foundation runs.
    net: LoopbackNet,
}

/// A foundation could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("could not claim a loopback net")]
    Net(#[source] ClaimError),
    #[error("could not make the state folder `{}`", folder.display())]
    StateFolder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not make certificates")]
    Certificates(#[source] CertificateError),
    #[error("could not set up a UAA")]
    Uaa(#[source] UaaError),
    #[error("could not read the job catalog")]
    Jobs(#[source] CatalogError),
    #[error("could not set up the process CPI")]
    Cpi(#[source] CpiError),
    #[error("could not set up the Cloud Controller")]
    CloudController(#[source] CloudControllerError),
    #[error("could not start a server")]
    Serve(#[source] ServeError),
    #[error("could not listen for the control API")]
    Control(#[source] io::Error),
    #[error("could not write to the state folder")]
    File(#[source] FileError),
    #[error("could not read the state folder")]
    Store(#[source] StoreError),
    #[error("the state folder is that of a foundation on the net `{saved}`, not `{wanted}`")]
    OtherNet {
        saved: NetAddress,
        wanted: NetAddress,
    },
    #[error("the Cloud Controller has no space")]
    NoSpace,
}

impl Foundation {
    /// Starts everything and, last, writes `foundation.json` into the state folder. When anything fails, what had been
    /// started is stopped.
    pub async fn start(
        settings: FoundationSettings,
        options: UpOptions,
    ) -> Result<Self, StartError> {
        Self::start_on(None, settings, options).await
    }

    /// The same on a net that is claimed already.
    pub async fn start_on(
        net: Option<LoopbackNet>,
        settings: FoundationSettings,
        options: UpOptions,
    ) -> Result<Self, StartError> {
        make_folder(&options)?;
        let store = open_store(&options).await?;
        let started = Self::start_with(&store, net, settings, options).await;
        if started.is_err() {
            close_store(store).await;
        }
        started
    }

    async fn start_with(
        store: &Store,
        net: Option<LoopbackNet>,
        settings: FoundationSettings,
        options: UpOptions,
    ) -> Result<Self, StartError> {
        let runtime = Handle::current();
        let mut identity = Identity::find(store, &settings.name, options.net, net)?;
        let addresses = identity.net.address();
        let description_file = options.state.join(DESCRIPTION_FILE);
        // The file of a crashed sandbox would describe servers that do not exist.
        files::remove(&description_file).map_err(StartError::File)?;
        let ca_certificate = write_certificates(&options, &identity.authority, addresses)?;
        let fleet = settings.director.fleet_pattern();
        let (bosh, bosh_access) = BoshSide::new(
            settings.director,
            &options,
            &mut identity,
            store,
            runtime.clone(),
        )?;
        let (cf, cf_access) = CfSide::new(
            settings.cloud_controller,
            &mut identity,
            store,
            runtime.clone(),
        )?;
        identity.save();
        let description = Description {
            net: addresses.to_string(),
            control: format!("http://{}", addresses.control()),
            ca_certificate,
            director: bosh_access,
            cloud_controller: cf_access,
            broker_address: addresses.broker().to_string(),
        };
        let (faults, calls) = (Faults::default(), Calls::default());
        let control = Control::new(
            description.without_secrets(),
            Controls {
                faults: faults.clone(),
                calls: calls.clone(),
                director: bosh.director.clone(),
                cpi: bosh.cpi.clone(),
                cloud_controller: cf.cloud_controller.clone(),
                fleet,
                bosh_uaa: bosh.uaa.clone(),
                cf_uaa: cf.uaa.clone(),
            },
        );
        let mut foundation = Self {
            servers: Servers::new(runtime),
            bosh,
            cf,
            description_file,
            description,
            faults,
            calls,
            control,
            store: store.clone(),
            net: identity.net,
        };
        let started = foundation
            .serve(&identity.authority)
            .and_then(|()| foundation.write_description());
        match started {
            Ok(()) => Ok(foundation),
            Err(error) => {
                foundation.stop().await;
                Err(error)
            }
        }
    }

    pub fn description_file(&self) -> &Path {
        &self.description_file
    }

    pub fn description(&self) -> &Description {
        &self.description
    }

    /// How its servers are made to fail.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    pub fn director(&self) -> &Director {
        &self.bosh.director
    }

    pub fn cpi(&self) -> &Cpi {
        &self.bosh.cpi
    }

    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Waits for a request to the control API to replace the foundation. The program that started this one then stops
    /// it, calls [`wipe`](super::wipe) on its folder and starts another on the same net.
    pub async fn reset_wanted(&self) {
        self.control.reset_wanted().await;
    }

    /// Stops jobs and servers, then all processes. Returns when everything is gone, `foundation.json` included, with
    /// the net, which can be given back or used again.
    pub async fn stop(self) -> LoopbackNet {
        if let Err(error) = files::remove(&self.description_file) {
            tracing::warn!(%error, "the description of the foundation is left behind");
        }
        self.cf.cloud_controller.shut_down().await;
        self.servers.stop().await;
        self.bosh.director.shut_down().await;
        close_store(self.store).await;
        self.net
    }

    /// Starts the servers. The control API comes last: when it answers, the others are up.
    fn serve(&mut self, authority: &CertificateAuthority) -> Result<(), StartError> {
        let at = self.net.address();
        let mut tls = FaultyServers {
            servers: &mut self.servers,
            authority,
            faults: &self.faults,
            calls: &self.calls,
        };
        let (uaa, director) = (self.bosh.uaa.clone(), self.bosh.director.clone());
        tls.start(ServerName::BoshUaa, at.bosh_uaa(), move |app| {
            uaa.configure(app);
        })?;
        tls.start(ServerName::Director, at.director(), move |app| {
            director.configure(app);
        })?;
        let (uaa, controller) = (self.cf.uaa.clone(), self.cf.cloud_controller.clone());
        tls.start(ServerName::CfUaa, at.cf_uaa(), move |app| {
            uaa.configure(app);
        })?;
        tls.start(
            ServerName::CloudController,
            at.cloud_controller(),
            move |app| controller.configure(app),
        )?;
        if let Some(credhub) = self.bosh.credhub.clone() {
            tls.start(ServerName::Credhub, at.bosh_credhub(), move |app| {
                credhub.configure(app);
            })?;
        }
        let credhub = self.cf.credhub.clone();
        tls.start(
            ServerName::RuntimeCredhub,
            at.runtime_credhub(),
            move |app| credhub.configure(app),
        )?;
        let control = self.control.clone();
        let listener = self.net.control_listener().map_err(StartError::Control)?;
        self.servers
            .http("the control API", listener, move |app| {
                control.configure(app);
            })
            .map_err(StartError::Serve)
    }

    fn write_description(&self) -> Result<(), StartError> {
        let text = format!("{:#}", json!(self.description));
        files::write(&self.description_file, &text, Readers::Owner).map_err(StartError::File)
    }
}

async fn open_store(options: &UpOptions) -> Result<Store, StartError> {
    match options.persistence {
        Persistence::Forgotten => Ok(Store::in_memory()),
        Persistence::Kept => {
            let folder = options.state.clone();
            let opened = tokio::task::spawn_blocking(move || Store::open(&folder)).await;
            opened
                .expect("opening a store does not panic and is never cancelled")
                .map_err(StartError::Store)
        }
    }
}

async fn close_store(store: Store) {
    if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
        tracing::warn!(%error, "the state was not closed in good order");
    }
}

/// Makes the state folder, for its owner alone; a job user of its own must be able to reach what is below.
fn make_folder(options: &UpOptions) -> Result<(), StartError> {
    let folder = &options.state;
    let is_new = !folder.exists();
    let mut made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    // The rights on a folder that was there are its owner's business.
    if options.job_user.is_some() && is_new {
        made = made.and_then(|()| fs::set_permissions(folder, Permissions::from_mode(0o711)));
    }
    made.map_err(|source| StartError::StateFolder {
        folder: folder.clone(),
        source,
    })
}

/// Writes the certificate of the authority, and a certificate with its key for the broker under test.
fn write_certificates(
    options: &UpOptions,
    authority: &CertificateAuthority,
    addresses: NetAddress,
) -> Result<PathBuf, StartError> {
    let ca_certificate = options.state.join("ca.pem");
    let broker = authority
        .server("broker", &[addresses.broker()])
        .map_err(StartError::Certificates)?;
    let (certificate, key) = (
        options.state.join("broker.crt"),
        options.state.join("broker.key"),
    );
    files::write(&ca_certificate, authority.certificate(), Readers::World)
        .and_then(|()| files::write(&certificate, &broker.certificate, Readers::World))
        .and_then(|()| files::write(&key, broker.key.expose_secret(), Readers::Owner))
        .map_err(StartError::File)?;
    Ok(ca_certificate)
}

struct FaultyServers<'a> {
    servers: &'a mut Servers,
    authority: &'a CertificateAuthority,
    faults: &'a Faults,
    calls: &'a Calls,
}

impl FaultyServers<'_> {
    fn start(
        &mut self,
        server: ServerName,
        address: SocketAddr,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Result<(), StartError> {
        let name = server.title();
        let tls = self
            .authority
            .presented(server, name, address.ip(), self.faults.clone())
            .and_then(server_tls)
            .map_err(StartError::Certificates)?;
        let passage = Passage {
            server,
            faults: self.faults.clone(),
            calls: self.calls.clone(),
        };
        self.servers
            .https(address, tls, passage, configure)
            .map_err(StartError::Serve)
    }
}
