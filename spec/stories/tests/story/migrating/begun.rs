//! Operations of every kind that a Go broker has begun, and what belongs to their instances.

use odb_stories::{Foundation, eventually, new_id};
use serde_json::json;

use super::{
    OFFERING, PLAIN,
    go_broker::{Errands, GoBroker, Reading, deployment},
    hold, is_held,
};
use crate::TIMEOUT;

const KINDS: [&str; 6] = [
    "create",
    "update",
    "upgrade",
    "recreate",
    "delete",
    "force-delete",
];

/// How far an operation was when the Go broker was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// Its first task runs.
    FirstTaskRuns,
    /// Its first task has ended, without a poll since.
    FirstTaskEnded,
    /// Its second task runs.
    SecondTaskRuns,
    /// All tasks have ended, without a poll since.
    AllEnded,
}

/// An operation that a Go broker has begun.
pub(super) struct Begun {
    pub(super) kind: &'static str,
    errands: Errands<'static>,
    pub(super) location: Location,
    pub(super) instance: String,
    pub(super) token: String,
}

pub(super) fn deletes(kind: &str) -> bool {
    kind.ends_with("delete")
}

pub(super) fn errands_of(kind: &str) -> Errands<'static> {
    Errands::Of(if deletes(kind) {
        &["cleanup-data"]
    } else {
        &["health-check"]
    })
}

impl Begun {
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for kind in KINDS {
            let plain = [Location::FirstTaskRuns, Location::AllEnded]
                .map(|location| (Errands::Unset, location));
            let with_errands = [
                Location::FirstTaskRuns,
                Location::FirstTaskEnded,
                Location::SecondTaskRuns,
                Location::AllEnded,
            ]
            .map(|location| (errands_of(kind), location));
            for (errands, location) in plain.into_iter().chain(with_errands) {
                all.push(Self::of(kind, errands, location));
            }
        }
        all
    }

    pub(super) fn of(kind: &'static str, errands: Errands<'static>, location: Location) -> Self {
        let (instance, token) = (new_id(), String::new());
        Self {
            kind,
            errands,
            location,
            instance,
            token,
        }
    }

    pub(super) fn reported(&self) -> String {
        format!("{} with {:?}, {:?}", self.kind, self.errands, self.location)
    }

    /// Makes the instance, unless that is what begins.
    pub(super) async fn make_instance(&self, go: &GoBroker, manifest: &str) {
        if self.kind != "create" {
            let creation = go.create(&self.instance, manifest, Errands::Unset).await;
            let ended = go.ends(&self.instance, &creation).await;
            assert_eq!(ended, Reading::Succeeded, "{}", self.reported());
        }
    }

    pub(super) async fn begin(&mut self, go: &GoBroker) {
        let (kind, instance, errands) = (self.kind, self.instance.as_str(), self.errands);
        self.token = match kind {
            "create" => go.create(instance, &with_secret(), errands).await,
            "recreate" => go.recreate(instance, errands).await,
            kind if deletes(kind) => go.delete(kind, instance, errands).await,
            kind => go.deploy_again(kind, instance, errands).await,
        };
    }

    /// Has the Go broker carry it as far as it goes, once it has begun.
    pub(super) async fn carry(&self, go: &GoBroker, foundation: &Foundation) {
        match self.location {
            Location::FirstTaskRuns => {}
            Location::FirstTaskEnded => {
                self.reads(go, |reading| *reading != Reading::InProgress)
                    .await;
            }
            Location::SecondTaskRuns => {
                self.reads(go, |reading| *reading != Reading::InProgress)
                    .await;
                let held = hold(foundation, &self.instance).await;
                assert_eq!(
                    go.polls(&self.instance, &self.token).await,
                    Reading::InProgress
                );
                is_held(foundation, held).await;
            }
            Location::AllEnded => {
                let next = |reading: &Reading| {
                    matches!(reading, Reading::RunsErrand(..) | Reading::Deletes)
                };
                if matches!(self.errands, Errands::Of(_)) {
                    self.reads(go, next).await;
                    go.polls(&self.instance, &self.token).await;
                }
                self.reads(go, |reading| *reading == Reading::Succeeded)
                    .await;
            }
        }
    }

    pub(super) async fn reads(&self, go: &GoBroker, is_so: impl Fn(&Reading) -> bool) {
        eventually(&self.reported(), TIMEOUT, async || {
            let reading = go.reads(&self.instance, &self.token).await;
            if is_so(&reading) {
                Ok(())
            } else {
                Err(format!("{reading:?}"))
            }
        })
        .await;
    }

    pub(super) fn history(&self) -> Vec<String> {
        let errand = match self.errands {
            Errands::Of([errand, ..]) => Some(format!("run errand {errand}: done")),
            Errands::Of([]) | Errands::Unset => None,
        };
        let mut history = vec!["create deployment: done".to_owned()];
        if deletes(self.kind) {
            history.extend(errand);
            history.push("delete deployment: done".to_owned());
        } else {
            if self.kind != "create" {
                history.push("create deployment: done".to_owned());
            }
            history.extend(errand);
        }
        history
    }
}

/// The manifest that refers to it.
pub(super) fn with_secret() -> String {
    let reference =
        format!("maxclients: 10000\n        odb_managed_secret: ((/odb/{OFFERING}/NAME/kept))");
    PLAIN.replace("maxclients: 10000", &reference)
}

/// The residual resources of a Go broker beside the deployment of an instance.
pub(super) async fn leave_belongings(foundation: &Foundation, instance: &str) {
    let name = deployment(instance);
    foundation
        .director()
        .write_config_of_team("cloud", &name, "vm_extensions: []\n")
        .await;
    foundation
        .bosh_credhub()
        .set(
            &format!("/odb/{OFFERING}/{name}/kept"),
            &json!({ "a": "b" }),
        )
        .await;
    foundation
        .uaa_clients()
        .create(&json!({
            "client_id": instance, "client_secret": new_id(), "scope": ["openid"],
            "authorized_grant_types": ["client_credentials"], "authorities": ["svc.write"],
        }))
        .await;
}

/// Which of them are there.
pub(super) async fn belongings(foundation: &Foundation, instance: &str) -> Vec<&'static str> {
    let name = deployment(instance);
    let configs = foundation.director().configs().await;
    let secrets = foundation.bosh_credhub().names_like(instance).await;
    let clients = foundation.uaa_clients().ids().await;
    let mut there = Vec::new();
    if configs.iter().any(|config| config["name"] == name.as_str()) {
        there.push("config");
    }
    if !secrets.is_empty() {
        there.push("secret");
    }
    if clients.iter().any(|client| client == instance) {
        there.push("client");
    }
    there
}
