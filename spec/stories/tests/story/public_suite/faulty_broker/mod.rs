//! A broker that keeps every rule that there is a check for, but those that a test has it break.
//!
//! It makes nothing: instances and bindings are entries in its memory, and operations end when they have been asked
//! about often enough.

mod catalog;
mod http;
mod instances;
mod model;

use std::sync::{Arc, Mutex};

use model::Model;
pub(super) use model::Peculiarity;
use odb_stories::{ConformanceSuite, SuiteRun};
use tempfile::TempDir;
use tokio::{io::BufReader, net::TcpListener, task::AbortHandle};

const USERNAME: &str = "broker";
const PASSWORD: &str = "swordfish";

/// The two in base64.
const AUTHORIZATION: &str = "Basic YnJva2VyOnN3b3JkZmlzaA==";

/// The credentials that it hands out.
pub(super) const HANDED_OUT: &str = "hunter2";

/// A running broker. Dropped, it ends.
pub(super) struct FaultyBroker {
    url: String,
    server: AbortHandle,
    model: Arc<Mutex<Model>>,
    folder: TempDir,
}

impl FaultyBroker {
    /// Starts a broker that breaks these rules.
    pub(super) async fn start(broken: &[&str]) -> Self {
        Self::serve(Model::new(broken)).await
    }

    /// Starts a broker that breaks no rule and has its ways.
    pub(super) async fn with(peculiarity: Peculiarity) -> Self {
        Self::serve(Model::with(peculiarity)).await
    }

    async fn serve(model: Model) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let model = Arc::new(Mutex::new(model));
        let shared = Arc::clone(&model);
        let server = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let model = Arc::clone(&shared);
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    if let Some(request) = http::read(&mut stream).await {
                        let answer = model.lock().unwrap().answer(&request);
                        http::write(&mut stream, answer).await;
                    }
                });
            }
        });
        Self {
            url,
            server: server.abort_handle(),
            model,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The instances that are there.
    pub(super) fn instances(&self) -> Vec<String> {
        self.model.lock().unwrap().existing()
    }

    /// How often it has refused to delete an instance.
    pub(super) fn refused_deletions(&self) -> usize {
        self.model.lock().unwrap().unwell.deletes
    }

    /// Runs the suite against it, with a JSON report to stdout.
    pub(super) async fn suite(&self, arguments: &[&str]) -> SuiteRun {
        self.run_of_suite(&["--report", "json"])
            .with(arguments)
            .run()
            .await
    }

    /// A run of the suite against it, in the making.
    pub(super) fn run_of_suite(&self, arguments: &[&str]) -> ConformanceSuite {
        let password = self.folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        ConformanceSuite::new(self.folder.path())
            .with(&["--url", &self.url, "--username", USERNAME])
            .with(&["--password-file", &password.display().to_string()])
            .with(&["--operation-timeout", "20", "--poll-interval", "0"])
            .with(arguments)
    }
}

impl Drop for FaultyBroker {
    fn drop(&mut self) {
        self.server.abort();
    }
}
