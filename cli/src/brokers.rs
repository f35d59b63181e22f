//! The brokers of a command, connected.

use std::time::Duration;

use anyhow::Context;
use futures_util::future::join_all;
use odb_errand::{BrokerApi, Console};
use odb_redaction::Chain;

use crate::contexts::{Selection, Target};

/// The time for an answer. Lists of large fleets take some seconds.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A broker under the name of its context.
pub(crate) struct Broker {
    pub(crate) name: String,
    pub(crate) api: BrokerApi,
}

impl Broker {
    /// No request is sent yet.
    pub(crate) fn connect(target: &Target, console: &Console) -> anyhow::Result<Self> {
        let api = BrokerApi::connect_once(&target.access, TIMEOUT, console);
        let api = api.with_context(|| format!("cannot reach the broker `{}`", target.name))?;
        Ok(Self {
            name: target.name.clone(),
            api,
        })
    }
}

/// The one broker of a command.
pub(crate) fn one(selection: &Selection, console: &Console) -> anyhow::Result<Broker> {
    Broker::connect(&selection.target()?, console)
}

/// All brokers of a command.
pub(crate) fn all(selection: &Selection, console: &Console) -> anyhow::Result<Vec<Broker>> {
    let targets = selection.targets()?;
    let brokers = targets
        .iter()
        .map(|target| Broker::connect(target, console));
    brokers.collect()
}

/// What brokers have answered: results by broker, and whether one of them has failed, which is reported.
pub(crate) async fn gather<T>(
    brokers: &[Broker],
    console: &Console,
    request: impl AsyncFn(&Broker) -> anyhow::Result<T>,
) -> anyhow::Result<(Vec<(String, T)>, bool)> {
    let asked = brokers
        .iter()
        .map(async |broker| (broker.name.clone(), request(broker).await));
    let (mut answers, mut has_failed) = (Vec::new(), false);
    for (name, answer) in join_all(asked).await {
        match answer {
            Ok(answer) => answers.push((name, answer)),
            Err(error) if brokers.len() == 1 => return Err(error),
            Err(error) => {
                has_failed = true;
                console.log(format_args!("{name}: {}", Chain(error.as_ref())));
            }
        }
    }
    Ok((answers, has_failed))
}
