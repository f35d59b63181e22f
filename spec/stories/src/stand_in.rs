//! A server that answers in place of a broker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The longest head of a request that is read.
const REQUEST_LIMIT: usize = 16 * 1024;

/// A server that gives every client the same answer over plain HTTP.
#[derive(Debug)]
pub struct StandIn {
    url: String,
    book: Arc<Mutex<Book>>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Book {
    /// Without an answer, the server accepts requests and stays silent.
    answer: Option<(u16, String)>,
    requests: Vec<String>,
}

impl StandIn {
    /// Starts one that answers with a status and a body.
    pub async fn answering(status: u16, body: &str) -> Self {
        Self::start(Some((status, body.to_owned()))).await
    }

    /// Starts one that takes requests and never answers.
    pub async fn silent() -> Self {
        Self::start(None).await
    }

    async fn start(answer: Option<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let book = Arc::new(Mutex::new(Book {
            answer,
            requests: Vec::new(),
        }));
        let task = tokio::spawn({
            let book = book.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, book.clone()));
                }
            }
        });
        Self {
            url: format!("http://{address}"),
            book,
            task,
        }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port on which it listens.
    pub fn port(&self) -> &str {
        let (_, port) = self.url.rsplit_once(':').expect("it has a port");
        port
    }

    /// From now on it answers this.
    pub fn answer(&self, status: u16, body: &str) {
        lock(&self.book).answer = Some((status, body.to_owned()));
    }

    /// The requests received, each up to the end of its headers.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.book).requests.clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut stream: TcpStream, book: Arc<Mutex<Book>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < REQUEST_LIMIT {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let answer = {
        let mut book = lock(&book);
        let request = String::from_utf8_lossy(&request).into_owned();
        book.requests.push(request);
        book.answer.clone()
    };
    let Some((status, body)) = answer else {
        // Until the client has had enough.
        let _ = stream.read_u8().await;
        return;
    };
    let answer = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that has disconnected does not read it.
    let _ = stream.write_all(answer.as_bytes()).await;
}
