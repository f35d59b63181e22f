//! Reports the number of instances to collectors of telemetry (`broker.enable_telemetry`): after the start, and after
//! each operation. Requests do not wait for it.

use std::{sync::Arc, time::Duration};

use futures_util::TryStreamExt;
use jiff::Timestamp;
use odb_api_types::kind::OperationKind;
use odb_clients::http::Call;
use odb_config::Offering;
use odb_redaction::Chain;
use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

use super::{
    InstanceSource, Selection, SourceError,
    usage_line::{Usage, UsageEvent},
};

/// Reports on the instances of one offering.
#[derive(Debug)]
pub struct UsageReports {
    source: InstanceSource,
    offering: Arc<Offering>,
    /// How long a listing may take.
    limit: Duration,
}

impl UsageReports {
    /// Reports on the instances of `source`, whose listing may take `limit`.
    pub fn new(source: InstanceSource, offering: Arc<Offering>, limit: Duration) -> Self {
        Self {
            source,
            offering,
            limit,
        }
    }

    /// Reports now, and whenever an operation ends. Operations that end while the instances are being listed share the
    /// listing after that one.
    pub async fn run(self, mut ends: Receiver<OperationKind>) {
        self.report(&[UsageEvent::StartUp]).await;
        loop {
            let first = match ends.recv().await {
                Ok(kind) => kind,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            };
            let mut events = vec![UsageEvent::Ended(first)];
            loop {
                match ends.try_recv() {
                    Ok(kind) => events.push(UsageEvent::Ended(kind)),
                    Err(TryRecvError::Lagged(_)) => {}
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            self.report(&events).await;
        }
    }

    async fn report(&self, events: &[UsageEvent]) {
        let usage = match self.count().await {
            Ok(usage) => usage,
            Err(error) => {
                tracing::warn!(
                    code = %error.code(),
                    error = %Chain(&error),
                    "Failed to query list of instances for telemetry"
                );
                return;
            }
        };
        for event in events {
            if let Err(error) = usage.print(&self.offering.name, *event, Timestamp::now()) {
                tracing::warn!(%error, "could not print a line of telemetry");
            }
        }
    }

    async fn count(&self) -> Result<Usage, SourceError> {
        let call = Call::within(self.limit);
        let mut entries = self.source.entries(&call, Selection::all());
        let plans = self.offering.plans.iter();
        let mut usage = Usage {
            total: 0,
            plans: plans.map(|plan| (plan.id.as_str().to_owned(), 0)).collect(),
        };
        while let Some(entry) = entries.try_next().await? {
            usage.total += 1;
            let mut plans = usage.plans.iter_mut();
            if let Some((_, count)) = plans.find(|(plan, _)| plan == entry.plan.as_str()) {
                *count += 1;
            }
        }
        Ok(usage)
    }
}
