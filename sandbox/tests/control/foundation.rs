//! A complete foundation in the process of the test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use odb_sandbox::{
    cpi::Processes,
    faults::{Fault, SetFault},
    foundation::{Description, Foundation, FoundationSettings, Persistence, UpOptions},
};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Client, send};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/sandbox");

/// A foundation whose VMs have no processes, in a folder that ends with the test.
pub(crate) struct Sandbox {
    foundation: Foundation,
    persistence: Persistence,
    folder: TempDir,
}

impl Sandbox {
    /// One that forgets everything in the end.
    pub(crate) async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), Persistence::Forgotten).await
    }

    /// One that keeps its state.
    pub(crate) async fn kept() -> Self {
        Self::kept_in(tempfile::tempdir().unwrap()).await
    }

    /// One that keeps its state in this folder.
    pub(crate) async fn kept_in(folder: TempDir) -> Self {
        Self::start_in(folder, Persistence::Kept).await
    }

    async fn start_in(folder: TempDir, persistence: Persistence) -> Self {
        // All tests of one process share the provider; the first one installs it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        odb_sandbox::rsa_keys::keep_in(concat!(env!("CARGO_TARGET_TMPDIR"), "/rsa-keys").into());
        let options = UpOptions {
            persistence,
            ..options(folder.path())
        };
        let foundation = Foundation::start(settings(), options).await.unwrap();
        Self {
            foundation,
            persistence,
            folder,
        }
    }

    /// Stops it. The folder has its state.
    pub(crate) async fn stop(self) -> TempDir {
        self.foundation.stop().await;
        self.folder
    }

    /// Stops it and starts it again in its folder.
    pub(crate) async fn restart(self) -> Self {
        let persistence = self.persistence;
        Self::start_in(self.stop().await, persistence).await
    }

    /// A client with new connections.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.description().ca_certificate)
    }

    pub(crate) fn description(&self) -> &Description {
        self.foundation.description()
    }

    pub(crate) fn foundation(&self) -> &Foundation {
        &self.foundation
    }

    pub(crate) fn inject(&self, fault: Fault) -> SetFault {
        self.foundation.faults().add(fault).unwrap()
    }

    /// How it was started.
    pub(crate) fn options(&self) -> UpOptions {
        UpOptions {
            persistence: self.persistence,
            ..options(self.folder.path())
        }
    }

    /// The certificate of its authority.
    pub(crate) fn authority(&self) -> String {
        fs::read_to_string(&self.description().ca_certificate).unwrap()
    }

    /// A secret of its Director.
    pub(crate) fn secret(&self) -> &str {
        self.description()
            .director
            .admin_client
            .secret
            .expose_secret()
    }

    /// An address of the control API.
    pub(crate) fn control(&self, path: &str) -> String {
        format!("{}{path}", self.description().control)
    }

    /// An address of the Cloud Controller.
    pub(crate) fn cloud_controller(&self, path: &str) -> String {
        format!("{}{path}", self.description().cloud_controller.url)
    }

    /// The resource at an address, with a token.
    pub(crate) async fn get(&self, url: &str, token: &str) -> Value {
        let client = self.client();
        let request = client.request(Method::GET, url).bearer_auth(token);
        let answer = send(request).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.body);
        answer.json()
    }

    /// An address of the Director.
    pub(crate) fn director(&self, path: &str) -> String {
        format!("{}{path}", self.description().director.url)
    }
}

/// The settings of the project's sample.
pub(crate) fn settings() -> FoundationSettings {
    FoundationSettings::load(&sample()).unwrap()
}

pub(crate) fn sample() -> PathBuf {
    Path::new(MANIFESTS).join("foundation.yml")
}

/// Without processes, on any net, forgetting everything.
pub(crate) fn options(state: &Path) -> UpOptions {
    UpOptions {
        state: state.to_owned(),
        jobs: vec![Path::new(MANIFESTS).join("jobs")],
        net: None,
        processes: Processes::None,
        job_user: None,
        persistence: Persistence::Forgotten,
    }
}
