//! What the page is configured to do, and what it keeps in memory.

use std::sync::Arc;

use jiff::Timestamp;
use odb_api_types::management::InventoryEntry;
use odb_config::{BasicCredentials, Ui, UiAction};
use tokio::sync::Semaphore;

use super::{csrf::FormTokens, health::Report, latest::Latest, live::Followed};
use crate::api::RecentChanges;

/// How many event streams may be open at once. Each holds a connection.
const STREAMS: usize = 16;

/// The page of this process.
#[derive(Debug)]
pub struct Page {
    ui: Ui,
    started: Timestamp,
    recent_changes: RecentChanges,
    tokens: FormTokens,
    streams: Arc<Semaphore>,
    followed: Followed,
    inventory: Latest<Vec<InventoryEntry>>,
    report: Latest<Report>,
}

impl Page {
    pub fn new(ui: Ui) -> Self {
        Self {
            tokens: FormTokens::of(ui.credentials.password()),
            ui,
            started: Timestamp::now(),
            recent_changes: RecentChanges::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
            followed: Followed::default(),
            inventory: Latest::default(),
            report: Latest::default(),
        }
    }

    pub(crate) fn credentials(&self) -> &BasicCredentials {
        &self.ui.credentials
    }

    pub(crate) fn recent_changes(&self) -> &RecentChanges {
        &self.recent_changes
    }

    pub(super) fn started(&self) -> Timestamp {
        self.started
    }

    pub(super) fn tokens(&self) -> &FormTokens {
        &self.tokens
    }

    pub(super) fn streams(&self) -> &Arc<Semaphore> {
        &self.streams
    }

    pub(super) fn followed(&self) -> &Followed {
        &self.followed
    }

    pub(super) fn inventory(&self) -> &Latest<Vec<InventoryEntry>> {
        &self.inventory
    }

    pub(super) fn report(&self) -> &Latest<Report> {
        &self.report
    }

    pub(super) fn allows(&self, action: UiAction) -> bool {
        self.ui.actions.contains(&action)
    }

    pub(super) fn reads_only(&self) -> bool {
        self.ui.actions.is_empty()
    }
}
