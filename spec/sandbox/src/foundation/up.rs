//! Starting and stopping a foundation.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    net::{IpAddr, SocketAddr},
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
    settings::FoundationSettings,
};
use crate::{
    certificates::{CertificateAuthority, CertificateError, ServerCertificate},
    cloud_controller::BrokerClientError,
    control::Control,
    cpi::{CatalogError, CpiError, Processes},
    net::{ClaimError, LoopbackNet, NetAddress},
    serve::{ServeError, Servers},
    uaa::UaaError,
};

/// Where and how a foundation is started.
#[derive(Clone, Debug)]
pub struct UpOptions {
    /// The folder for everything that is written.
    pub state: PathBuf,
    /// The folder with the jobs that VMs can run.
    pub jobs: PathBuf,
    /// The net to take. Without one a free one is found.
    pub net: Option<NetAddress>,
    /// Whether VMs have processes.
    pub processes: Processes,
    /// As whom processes run, if not as the calling user.
    pub job_user: Option<String>,
}

/// A running foundation. It runs until it is stopped.
pub struct Foundation {
    servers: Servers,
    bosh: BoshSide,
    cf: CfSide,
    description_file: PathBuf,
    description: Description,
    // Claimed for as long as the foundation runs.
    _net: LoopbackNet,
}

/// A foundation could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no net for it.
    #[error("could not claim a loopback net")]
    Net(#[source] ClaimError),
    /// The state folder cannot be made.
    #[error("could not make the state folder `{}`", folder.display())]
    StateFolder {
        /// Which.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There are no certificates.
    #[error("could not make certificates")]
    Certificates(#[source] CertificateError),
    /// A UAA could not be set up.
    #[error("could not set up a UAA")]
    Uaa(#[source] UaaError),
    /// The jobs cannot be read.
    #[error("could not read the job catalog")]
    Jobs(#[source] CatalogError),
    /// The CPI could not be set up.
    #[error("could not set up the process CPI")]
    Cpi(#[source] CpiError),
    /// The Cloud Controller could not be set up.
    #[error("could not set up the Cloud Controller")]
    CloudController(#[source] BrokerClientError),
    /// A server could not be started.
    #[error("could not start a server")]
    Serve(#[source] ServeError),
    /// The control port is lost.
    #[error("could not listen for the control API")]
    Control(#[source] io::Error),
    /// A file could not be written.
    #[error("could not write to the state folder")]
    File(#[source] FileError),
    /// The settings have no space for the user.
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
        let runtime = Handle::current();
        let net = match options.net {
            Some(net) => LoopbackNet::claim_exactly(net),
            None => LoopbackNet::claim(),
        };
        let net = net.map_err(StartError::Net)?;
        let addresses = net.address();
        let description_file = options.state.join("foundation.json");
        make_folder(&options)?;
        // What a crashed sandbox left behind would tell of servers that are not there.
        files::remove(&description_file).map_err(StartError::File)?;
        let authority =
            CertificateAuthority::new(&settings.name).map_err(StartError::Certificates)?;
        let ca_certificate = write_certificates(&options, &authority, addresses)?;
        let (bosh, bosh_access) =
            BoshSide::new(settings.director, &options, addresses, runtime.clone())?;
        let (cf, cf_access) = CfSide::new(
            settings.cloud_controller,
            &authority,
            addresses,
            runtime.clone(),
        )?;
        let description = Description {
            net: addresses.to_string(),
            control: format!("http://{}", addresses.control()),
            ca_certificate,
            director: bosh_access,
            cloud_controller: cf_access,
            broker_address: addresses.broker().to_string(),
        };
        let mut servers = Servers::new(runtime);
        let started = serve(&mut servers, &net, &authority, &bosh, &cf, &description)
            .and_then(|()| write_description(&description_file, &description));
        let foundation = Self {
            servers,
            bosh,
            cf,
            description_file,
            description,
            _net: net,
        };
        match started {
            Ok(()) => Ok(foundation),
            Err(error) => {
                foundation.stop().await;
                Err(error)
            }
        }
    }

    /// The file that tells clients everything they need.
    pub fn description_file(&self) -> &Path {
        &self.description_file
    }

    /// What stands in that file.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Stops jobs and servers, then all processes. Returns when everything is gone, `foundation.json` included.
    pub async fn stop(self) {
        if let Err(error) = files::remove(&self.description_file) {
            tracing::warn!(%error, "the description of the foundation is left behind");
        }
        self.cf.cloud_controller.shut_down().await;
        self.servers.stop().await;
        self.bosh.director.shut_down().await;
    }
}

/// Makes the state folder, for its owner alone; a job user of its own must be able to reach what is below.
fn make_folder(options: &UpOptions) -> Result<(), StartError> {
    let folder = &options.state;
    let mut made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    if options.job_user.is_some() {
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
    let broker = server_certificate(authority, "broker", addresses.broker())?;
    let (certificate, key) = (
        options.state.join("broker.crt"),
        options.state.join("broker.key"),
    );
    files::write(
        &ca_certificate,
        &authority.certificate(),
        Readers::Everybody,
    )
    .and_then(|()| files::write(&certificate, &broker.certificate, Readers::Everybody))
    .and_then(|()| files::write(&key, broker.key.expose_secret(), Readers::Owner))
    .map_err(StartError::File)?;
    Ok(ca_certificate)
}

fn server_certificate(
    authority: &CertificateAuthority,
    name: &str,
    address: IpAddr,
) -> Result<ServerCertificate, StartError> {
    authority
        .server(name, &[address])
        .map_err(StartError::Certificates)
}

/// Starts the servers. The control API comes last: whoever reaches it finds the others up.
fn serve(
    servers: &mut Servers,
    net: &LoopbackNet,
    authority: &CertificateAuthority,
    bosh: &BoshSide,
    cf: &CfSide,
    description: &Description,
) -> Result<(), StartError> {
    let at = net.address();
    let (uaa, director) = (bosh.uaa.clone(), bosh.director.clone());
    https(
        servers,
        authority,
        "the Director's UAA",
        at.bosh_uaa(),
        move |app| uaa.configure(app),
    )?;
    https(
        servers,
        authority,
        "the Director",
        at.director(),
        move |app| director.configure(app),
    )?;
    let (uaa, controller) = (cf.uaa.clone(), cf.cloud_controller.clone());
    https(
        servers,
        authority,
        "the Cloud Controller's UAA",
        at.cf_uaa(),
        move |app| uaa.configure(app),
    )?;
    https(
        servers,
        authority,
        "the Cloud Controller",
        at.cloud_controller(),
        move |app| controller.configure(app),
    )?;
    let control = Control::new(description.without_secrets());
    let listener = net.control_listener().map_err(StartError::Control)?;
    servers
        .http("the control API", listener, move |app| {
            control.configure(app);
        })
        .map_err(StartError::Serve)
}

fn https(
    servers: &mut Servers,
    authority: &CertificateAuthority,
    name: &'static str,
    address: SocketAddr,
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> Result<(), StartError> {
    let tls = server_certificate(authority, name, address.ip())?
        .server_tls()
        .map_err(StartError::Certificates)?;
    servers
        .https(name, address, tls, configure)
        .map_err(StartError::Serve)
}

fn write_description(file: &Path, description: &Description) -> Result<(), StartError> {
    files::write(file, &format!("{:#}", json!(description)), Readers::Owner)
        .map_err(StartError::File)
}
