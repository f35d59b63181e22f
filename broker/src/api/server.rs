//! Where requests come in.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix_web::{
    App, HttpServer,
    dev::ServerHandle,
    middleware::from_fn,
    web::{self, Data},
};
use rustls::ServerConfig;

use super::{edge, health, incoming, management, osb};
use crate::{
    config::{BasicCredentials, ErrorDetail, InstanceFetching, OrganizationAndSpace},
    operations::{Lifecycle, Operations},
};

/// Threads that speak HTTP. The work is done elsewhere.
const WORKERS: usize = 2;

/// How long a client may take for its request line and headers.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// How long answers may take to leave once all requests have been answered.
pub const FLUSH: Duration = Duration::from_secs(1);

/// How long an idle connection is kept. Routers in front keep theirs for less than two minutes.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// What handlers need.
#[derive(Debug)]
pub struct AppState {
    /// What can be done.
    pub operations: Operations,
    /// That it is finished.
    pub lifecycle: Lifecycle,
    /// Who may ask.
    pub credentials: BasicCredentials,
    /// What a request has from its arrival to its answer.
    pub request_budget: Duration,
    /// How much of an error users see.
    pub error_detail: ErrorDetail,
    /// Whether platforms may ask what an instance is.
    pub instance_fetching: InstanceFetching,
    /// Whether an order has to say for which organization and space it is.
    pub organization_and_space: OrganizationAndSpace,
}

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("could not listen on `{address}`")]
pub struct ListenError {
    address: SocketAddr,
    #[source]
    source: io::Error,
}

/// A server that has its port and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<ServerConfig>,
}

impl Server {
    /// Takes the port.
    pub fn listen(address: SocketAddr, tls: Option<ServerConfig>) -> Result<Self, ListenError> {
        let listener = bind(address).map_err(|source| ListenError { address, source })?;
        Ok(Self { listener, tls })
    }

    /// Answers requests until the handle stops it. The future has to be driven.
    pub fn run(
        self,
        app: AppState,
    ) -> io::Result<(ServerHandle, impl Future<Output = io::Result<()>>)> {
        let app = Data::from(Arc::new(app));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(app.clone())
                .app_data(web::PayloadConfig::new(incoming::MAX_BODY))
                .app_data(web::PathConfig::default().error_handler(|_, _| incoming::bad_path()))
                .wrap(from_fn(edge::authenticate))
                .wrap(from_fn(edge::attend))
                .service(health::health)
                .service(osb::scope())
                .service(management::scope())
                .default_service(web::to(edge::no_such_path))
        })
        .workers(WORKERS)
        .client_request_timeout(HEADER_TIME)
        .keep_alive(KEEP_ALIVE)
        .shutdown_timeout(FLUSH.as_secs())
        .disable_signals();
        let server = match self.tls {
            Some(tls) => server.listen_rustls_0_23(self.listener, tls)?,
            None => server.listen(self.listener)?,
        }
        .run();
        Ok((server.handle(), server))
    }
}

/// Where IPv6 is switched off, "all interfaces" are those of IPv4.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(address) {
        Err(error)
            if address.is_ipv6()
                && address.ip().is_unspecified()
                && error.kind() != io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind(SocketAddr::new(
                IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                address.port(),
            ))
        }
        result => result,
    }
}
