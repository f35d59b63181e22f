//! Tokens that their consumers are to refuse before their time.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;

use crate::{
    store::{Rows, Store, StoreError},
    uaa::TableNames,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokens {
    All,
    /// Those of one client, for itself or for its users.
    OfClient(String),
}

/// The revocations, and the data that makes them exact to the second.
pub(in crate::uaa) struct Revocations(Mutex<Inner>);

struct Inner {
    /// Up to which second tokens are revoked: of a client, or of all under the empty name.
    until: Rows<String, i64>,
    /// Withdrawn in the very second in which they were given out, in which newer ones may follow.
    ids: HashSet<String>,
    /// The tokens issued in this second.
    recent: VecDeque<Recent>,
}

struct Recent {
    second: i64,
    token: String,
    client: String,
}

const ALL_CLIENTS: &str = "";

impl Revocations {
    pub(in crate::uaa) fn open(store: &Store, tables: &TableNames) -> Result<Self, StoreError> {
        Ok(Self(Mutex::new(Inner {
            until: Rows::open(store, tables.revocations)?,
            ids: HashSet::new(),
            recent: VecDeque::new(),
        })))
    }

    pub(in crate::uaa) fn given_out(&self, token: &str, client: &str) {
        self.with(|inner| {
            let second = inner.forget_older();
            inner.recent.push_back(Recent {
                second,
                token: token.to_owned(),
                client: client.to_owned(),
            });
        });
    }

    /// Revokes all tokens issued up to now.
    pub(in crate::uaa) fn revoke(&self, tokens: &Tokens) {
        self.with(|inner| {
            let second = inner.forget_older();
            let client = match tokens {
                Tokens::All => {
                    // All but those of this very second are older than what is noted below.
                    inner.ids.clear();
                    ALL_CLIENTS
                }
                Tokens::OfClient(client) => client,
            };
            // Tokens of this very second are revoked one by one.
            inner.until.insert(client.to_owned(), second - 1);
            inner.until.save();
            let concerned = inner
                .recent
                .iter()
                .filter(|recent| client == ALL_CLIENTS || recent.client == client)
                .map(|recent| recent.token.clone());
            inner.ids.extend(concerned);
        });
    }

    /// Whether a token was revoked.
    pub(super) fn concern(&self, token: &str, client: &str, issued: i64) -> bool {
        self.with(|inner| {
            let until = |client: &str| {
                inner
                    .until
                    .get(client)
                    .is_some_and(|until| issued <= *until)
            };
            until(ALL_CLIENTS) || until(client) || inner.ids.contains(token)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    /// Drops what was given out before this second, which is returned.
    fn forget_older(&mut self) -> i64 {
        let now = Timestamp::now().as_second();
        while self
            .recent
            .front()
            .is_some_and(|oldest| oldest.second < now)
        {
            self.recent.pop_front();
        }
        now
    }
}
