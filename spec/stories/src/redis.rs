//! A client of Redis: plain TCP, a few commands, no library.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Redis {
    stream: BufReader<TcpStream>,
}

impl Redis {
    pub async fn connect(credentials: &Value) -> Self {
        let (host, port) = (credentials["host"].as_str(), credentials["port"].as_u64());
        let (host, port) = host.zip(port).expect("credentials say where Redis is");
        let port = u16::try_from(port).expect("a port is a small number");
        let stream = timeout(TIMEOUT, TcpStream::connect((host, port)))
            .await
            .expect("Redis is near")
            .expect("Redis listens");
        let mut redis = Self {
            stream: BufReader::new(stream),
        };
        let password = credentials["password"].as_str();
        let password = password.expect("credentials have a password");
        assert_eq!(redis.command(&["AUTH", password]).await, "OK");
        redis
    }

    /// Sends a command and gives the answer; an error starts with a minus sign.
    pub async fn command(&mut self, words: &[&str]) -> String {
        let arguments = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request = format!("*{}\r\n{}", words.len(), arguments.collect::<String>());
        let exchange = async {
            self.stream.write_all(request.as_bytes()).await?;
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let line = line.trim_end();
            let Some(length) = line.strip_prefix('$') else {
                return Ok(line.trim_start_matches(['+', ':']).to_owned());
            };
            let length: usize = length.parse().unwrap_or_default();
            let mut text = vec![0; length + "\r\n".len()];
            self.stream.read_exact(&mut text).await?;
            text.truncate(length);
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&text).into_owned())
        };
        timeout(TIMEOUT, exchange)
            .await
            .expect("Redis answers")
            .expect("Redis keeps the connection")
    }

    /// One value of what Redis says about itself.
    pub async fn info(&mut self, section: &str, name: &str) -> String {
        let report = self.command(&["INFO", section]).await;
        let mut lines = report.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .unwrap_or_else(|| panic!("Redis does not report `{name}`: {report}"))
            .to_owned()
    }
}
