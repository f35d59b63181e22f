//! As much of HTTP/1.1 as a broker for tests needs.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};
use url::Url;

/// A request, read to its end.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) method: String,
    /// The segments of the path, still encoded.
    pub(super) path: Vec<String>,
    pub(super) query: BTreeMap<String, String>,
    /// By the names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
    /// The names as they were written.
    pub(super) spelled: Vec<String>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Value>,
}

impl Outgoing {
    pub(super) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: BTreeMap::from([("Content-Type".to_owned(), "application/json".to_owned())]),
            body: Some(body),
        }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// Reads one request; nothing where the client hangs up.
pub(super) async fn read(stream: &mut BufReader<TcpStream>) -> Option<Incoming> {
    let line = line(stream).await?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut headers, mut spelled) = (BTreeMap::new(), Vec::new());
    loop {
        let line = self::line(stream).await?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        spelled.push(name.to_owned());
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let url = Url::parse("http://broker")
        .and_then(|base| base.join(&target))
        .ok()?;
    let path = url.path().split('/').skip(1).map(str::to_owned).collect();
    let query = url.query_pairs().into_owned().collect();
    Some(Incoming {
        method,
        path,
        query,
        headers,
        body,
        spelled,
    })
}

/// Answers, and hangs up.
pub(super) async fn write(stream: &mut BufReader<TcpStream>, answer: Outgoing) {
    let body = answer.body.map(|body| body.to_string()).unwrap_or_default();
    let mut text = format!(
        "HTTP/1.1 {} Response\r\nConnection: close\r\nContent-Length: {}\r\n",
        answer.status,
        body.len()
    );
    for (name, value) in &answer.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    text.push_str(&body);
    // A client that is gone needs no answer.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}
