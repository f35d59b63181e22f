//! The servers of one sandbox: started together, stopped together, each with fault injection and recorded calls.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use actix_web::{
    App, HttpServer,
    dev::{Server, ServerHandle},
    middleware::from_fn,
    web::{PayloadConfig, ServiceConfig},
};
use rustls::ServerConfig;
use tokio::{runtime::Handle, task::JoinHandle};

use crate::{
    calls::{Calls, note},
    faults::{Connection, Faults, ServerName, inject},
};

/// The largest body that any server of the sandbox reads.
pub const BODY_LIMIT: usize = 4 * 1024 * 1024;
const WORKERS: usize = 2;
const CONNECTIONS: usize = 1024;
const SECONDS_TO_STOP: u64 = 5;
/// As long as nginx in front of a real Director.
const IDLE_CONNECTION: Duration = Duration::from_secs(75);
const SLOW_CLIENT: Duration = Duration::from_mins(1);

/// The running servers. They stop with [`Servers::stop`]; dropping the value leaves them running.
#[derive(Debug)]
pub struct Servers {
    runtime: Handle,
    running: Vec<(ServerHandle, JoinHandle<io::Result<()>>)>,
}

/// The middleware of every request to a server.
#[derive(Clone)]
pub struct Passage {
    pub server: ServerName,
    pub faults: Faults,
    pub calls: Calls,
}

#[derive(Debug, thiserror::Error)]
#[error("could not serve {name} on `{address}`")]
pub struct ServeError {
    name: &'static str,
    address: SocketAddr,
    #[source]
    source: io::Error,
}

impl Servers {
    /// No servers yet. Those to come are watched over by tasks of this runtime and work on threads of their own.
    pub fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            running: Vec::new(),
        }
    }

    /// Serves over TLS. `configure` is called once per worker, so what it mounts shares its state by itself.
    pub fn https(
        &mut self,
        address: SocketAddr,
        tls: ServerConfig,
        passage: Passage,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Result<(), ServeError> {
        let name = passage.server.title();
        let server = TcpListener::bind(address)
            .and_then(|listener| faulty_server(listener, tls, passage, configure))
            .map_err(|source| ServeError {
                name,
                address,
                source,
            })?;
        self.watch(server);
        Ok(())
    }

    /// Serves plain HTTP on a listener that is bound already.
    pub fn http(
        &mut self,
        name: &'static str,
        listener: TcpListener,
        configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
    ) -> Result<(), ServeError> {
        let unbound = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = listener.local_addr().map_err(|source| ServeError {
            name,
            address: unbound,
            source,
        })?;
        let server = plain_server(listener, configure).map_err(|source| ServeError {
            name,
            address,
            source,
        })?;
        self.watch(server);
        Ok(())
    }

    /// Stops all servers. Requests in progress get a few seconds to end.
    pub async fn stop(self) {
        let stops = self.running.iter().map(|(handle, _)| handle.stop(true));
        futures_util::future::join_all(stops).await;
        for (_, task) in self.running {
            match task.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a server ended with an error"),
                Err(error) => tracing::warn!(%error, "a server's task ended early"),
            }
        }
    }

    fn watch(&mut self, server: Server) {
        let handle = server.handle();
        self.running.push((handle, self.runtime.spawn(server)));
    }
}

fn plain_server(
    listener: TcpListener,
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> io::Result<Server> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(PayloadConfig::new(BODY_LIMIT))
            .configure(|app| configure(app))
    })
    .workers(WORKERS)
    .max_connections(CONNECTIONS)
    .keep_alive(IDLE_CONNECTION)
    .client_request_timeout(SLOW_CLIENT)
    .shutdown_timeout(SECONDS_TO_STOP)
    .disable_signals();
    Ok(server.listen(listener)?.run())
}

fn faulty_server(
    listener: TcpListener,
    tls: ServerConfig,
    passage: Passage,
    configure: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> io::Result<Server> {
    let server = HttpServer::new(move || {
        let Passage {
            server,
            faults,
            calls,
        } = passage.clone();
        App::new()
            .app_data(PayloadConfig::new(BODY_LIMIT))
            .configure(|app| configure(app))
            .wrap(from_fn(move |request, next| {
                inject(faults.clone(), server, request, next)
            }))
            .wrap(from_fn(move |request, next| {
                note(calls.clone(), server, request, next)
            }))
    })
    .on_connect(|stream, connection| {
        if let Some(hold) = Connection::of(stream) {
            connection.insert(hold);
        }
    })
    .workers(WORKERS)
    .max_connections(CONNECTIONS)
    .keep_alive(IDLE_CONNECTION)
    .client_request_timeout(SLOW_CLIENT)
    .tls_handshake_timeout(SLOW_CLIENT)
    .shutdown_timeout(SECONDS_TO_STOP)
    .disable_signals();
    Ok(server.listen_rustls_0_23(listener, tls)?.run())
}
