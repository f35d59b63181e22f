//! A UAA: clients and users, the token endpoint, and the keys for verifying its tokens
//! (`spec/contracts/platform-apis.md`, "UAA").
//!
//! | module | contents |
//! | --- | --- |
//! | `directory` | the clients and users |
//! | `tokens` | issuing, contents and verification of tokens |
//! | `clients`, `users` | administering clients, users and groups |
//! | `information` | public information |
//! | `scim` | filters and pages of lists |
//!
//! There is one identity zone; headers that name another are ignored.

mod caller;
mod clients;
mod directory;
mod information;
mod scim;
mod tokens;
mod users;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use actix_web::web::{self, ServiceConfig};
use secrecy::SecretString;
use uuid::Uuid;

pub use directory::{Client, DEFAULT_GROUPS, Grant, User};
pub use tokens::{
    InvalidKey, KeysError, Signer, SignerError, TokenError, TokenVerifier, Tokens, VerifiedToken,
};

use crate::store::{Store, StoreError};
use directory::Directory;
use tokens::{KeyRing, Revocations};

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
    /// Of tokens given from now on.
    lives: RwLock<TokenLives>,
    directory: Mutex<Directory>,
    keys: Arc<KeyRing>,
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
        let keys = Arc::new(KeyRing::open(store, &tables, &url).map_err(UaaError::Keys)?);
        let revocations = Revocations::open(store, &tables).map_err(UaaError::Saved)?;
        let revocations = Arc::new(revocations);
        let directory = Directory::open(store, &tables, clients, users).map_err(UaaError::Saved)?;
        let verifier = TokenVerifier::published(Arc::clone(&keys), Arc::clone(&revocations));
        Ok(Self(Arc::new(Inner {
            url,
            lives: RwLock::new(lives),
            directory: Mutex::new(directory),
            keys,
            revocations,
            verifier,
        })))
    }

    /// Checks the tokens of this UAA with the keys that it publishes at the time, as Cloud Controller and CredHub do.
    pub fn verifier(&self) -> TokenVerifier {
        self.0.verifier.clone()
    }

    /// Checks the tokens of this UAA with the key that signs now and no other, as the Director does, whose
    /// configuration holds one key.
    pub fn configured_verifier(&self) -> TokenVerifier {
        TokenVerifier::configured(self.0.keys.active(), Arc::clone(&self.0.revocations))
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

    /// The name of the user with this id, as a Cloud Controller looks it up.
    pub(crate) fn user_name(&self, id: &str) -> Option<String> {
        let id: Uuid = id.parse().ok()?;
        let directory = self.directory();
        directory.users.get(&id).map(|user| user.name.clone())
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        tokens::routes(app);
        clients::routes(app);
        users::routes(app);
        information::routes(app);
    }
}

impl Uaa {
    /// Tokens given from now on live this long, but for clients that are registered with other lives.
    pub fn set_token_lives(&self, lives: TokenLives) {
        *self.0.lives.write().unwrap_or_else(PoisonError::into_inner) = lives;
    }

    /// Makes tokens given up to now good for nothing, here and at all servers that check them, which answer as to a
    /// token whose key is gone. (What the API revokes is still good at servers that do not ask the UAA.)
    pub fn revoke_tokens(&self, tokens: &Tokens) {
        self.0.revocations.revoke(tokens);
    }

    /// Makes a new key, which signs from now on. The others stay published. Returns the new key's id. Some tenths of a
    /// second of computing.
    pub fn rotate_key(&self) -> Result<String, KeysError> {
        self.0.keys.rotate()
    }

    fn url(&self) -> &str {
        &self.0.url
    }

    fn keys(&self) -> &KeyRing {
        &self.0.keys
    }

    fn revocations(&self) -> &Revocations {
        &self.0.revocations
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        let directory = self.0.directory.lock();
        directory.unwrap_or_else(PoisonError::into_inner)
    }

    fn lives(&self) -> TokenLives {
        *self.0.lives.read().unwrap_or_else(PoisonError::into_inner)
    }
}

struct TableNames {
    clients: &'static str,
    users: &'static str,
    groups: &'static str,
    revocations: &'static str,
    keys: &'static str,
    keys_changed: &'static str,
}

impl UaaRole {
    const fn tables(self) -> TableNames {
        match self {
            Self::Bosh => TableNames {
                clients: "bosh_uaa_clients",
                users: "bosh_uaa_users",
                groups: "bosh_uaa_groups",
                revocations: "bosh_uaa_withdrawals",
                keys: "bosh_uaa_keys",
                keys_changed: "bosh_uaa_keys_changed",
            },
            Self::CloudFoundry => TableNames {
                clients: "cf_uaa_clients",
                users: "cf_uaa_users",
                groups: "cf_uaa_groups",
                revocations: "cf_uaa_withdrawals",
                keys: "cf_uaa_keys",
                keys_changed: "cf_uaa_keys_changed",
            },
        }
    }
}
