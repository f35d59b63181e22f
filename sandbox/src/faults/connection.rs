//! A second hold on a connection.

use std::{
    any::Any,
    net::{Shutdown, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::rt::net::TcpStream as AsyncTcpStream;

/// A connection that a server has accepted. It is closed when the server has let go of it and so have all of these.
#[derive(Clone, Debug)]
pub(crate) struct Connection(Arc<TcpStream>);

impl Connection {
    /// Takes hold of what a server has accepted, TLS or not.
    pub(crate) fn of(stream: &dyn Any) -> Option<Self> {
        let socket = socket(stream)?;
        // Without a free descriptor, the connection is still served; it cannot be cut.
        let second = socket.try_clone_to_owned().ok()?;
        Some(Self(Arc::new(second.into())))
    }

    /// Ends it in both directions immediately. No further byte of the server arrives, not even the end of the TLS
    /// session.
    pub(super) fn cut(&self) {
        // It may be gone already, which is as good.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn socket(stream: &dyn Any) -> Option<BorrowedFd<'_>> {
    let tls = stream.downcast_ref::<TlsStream<AsyncTcpStream>>();
    tls.map(|tls| tls.get_ref().0)
        .or_else(|| stream.downcast_ref())
        .map(AsFd::as_fd)
}
