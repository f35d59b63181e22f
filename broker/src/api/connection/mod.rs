//! A client's connection: its address, its limits, its end.
//!
//! These limits are below the HTTP library: it has a deadline for the head of the first request of a connection, but
//! none for the heads of later ones, for bodies or for answers that are not read (`docs/contributing/security.md` lists
//! all limits). The edge supports HTTP/1.1 only, which platforms and routers use; the library has no limits for HTTP/2.

mod activity;
mod connection_limit;
mod stream;

use std::{io, net::SocketAddr};

use actix_http::{Protocol, error::DispatchError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::either::Either;

use super::tls::ServedTls;

pub(super) use activity::LINGER;
pub(crate) use activity::{Activity, InFlight};
pub(super) use connection_limit::{Client, ConnectionLimit};
pub(super) use stream::{GuardedStream, Timeouts};

const USE_TLS: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 95\r\n\
    connection: close\r\n\r\n{\"description\":\"This port uses HTTPS. Give the broker's address with https:// \
    in front of it.\"}";

pub(super) type Admitted = (GuardedStream, Protocol, Option<SocketAddr>);

#[derive(Clone)]
pub(super) struct Acceptor {
    tls: Option<ServedTls>,
    connection_limit: ConnectionLimit,
    timeouts: Timeouts,
}

impl Acceptor {
    pub(super) fn new(
        tls: Option<ServedTls>,
        connection_limit: ConnectionLimit,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            tls,
            connection_limit,
            timeouts,
        }
    }

    pub(super) async fn admit(&self, stream: TcpStream) -> Result<Admitted, DispatchError> {
        let address = stream.peer_addr()?;
        let slot = self
            .connection_limit
            .take(Client::at(address))
            .ok_or_else(|| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        // Answers are short and written at once.
        stream.set_nodelay(true)?;
        let transport = match &self.tls {
            None => Either::Left(stream),
            Some(tls) => {
                let tls = TlsAcceptor::from(tls.borrow().clone());
                let stream = timeout(self.timeouts.head, shake_hands(&tls, stream)).await;
                let timed_out = |_| io::Error::from(io::ErrorKind::TimedOut);
                Either::Right(Box::new(stream.map_err(timed_out)??))
            }
        };
        let stream = GuardedStream::new(transport, self.timeouts, slot);
        Ok((stream, Protocol::Http1, Some(address)))
    }
}

async fn shake_hands(
    tls: &TlsAcceptor,
    mut stream: TcpStream,
) -> io::Result<tokio_rustls::server::TlsStream<TcpStream>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    // A method begins with a letter, a handshake with 22.
    if first[0].is_ascii_uppercase() {
        // Unread bytes would reset the connection before the answer arrives.
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        stream.write_all(USE_TLS.as_bytes()).await?;
        stream.shutdown().await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    tls.accept(stream).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_plain_http_is_as_long_as_it_says() {
        let (head, body) = USE_TLS.split_once("\r\n\r\n").unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        assert_eq!(length, Some(body.len().to_string().as_str()));
        assert!(
            serde_json::from_str::<serde_json::Value>(body).unwrap()["description"].is_string()
        );
    }
}
