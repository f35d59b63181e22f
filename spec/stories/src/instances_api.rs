//! A service instances API: a source of service instances without a Cloud Controller
//! (`spec/contracts/broker-behaviour.md` §7.6).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::Order;

/// The longest request that is read.
const REQUEST_LIMIT: usize = 16 * 1024;

/// A service instances API that listens, over plain HTTP.
#[derive(Debug)]
pub struct InstancesApi {
    url: String,
    book: Arc<Mutex<Book>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Book {
    list: Vec<Value>,
    requests: Vec<String>,
}

impl InstancesApi {
    /// Starts one with an empty list.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let book: Arc<Mutex<Book>> = Arc::default();
        let task = tokio::spawn({
            let book = book.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, book.clone()));
                }
            }
        });
        Self {
            url: format!("http://{address}/instances?service=redis"),
            book,
            task,
        }
    }

    /// Where its list is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Puts an instance onto the list.
    pub fn add(&self, instance: &str, order: &Order) {
        let plan = order.member("plan_id");
        let row = json!({ "service_instance_id": instance, "plan_id": plan, "space_guid": "here" });
        lock(&self.book).list.push(row);
    }

    /// Takes an instance off the list.
    pub fn remove(&self, instance: &str) {
        let mut book = lock(&self.book);
        book.list
            .retain(|row| row["service_instance_id"] != instance);
    }

    /// The requests, up to the end of their headers.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.book).requests.clone()
    }
}

impl Drop for InstancesApi {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(book: &Mutex<Book>) -> std::sync::MutexGuard<'_, Book> {
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
    let body = {
        let mut book = lock(&book);
        let request = String::from_utf8_lossy(&request).into_owned();
        book.requests.push(request);
        Value::Array(book.list.clone()).to_string()
    };
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that has disconnected does not read it.
    let _ = stream.write_all(answer.as_bytes()).await;
}
