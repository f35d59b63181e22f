//! A UAA: clients and users, the token endpoint, and the keys for verifying its tokens
//! (`spec/contracts/platform-apis.md`, "UAA").
//!
//! | module | contents |
//! | --- | --- |
//! | `directory` | the clients and users |
//! | `tokens` | issuing, contents and verification of tokens |
//! | `clients` | administering clients |
//! | `information` | public information |
//!
//! There is one identity zone; headers that name another are ignored.

mod caller;
mod clients;
mod directory;
mod information;
mod tokens;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actix_web::web::{self, ServiceConfig};
use secrecy::SecretString;

pub use directory::{Client, DEFAULT_GROUPS, Grant, User};
pub use tokens::{
    InvalidKey, KeysError, Signer, SignerError, TokenError, TokenVerifier, Tokens, VerifiedToken,
};

use crate::store::{Store, StoreError};
use directory::Directory;
use tokens::{Key, Revocations};

#[derive(Debug)]
pub struct UaaSettings {
    /// Its base URL, the issuer in its tokens.
    pub url: String,
    /// How long tokens live, of clients that are registered with nothing else.
    pub lives: TokenLives,
    /// The clients that it knows at first. A store that was used before has its own.
    pub clients: Vec<Client>,
    /// The users that it knows at first. A store that was used before has its own.
    pub users: Vec<User>,
}

/// How long tokens live.
#[derive(Clone, Copy, Debug)]
pub struct TokenLives {
    pub access: Duration,
    pub refresh: Duration,
}

/// Which of a foundation's UAAs it is, and so which tables of the store are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UaaRole {
    Bosh,
    CloudFoundry,
}

/// A UAA. Cloning it gives another handle on the same one.
#[derive(Clone)]
pub struct Uaa(Arc<Inner>);

struct Inner {
    url: String,
    lives: TokenLives,
    directory: Mutex<Directory>,
    key: Arc<Key>,
    revocations: Arc<Revocations>,
    verifier: TokenVerifier,
}

/// A UAA could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum UaaError {
    #[error("could not set up the keys")]
    Keys(#[source] KeysError),
    #[error("could not read the saved state")]
    Saved(#[source] StoreError),
}

impl Uaa {
    /// A UAA from the store, or a new one. Generating a signing key takes some tenths of a second.
    pub fn new(settings: UaaSettings, role: UaaRole, store: &Store) -> Result<Self, UaaError> {
        let tables = role.tables();
        let UaaSettings {
            url,
            lives,
            clients,
            users,
        } = settings;
        let key = Key::open(store, tables.keys, &url).map_err(UaaError::Keys)?;
        let key = Arc::new(key);
        let revocations = Revocations::open(store, &tables).map_err(UaaError::Saved)?;
        let revocations = Arc::new(revocations);
        let directory = Directory::open(store, &tables, clients, users).map_err(UaaError::Saved)?;
        let verifier = TokenVerifier::of(Arc::clone(&key), Arc::clone(&revocations));
        Ok(Self(Arc::new(Inner {
            url,
            lives,
            directory: Mutex::new(directory),
            key,
            revocations,
            verifier,
        })))
    }

    /// Checks the tokens of this UAA.
    pub fn verifier(&self) -> TokenVerifier {
        self.0.verifier.clone()
    }

    /// The newest secret of a client; an empty one of a public client.
    pub fn client_secret(&self, client: &str) -> Option<SecretString> {
        let directory = self.directory();
        let client = directory.clients.get(client)?;
        let newest = client.secrets.last();
        Some(newest.map_or_else(SecretString::default, directory::StoredSecret::handed_on))
    }

    pub fn user_password(&self, name: &str) -> Option<SecretString> {
        let directory = self.directory();
        directory
            .user_named(name)
            .map(|user| user.password.handed_on())
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        tokens::routes(app);
        clients::routes(app);
        information::routes(app);
    }
}

impl Uaa {
    /// Makes tokens given up to now good for nothing, here and at all servers that check them, which answer as to a
    /// token whose key is gone. (What the API revokes is still good at servers that do not ask the UAA.)
    pub fn revoke_tokens(&self, tokens: &Tokens) {
        self.0.revocations.revoke(tokens);
    }

    fn url(&self) -> &str {
        &self.0.url
    }

    fn key(&self) -> &Key {
        &self.0.key
    }

    fn revocations(&self) -> &Revocations {
        &self.0.revocations
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        let directory = self.0.directory.lock();
        directory.unwrap_or_else(PoisonError::into_inner)
    }

    fn lives(&self) -> TokenLives {
        self.0.lives
    }
}

struct TableNames {
    clients: &'static str,
    users: &'static str,
    revocations: &'static str,
    keys: &'static str,
}

impl UaaRole {
    const fn tables(self) -> TableNames {
        match self {
            Self::Bosh => TableNames {
                clients: "bosh_uaa_clients",
                users: "bosh_uaa_users",
                revocations: "bosh_uaa_withdrawals",
                keys: "bosh_uaa_keys",
            },
            Self::CloudFoundry => TableNames {
                clients: "cf_uaa_clients",
                users: "cf_uaa_users",
                revocations: "cf_uaa_withdrawals",
                keys: "cf_uaa_keys",
            },
        }
    }
}
