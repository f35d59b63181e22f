//! A connection on which bytes are sent and nothing is understood: for clients that hang up.

use std::{io, net::IpAddr, time::Duration};

use reqwest::{Body, RequestBuilder};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpSocket,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Position, Url};

/// How long the other side may take to read.
const TIMEOUT: Duration = Duration::from_secs(30);

pub struct RawClient {
    stream: Box<dyn Stream>,
    host: String,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl RawClient {
    pub(crate) async fn connect(url: &str, tls: ClientConfig) -> Self {
        let connected = Self::connect_from(None, url, tls).await;
        connected.expect("the broker listens with the same protocol")
    }

    pub(crate) async fn connect_from(
        local: Option<&str>,
        url: &str,
        tls: ClientConfig,
    ) -> io::Result<Self> {
        let url = Url::parse(url).expect("it is the broker's");
        let (host, port) = (url.host_str(), url.port());
        let (host, port) = host.zip(port).expect("the broker's address has both");
        let socket = TcpSocket::new_v4()?;
        if let Some(local) = local {
            let local: IpAddr = local.parse().expect("it is an address");
            socket.bind((local, 0).into())?;
        }
        let address: IpAddr = host.parse().expect("brokers of tests have addresses");
        let tcp = socket.connect((address, port).into()).await?;
        let stream: Box<dyn Stream> = if url.scheme() == "https" {
            let name = ServerName::try_from(host.to_owned()).expect("it is an address");
            let tls = TlsConnector::from(std::sync::Arc::new(tls));
            Box::new(tls.connect(name, tcp).await?)
        } else {
            // Hanging up is a reset here; that of a TLS connection is an end without a close_notify.
            tcp.set_zero_linger()?;
            Box::new(tcp)
        };
        Ok(Self {
            stream,
            host: format!("{host}:{port}"),
        })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub async fn send(&mut self, request: RequestBuilder) {
        let request = request.build().expect("the request is complete");
        let body = request.body().and_then(Body::as_bytes).unwrap_or_default();
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n",
            request.method(),
            &request.url()[Position::BeforePath..],
            self.host,
            body.len()
        )
        .into_bytes();
        for (name, value) in request.headers() {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend(b"\r\n");
        bytes.extend(body);
        self.send_bytes(&bytes).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        timeout(TIMEOUT, sent)
            .await
            .expect("the broker reads")
            .expect("the broker is there");
    }

    /// Sends bytes as long as the other side takes them, `limit` at most, and gives how many it has taken.
    pub async fn flood(&mut self, bytes: impl Iterator<Item = Vec<u8>>, limit: usize) -> usize {
        let mut sent = 0;
        for bytes in bytes {
            let write = async {
                self.stream.write_all(&bytes).await?;
                self.stream.flush().await
            };
            match timeout(TIMEOUT, write).await {
                Ok(Ok(())) if sent < limit => sent += bytes.len(),
                // It has hung up, or does not read any more.
                _ => break,
            }
        }
        sent
    }

    /// Reads until the other side has said this.
    pub async fn read_until(&mut self, text: &str) -> String {
        let mut said = Vec::new();
        let received = async {
            while !String::from_utf8_lossy(&said).contains(text) {
                if self.stream.read_buf(&mut said).await? == 0 {
                    break;
                }
            }
            io::Result::Ok(())
        };
        let received = timeout(TIMEOUT, received).await;
        received.expect("the broker sends something").ok();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains(text), "{said}");
        said
    }

    /// Waits until the other side hangs up, and gives what it has said.
    pub async fn last_words(mut self) -> String {
        let mut said = Vec::new();
        // A broken connection is an end as well.
        let end = timeout(TIMEOUT, self.stream.read_to_end(&mut said)).await;
        end.expect("the broker hangs up").ok();
        String::from_utf8_lossy(&said).into_owned()
    }
}
