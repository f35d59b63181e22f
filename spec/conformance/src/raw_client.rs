//! A connection on which bytes are sent and nothing is understood: for clients that hang up.

use std::time::Duration;

use reqwest::{Body, RequestBuilder};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Position, Url};

/// How long the other side may take to read.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection to the broker. Dropped, it hangs up.
pub struct RawClient {
    stream: Box<dyn Stream>,
    host: String,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl RawClient {
    pub(crate) async fn connect(url: &str, tls: ClientConfig) -> Self {
        let url = Url::parse(url).expect("it is the broker's");
        let (host, port) = (url.host_str(), url.port());
        let (host, port) = host.zip(port).expect("the broker's address has both");
        let tcp = TcpStream::connect((host, port))
            .await
            .expect("the broker listens");
        let stream: Box<dyn Stream> = if url.scheme() == "https" {
            let name = ServerName::try_from(host.to_owned()).expect("it is an address");
            let tls = TlsConnector::from(std::sync::Arc::new(tls));
            Box::new(tls.connect(name, tcp).await.expect("both speak TLS"))
        } else {
            // Hanging up is a reset here; that of a TLS connection is an end without a farewell.
            tcp.set_zero_linger().expect("the connection is ours");
            Box::new(tcp)
        };
        Self {
            stream,
            host: format!("{host}:{port}"),
        }
    }

    /// Sends a request in HTTP/1.1.
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

    /// Sends bytes, which need not be a whole request.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        timeout(PATIENCE, sent)
            .await
            .expect("the broker reads")
            .expect("the broker is there");
    }

    /// Waits until the other side hangs up, and gives what it has said.
    pub async fn last_words(mut self) -> String {
        let mut said = Vec::new();
        // A broken connection is an end as well.
        let end = timeout(PATIENCE, self.stream.read_to_end(&mut said)).await;
        end.expect("the broker hangs up").ok();
        String::from_utf8_lossy(&said).into_owned()
    }
}
