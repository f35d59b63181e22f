//! The clients and users of a UAA.

mod client;
mod user;

use jiff::Timestamp;
use uuid::Uuid;

pub use client::Client;
pub use client::Grant;
pub use user::{DEFAULT_GROUPS, User};

pub(super) use client::StoredSecret;
pub(super) use client::{NOTHING, Registration};
pub(super) use user::Account;

use super::TableNames;
use crate::store::{Rows, Store, StoreError};

pub(super) struct Directory {
    pub(super) clients: Rows<String, Registration>,
    pub(super) users: Rows<Uuid, Account>,
    store: Store,
}

impl Directory {
    /// The saved clients and users; in a new store the given ones.
    pub(super) fn open(
        store: &Store,
        tables: &TableNames,
        clients: Vec<Client>,
        users: Vec<User>,
    ) -> Result<Self, StoreError> {
        let mut directory = Self {
            clients: Rows::open(store, tables.clients)?,
            users: Rows::open(store, tables.users)?,
            store: store.clone(),
        };
        if directory.clients.is_empty() && directory.users.is_empty() {
            directory.seed(clients, users);
        }
        Ok(directory)
    }

    fn seed(&mut self, clients: Vec<Client>, users: Vec<User>) {
        for client in clients {
            self.clients.insert(client.id.clone(), client.into());
        }
        for user in users {
            self.users.insert(user.id, user.into());
        }
        self.save();
    }

    pub(super) fn client(&self, id: &str, secret: &str) -> Option<&Registration> {
        self.clients
            .get(id)
            .filter(|client| client.has_secret(secret))
    }

    /// The user with this name, whatever its case.
    pub(super) fn user_named(&self, name: &str) -> Option<&Account> {
        let name = name.to_lowercase();
        self.users
            .values()
            .find(|user| user.name.to_lowercase() == name)
    }

    /// Saves a client in place of the one that had its id.
    pub(super) fn keep(&mut self, client: Registration) {
        self.clients.insert(client.id.clone(), client);
        self.save();
    }

    /// Has everything written that changed, in one piece.
    pub(super) fn save(&mut self) {
        let store = self.store.clone();
        store.together(|| {
            self.clients.save();
            self.users.save();
        });
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
