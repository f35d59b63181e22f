//! A client of Redis, as an application has it.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A Redis' answers to these commands, sent over one connection.
pub(crate) async fn ask(address: &str, commands: &[&str]) -> String {
    let mut stream = TcpStream::connect((address, 6379)).await.unwrap();
    let all = format!("{}\r\nQUIT\r\n", commands.join("\r\n"));
    stream.write_all(all.as_bytes()).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    answers
}

/// Whether something listens at a Redis' port.
pub(crate) async fn listens(address: &str) -> bool {
    TcpStream::connect((address, 6379)).await.is_ok()
}
