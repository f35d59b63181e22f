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
pub(super) use user::Lockout;
pub(super) use user::{Account, Group, OWN_ORIGIN};

use super::TableNames;
use crate::store::{Rows, Store, StoreError};

pub(super) struct Directory {
    pub(super) clients: Rows<String, Registration>,
    pub(super) users: Rows<Uuid, Account>,
    pub(super) groups: Rows<String, Group>,
    /// Failed logins, of this run alone.
    pub(super) lockout: Lockout,
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
            groups: Rows::open(store, tables.groups)?,
            lockout: Lockout::default(),
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
        for group in DEFAULT_GROUPS {
            self.ensure_group(group);
        }
        for user in users {
            for group in &user.groups {
                self.ensure_group(group);
            }
            self.users.insert(user.id, user.into());
        }
        self.save();
    }

    /// Makes sure that there is a group with this name.
    pub(super) fn ensure_group(&mut self, name: &str) {
        if !self.groups.contains_key(name) {
            self.groups.insert(name.to_owned(), Group::new(None));
        }
    }

    pub(super) fn client(&self, id: &str, secret: &str) -> Option<&Registration> {
        self.clients
            .get(id)
            .filter(|client| client.has_secret(secret))
    }

    /// The user with this name, whatever its case, who can log in here.
    pub(super) fn user_named(&self, name: &str) -> Option<&Account> {
        self.user_of(OWN_ORIGIN, name)
    }

    /// The user with this name, whatever its case, of an identity provider.
    pub(super) fn user_of(&self, origin: &str, name: &str) -> Option<&Account> {
        let name = name.to_lowercase();
        self.users
            .values()
            .find(|user| user.origin == origin && user.name.to_lowercase() == name)
    }

    /// Has everything written that changed, in one piece.
    pub(super) fn save(&mut self) {
        let store = self.store.clone();
        store.together(|| {
            self.clients.save();
            self.users.save();
            self.groups.save();
        });
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
