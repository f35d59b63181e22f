//! Lets connections in.

use std::{io, net::SocketAddr, sync::Arc};

use actix_http::{Protocol, error::DispatchError};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{Client, ConnectionLimit, GuardedStream, Timeouts, stream::Transport};

/// The answer to a client that sends HTTP where TLS is required.
const USE_TLS: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 95\r\n\
    connection: close\r\n\r\n{\"description\":\"This port uses HTTPS. Give the broker's address with https:// \
    in front of it.\"}";

/// The HTTP library receives a connection with its attributes.
pub(in crate::api) type Admitted = (GuardedStream, Protocol, Option<SocketAddr>);

/// Accepts connections up to the limit, with TLS.
#[derive(Clone)]
pub(in crate::api) struct Acceptor {
    tls: Option<TlsAcceptor>,
    connection_limit: ConnectionLimit,
    timeouts: Timeouts,
}

impl Acceptor {
    pub(in crate::api) fn new(
        tls: Option<Arc<ServerConfig>>,
        connection_limit: ConnectionLimit,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            tls: tls.map(TlsAcceptor::from),
            connection_limit,
            timeouts,
        }
    }

    /// Accepts a connection. A rejected client gets no answer.
    pub(in crate::api) async fn admit(&self, stream: TcpStream) -> Result<Admitted, DispatchError> {
        let address = stream.peer_addr()?;
        let slot = self
            .connection_limit
            .take(Client::at(address))
            .ok_or_else(|| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        // Answers are short and written at once.
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            let transport = Transport::Plain(stream);
            let stream = GuardedStream::new(transport, self.timeouts, slot);
            return Ok((stream, Protocol::Http1, Some(address)));
        };
        let stream = timeout(self.timeouts.head, shake_hands(tls, stream))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let transport = Transport::Tls(Box::new(stream));
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
