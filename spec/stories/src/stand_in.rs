//! A server that answers in place of a broker, or of another service.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The longest request that is read.
const REQUEST_LIMIT: usize = 16 * 1024;

/// A server with configured answers over plain HTTP.
#[derive(Debug)]
pub struct StandIn {
    url: String,
    book: Arc<Mutex<Book>>,
    task: JoinHandle<()>,
}

type Reply = (u16, String);

#[derive(Debug, Default)]
struct Book {
    /// To requests such as `GET /mgmt/metrics`, without their queries. The last answer stays.
    answers: HashMap<String, VecDeque<Reply>>,
    /// To all others. Without it the server accepts them and stays silent.
    usual: Option<Reply>,
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

    async fn start(usual: Option<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let book = Arc::new(Mutex::new(Book {
            usual,
            ..Book::default()
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

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn port(&self) -> &str {
        let (_, port) = self.url.rsplit_once(':').expect("it has a port");
        port
    }

    /// From now on, the answer to everything that has none of its own.
    pub fn answer(&self, status: u16, body: &str) {
        lock(&self.book).usual = Some((status, body.to_owned()));
    }

    /// From now on, the answer to requests such as `GET /mgmt/metrics`.
    pub fn answers(&self, request: &str, status: u16, body: &str) {
        let answers = VecDeque::from([(status, body.to_owned())]);
        lock(&self.book).answers.insert(request.to_owned(), answers);
    }

    /// The answers that come before the one that is set, each once.
    pub fn answers_first(&self, request: &str, answers: &[(u16, &str)]) {
        let mut book = lock(&self.book);
        let all = book.answers.entry(request.to_owned()).or_default();
        for (status, body) in answers.iter().rev() {
            all.push_front((*status, (*body).to_owned()));
        }
    }

    /// The requests received, each up to the end of its headers.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.book).requests.clone()
    }

    /// The lines of the requests received: method, path and query.
    pub fn request_lines(&self) -> Vec<String> {
        let line = |request: String| request.split(" HTTP/1.1").next().map(str::to_owned);
        self.requests().into_iter().filter_map(line).collect()
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

impl Book {
    fn reply_to(&mut self, request: &str) -> Option<Reply> {
        self.requests.push(request.to_owned());
        let line = request.split(" HTTP/1.1").next().unwrap_or_default();
        let asked = line.split('?').next().unwrap_or_default();
        match self.answers.get_mut(asked) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => self.usual.clone(),
        }
    }
}

async fn serve(mut stream: TcpStream, book: Arc<Mutex<Book>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < REQUEST_LIMIT {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let mut body = vec![0; length_of_body(&request).min(REQUEST_LIMIT)];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    let reply = lock(&book).reply_to(&request);
    let Some((status, body)) = reply else {
        // Until the client has had enough.
        let _ = stream.read_u8().await;
        return;
    };
    let answer = format!(
        "HTTP/1.1 {status} Response\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that has disconnected does not read it.
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn length_of_body(head: &str) -> usize {
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    });
    length.unwrap_or(0)
}
