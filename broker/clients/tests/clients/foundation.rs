//! Servers for the tests: HTTP/1.1 over TLS, each with its own address and certificate.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use odb_clients::{
    director::{Credentials, Director},
    http::{Call, Limits, Trust},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivatePkcs8KeyDer},
};

/// A running server. It ends when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) certificate: String,
    log: Log,
    task: JoinHandle<()>,
}

#[derive(Clone, Default)]
struct Log {
    seen: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
    came: Arc<Notify>,
}

/// A request as the server got it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// The behaviour of a server for a request.
pub(crate) enum Reply {
    /// A complete answer.
    Response {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// An answer whose body is truncated.
    CutShort,
    /// The connection is closed without a byte.
    HangUp,
    /// Nothing ever comes.
    Silence,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Response {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub(crate) fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Response {
                status,
                mut headers,
                body,
            } => {
                headers.push((name, value.into()));
                Self::Response {
                    status,
                    headers,
                    body,
                }
            }
            other @ (Self::CutShort | Self::HangUp | Self::Silence) => other,
        }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Response {
                status,
                headers,
                body,
            } => {
                let mut text = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    write!(text, "{name}: {value}\r\n").unwrap();
                }
                Some(format!("{text}\r\n{body}").into_bytes())
            }
            Self::CutShort => {
                Some(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"man".to_vec())
            }
            Self::HangUp | Self::Silence => None,
        }
    }
}

impl Request {
    /// `METHOD /path?query`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![key.cert.der().clone()],
                PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()).into(),
            )
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let log = Log::default();
        let task = tokio::spawn(serve(
            listener,
            TlsAcceptor::from(Arc::new(config)),
            Arc::new(answer),
            log.clone(),
        ));
        Self {
            url,
            certificate: key.cert.pem(),
            log,
            task,
        }
    }

    /// The requests so far, in the order in which they came.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.log.seen.lock().unwrap().clone()
    }

    /// Request lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Request::line).collect()
    }

    /// How many connections have been opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::Relaxed)
    }

    pub(crate) async fn wait_for_requests(&self, count: usize) {
        let came = async {
            while self.seen().len() < count {
                self.log.came.notified().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), came).await;
        waited.unwrap_or_else(|_| {
            panic!("{count} requests should have come, not {:?}", self.lines())
        });
    }

    /// Stops listening and closes all connections.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        let ended = (&mut self.task).await;
        assert!(ended.unwrap_err().is_cancelled());
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::only(&self.certificate).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    tls: TlsAcceptor,
    answer: Arc<impl Fn(&Request) -> Reply + Send + Sync + 'static>,
    log: Log,
) {
    // Ends all connections with the server.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        log.connections.fetch_add(1, Ordering::Relaxed);
        connections.spawn(converse(stream, tls.clone(), answer.clone(), log.clone()));
    }
}

async fn converse(
    stream: TcpStream,
    tls: TlsAcceptor,
    answer: Arc<impl Fn(&Request) -> Reply>,
    log: Log,
) {
    let Ok(mut stream) = tls.accept(stream).await else {
        return;
    };
    while let Ok(request) = read(&mut stream).await {
        log.seen.lock().unwrap().push(request.clone());
        log.came.notify_one();
        let reply = answer(&request);
        match reply.bytes() {
            Some(bytes) => {
                let sent = stream.write_all(&bytes).await.and(stream.flush().await);
                if sent.is_err() || matches!(reply, Reply::CutShort) {
                    return;
                }
            }
            None if matches!(reply, Reply::Silence) => std::future::pending().await,
            None => return,
        }
    }
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().lines();
    let mut first = lines.next().unwrap().split(' ').map(str::to_owned);
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Request {
        method: first.next().unwrap(),
        target: first.next().unwrap(),
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}

/// Time enough for everything but a test that hangs.
pub(crate) fn call() -> Call {
    Call::within(Duration::from_secs(30)).with_request_id("req-1")
}

/// The usual limits with short pauses.
pub(crate) fn limits() -> Limits {
    Limits {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(2),
        ..Limits::default()
    }
}

pub(crate) const BASIC_INFO: &str = r#"{"name":"TestDirector","uuid":"5375f730-0f21-46c1-b6e4-646de927df62","version":"277.3.0 (3604d808)","user":null,"cpi":"test-cpi","stemcell_os":"-","stemcell_version":"-","user_authentication":{"type":"basic","options":{}},"features":{"local_dns":{"status":false,"extras":{"domain_name":"bosh"}},"snapshots":{"status":false},"config_server":{"status":true,"extras":{"urls":[]}}}}"#;

pub(crate) fn uaa_info(url: &str, user: Option<&str>) -> String {
    let user = user.map_or("null".to_owned(), |user| format!("\"{user}\""));
    format!(
        r#"{{"name":"TestDirector","uuid":"u","version":"277.3.0","user":{user},"user_authentication":{{"type":"uaa","options":{{"url":"{url}","urls":["{url}"]}}}}}}"#
    )
}

pub(crate) const PASSWORD: &str = "pAssw0rd/+:%";

pub(crate) fn basic() -> Credentials {
    Credentials::Basic {
        username: "broker".to_owned(),
        password: PASSWORD.into(),
    }
}

/// A Director with its own users that answers `/info`, and a client of it.
pub(crate) async fn director(
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, Director) {
    director_with(limits(), answer).await
}

pub(crate) async fn director_with(
    limits: Limits,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, Director) {
    let server = Server::start(move |request| match request.path() {
        "/info" => Reply::ok(BASIC_INFO),
        _ => answer(request),
    })
    .await;
    let client = Director::connect(&call(), &server.url, &server.trust(), basic(), limits)
        .await
        .unwrap();
    server.log.seen.lock().unwrap().clear();
    (server, client)
}

/// A UAA that issues the tokens `token-1`, `token-2` and so on.
pub(crate) async fn uaa(expires_in: u64) -> Server {
    let given = Mutex::new(0);
    Server::start(move |_| {
        let mut given = given.lock().unwrap();
        *given += 1;
        Reply::ok(format!(
            r#"{{"access_token":"token-{given}","token_type":"bearer","expires_in":{expires_in},"scope":"bosh.admin","jti":"j"}}"#
        ))
    })
    .await
}

/// A Director that takes tokens of `uaa`, and a client of it.
pub(crate) async fn uaa_director(
    uaa: &Server,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, Director) {
    let info = uaa_info(&uaa.url, None);
    let server =
        Server::start(
            move |request| match (request.path(), request.header("authorization")) {
                ("/info", "") => Reply::ok(info.clone()),
                _ => answer(request),
            },
        )
        .await;
    let trust = Trust::only(&format!("{}{}", server.certificate, uaa.certificate)).unwrap();
    let credentials = Credentials::Uaa {
        client_id: "broker".to_owned(),
        client_secret: PASSWORD.into(),
    };
    let client = Director::connect(&call(), &server.url, &trust, credentials, limits())
        .await
        .unwrap();
    server.log.seen.lock().unwrap().clear();
    (server, client)
}

/// An error and all its causes, as text and as debug text.
pub(crate) fn everything(error: &dyn std::error::Error) -> String {
    let mut text = format!("{error:?}");
    let mut cause = Some(error);
    while let Some(error) = cause {
        write!(text, "\n{error}").unwrap();
        cause = error.source();
    }
    text
}
