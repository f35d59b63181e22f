//! A client of PostgreSQL: `psql`, which every machine with a server has.

use std::{process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{process::Command, time::timeout};

const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct Postgres {
    credentials: Value,
}

impl Postgres {
    pub fn with(credentials: &Value) -> Self {
        Self {
            credentials: credentials.clone(),
        }
    }

    /// The result of a statement, one row a line; a failed statement fails the test.
    pub async fn query(&self, sql: &str) -> String {
        match self.attempt(sql).await {
            Ok(rows) => rows,
            Err(message) => panic!("`{sql}` fails: {message}"),
        }
    }

    /// The result of a statement, or the error of the server or the client.
    pub async fn attempt(&self, sql: &str) -> Result<String, String> {
        let connection = format!(
            "host={} port={} user={} dbname={} connect_timeout=10",
            self.text("host"),
            self.credentials["port"],
            self.text("username"),
            self.text("database"),
        );
        self.psql(&connection, sql).await
    }

    /// The same, to where the credentials' `uri` leads.
    pub async fn query_by_uri(&self, sql: &str) -> String {
        let uri = self.text("uri");
        match self.psql(uri, sql).await {
            Ok(rows) => rows,
            Err(message) => panic!("`{sql}` fails: {message}"),
        }
    }

    async fn psql(&self, connection: &str, sql: &str) -> Result<String, String> {
        let run = Command::new("psql")
            .args(["--no-psqlrc", "--no-password", "--quiet", "-tA"])
            .args(["--set=ON_ERROR_STOP=1", "--command", sql, connection])
            .env("PGPASSWORD", self.text("password"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = timeout(TIMEOUT, run)
            .await
            .expect("PostgreSQL answers")
            .expect("`psql` is installed; `scripts/test` does that");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    fn text(&self, name: &str) -> &str {
        let value = self.credentials[name].as_str();
        value.unwrap_or_else(|| panic!("credentials have a `{name}`"))
    }
}
