//! The broker in service: it runs, behind its gate, and the Cloud Controller knows it.

use std::{
    collections::BTreeSet,
    future, io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use odb_adapter_sdk::yaml;

use super::{
    DevLoopError,
    broker::{Broker, Ended},
    composition::Composition,
    folder::Folder,
    gate::{Gate, GateState},
    inspection::plans_to_hide,
    log::{Log, chain, report, report_all},
    supplies::{self, PORT, PORT_BEHIND, SHUTDOWN_TIMEOUT, USERNAME},
};
use crate::{
    cf::{Registration, RegistrationError, make_known},
    foundation::{FileError, Foundation},
};

const NAME: &str = "broker";

/// A broker, if one runs, and what stays when another takes its place.
pub(super) struct Service<'f> {
    foundation: &'f Foundation,
    executable: PathBuf,
    log: Log,
    gate: Gate,
    /// Where the broker is reached: at the gate.
    front: SocketAddr,
    behind: SocketAddr,
    broker: Option<Broker>,
    /// How long the broker that runs allows its requests when it is to end.
    timeout: Duration,
}

/// There is no broker in service.
#[derive(Debug, thiserror::Error)]
pub(super) enum Down {
    #[error("could not write to the state folder")]
    Write(#[source] FileError),
    #[error("could not write the configuration of the errands")]
    Errands(#[source] yaml::Error),
    #[error("could not start the broker")]
    Start(#[source] io::Error),
    #[error("the broker {}", .0.how)]
    Ended(Ended),
    #[error("the Cloud Controller does not take the broker")]
    Registration(#[source] RegistrationError),
}

impl<'f> Service<'f> {
    /// Nothing runs yet; the gate is there, and closed.
    pub(super) fn new(
        foundation: &'f Foundation,
        executable: PathBuf,
        log: Log,
    ) -> Result<Self, DevLoopError> {
        let address = foundation.description().broker_address.parse::<IpAddr>();
        let address = address.map_err(DevLoopError::Address)?;
        let (front, behind) = (
            SocketAddr::new(address, PORT),
            SocketAddr::new(address, PORT_BEHIND),
        );
        let gate = Gate::new(front, behind).map_err(|source| DevLoopError::Gate {
            address: front,
            source,
        })?;
        Ok(Self {
            foundation,
            executable,
            log,
            gate,
            front,
            behind,
            broker: None,
            timeout: Duration::ZERO,
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.broker.is_some()
    }

    /// Ends the broker that runs and puts one with this configuration in its place. Requests wait at the gate
    /// meanwhile.
    pub(super) async fn replace(
        &mut self,
        folder: &Folder,
        composition: &Composition,
    ) -> Result<(), Down> {
        self.gate.set(GateState::Soon);
        self.end_broker().await;
        let file = folder.broker_file();
        let written = folder.write(&file, &composition.text);
        written.map_err(Down::Write)?;
        let timeout = composition.document["broker"]["shutdown_timeout_in_seconds"].as_u64();
        self.timeout = Duration::from_secs(timeout.unwrap_or(SHUTDOWN_TIMEOUT));
        let broker = Broker::start(&self.executable, &file, &self.log);
        let broker = self.broker.insert(broker.map_err(Down::Start)?);
        broker.answers(self.behind).await.map_err(Down::Ended)?;
        self.gate.set(GateState::Open);
        self.register(folder, composition).await
    }

    /// Waits until the broker ends by itself, if one runs. Another is expected then.
    pub(super) async fn ended(&mut self) -> Ended {
        let Some(broker) = &mut self.broker else {
            return future::pending().await;
        };
        let ended = broker.ended().await;
        self.gate.set(GateState::Soon);
        self.broker = None;
        ended
    }

    /// Ends the broker; connections no longer wait for another.
    pub(super) async fn end(&mut self) {
        self.gate.set(GateState::Closed);
        self.end_broker().await;
    }

    /// Waits until the broker has stopped. A caller that is cancelled may call it again.
    async fn end_broker(&mut self) {
        if let Some(broker) = &mut self.broker {
            broker.stop(self.timeout).await;
        }
        self.broker = None;
    }

    async fn register(&self, folder: &Folder, composition: &Composition) -> Result<(), Down> {
        let url = format!("https://{}", self.front);
        let registration = Registration {
            name: NAME,
            url: &url,
            username: USERNAME,
            password: folder.password(),
        };
        let to_hide: BTreeSet<String> = plans_to_hide(&composition.document).collect();
        let file = self.foundation.description_file();
        let registered = make_known(file, &registration, &to_hide).await;
        let registered = registered.map_err(Down::Registration)?;
        let errands = supplies::configuration(&composition.document, NAME, &url);
        let errands = yaml::to_string(&errands).map_err(Down::Errands)?;
        let written = folder.write(&folder.errands_file(), &errands);
        written.map_err(Down::Write)?;
        for warning in &registered.warnings {
            report(&format!("the Cloud Controller warns: {warning}"));
        }
        let shown = if registered.shown.is_empty() {
            String::new()
        } else {
            format!(", new in the marketplace: {}", registered.shown.join(", "))
        };
        let log = self.log.path().display();
        report(&format!("up at {url}{shown} (log: {log})"));
        Ok(())
    }
}

impl Down {
    pub(super) fn report(&self) {
        report(&chain(self));
        if let Self::Ended(ended) = self {
            report_all(&ended.last_words);
        }
    }
}
