//! Where requests come in.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use actix_http::HttpService;
use actix_service::{ServiceFactoryExt, fn_service, map_config};
use actix_web::{
    App,
    dev::{AppConfig, Server as HttpServer, ServerHandle},
    guard,
    middleware::from_fn,
    web::{self, Data},
};
use odb_config::{Broker, Timings};
use odb_core::operations::{Lifecycle, Operations};
use tokio::sync::Semaphore;

use super::{
    authentication::{self, AuthenticationThrottle},
    connection::{Acceptor, ConnectionLimit, GuardedStream, LINGER, Timeouts},
    edge, endpoints, incoming, management, osb, receive,
    tls::ServedTls,
    unauthenticated::UnauthenticatedLog,
};
use crate::ui::{self, Page};

const WORKERS: usize = 2;

/// How long answers may take to leave once all requests have been answered.
pub const FLUSH: Duration = Duration::from_secs(1);

/// The library cuts no connection off: how long requests may take is for [`Lifecycle::drain`], and then the process
/// ends.
const NEVER: u64 = u64::MAX;

const AFTER_THE_LIBRARY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct AppState {
    pub operations: Operations,
    pub lifecycle: Lifecycle,
    /// Its configuration file.
    pub file: PathBuf,
    /// One examination of the upstreams at a time.
    pub examinations: Arc<Semaphore>,
    /// How the broker listens, stops and treats its requests.
    pub broker: Broker,
    /// The page for operators, where it is switched on.
    pub page: Option<Page>,
}

impl AppState {
    /// The page, if a path is one of the page.
    pub(super) fn page_at(&self, path: &str) -> Option<&Page> {
        self.page.as_ref().filter(|_| ui::is_page(path))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("could not listen on `{address}`")]
pub struct ListenError {
    address: SocketAddr,
    #[source]
    source: io::Error,
}

#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<ServedTls>,
}

impl Server {
    pub fn listen(address: SocketAddr, tls: Option<ServedTls>) -> Result<Self, ListenError> {
        let listener = bind(address).map_err(|source| ListenError { address, source })?;
        Ok(Self { listener, tls })
    }

    /// Answers requests until the handle stops it. The future has to be driven.
    pub fn run(
        self,
        app: AppState,
    ) -> io::Result<(ServerHandle, impl Future<Output = io::Result<()>>)> {
        let timings = app.broker.timings;
        let stopping = app.lifecycle.stopping();
        let timeouts = timeouts(&timings);
        let acceptor = Acceptor::new(
            self.tls,
            ConnectionLimit::new(timings.connections),
            timeouts,
        );
        let throttle = Data::new(AuthenticationThrottle::new(timings.failed_authentication));
        let unauthenticated = Data::new(UnauthenticatedLog::new(app.lifecycle.clone()));
        let catalog = Data::new(osb::Catalog::of(&app));
        let has_page = app.page.is_some();
        let app = Data::from(Arc::new(app));
        let routes = move || {
            App::new()
                .app_data(app.clone())
                .app_data(throttle.clone())
                .app_data(unauthenticated.clone())
                .app_data(catalog.clone())
                .app_data(web::PayloadConfig::new(incoming::MAX_BODY))
                .app_data(web::PathConfig::default().error_handler(|_, _| incoming::bad_path()))
                .wrap(from_fn(receive::receive))
                .wrap(from_fn(authentication::authenticate))
                .wrap(from_fn(edge::attend))
                .wrap(from_fn(edge::count))
                .service(
                    web::resource(endpoints::HEALTH)
                        .guard(guard::Get())
                        .to(endpoints::health),
                )
                .service(edge::resource(
                    "/metrics",
                    "GET",
                    [web::get().to(endpoints::process_metrics)],
                ))
                .service(osb::scope())
                .service(management::scope())
                .configure(|routes| {
                    if has_page {
                        ui::serve(routes);
                    }
                })
                .default_service(web::to(edge::no_such_path))
        };
        let server = HttpServer::build()
            .workers(WORKERS)
            .shutdown_timeout(NEVER)
            .disable_signals()
            .listen("broker", self.listener, move || {
                let (acceptor, stopping) = (acceptor.clone(), stopping.clone());
                let http = HttpService::build()
                    .client_request_timeout(timings.request_head)
                    .client_disconnect_timeout(LINGER)
                    .keep_alive(timings.idle_connection)
                    .graceful_shutdown_signal(move || stopping.clone().cancelled_owned())
                    .on_connect_ext(|stream: &GuardedStream, data| {
                        data.insert(stream.activity());
                    })
                    .finish(map_config(routes(), |()| AppConfig::default()));
                fn_service(move |stream| {
                    let acceptor = acceptor.clone();
                    async move { acceptor.admit(stream).await }
                })
                .and_then(http)
            })?
            .run();
        Ok((server.handle(), server))
    }
}

fn timeouts(timings: &Timings) -> Timeouts {
    Timeouts {
        head: timings.request_head + AFTER_THE_LIBRARY,
        idle: timings.idle_connection + AFTER_THE_LIBRARY,
        write: timings.answer_unread,
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
