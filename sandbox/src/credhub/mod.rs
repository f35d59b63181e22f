//! A CredHub (`spec/contracts/platform-apis.md`, "CredHub"): credentials in versions, generated or set, and who may do
//! what with them.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the HTTP edge: who calls, what is asked, what is answered |
//! | [`operations`] | what may be asked, each with the checks that come before it |
//! | [`vault`], [`credential`], [`name`] | all credentials, one credential, what it is called |
//! | [`authentication`] | who asks |
//! | [`permissions`] | who may do what |
//! | [`generate`], [`certificate`], [`ssh`], [`user_hash`] | how secrets are made |
//! | [`credential`] | reads objects of JSON |
//! | [`rejection`] | every way to turn a request down |
//! | [`settings`] | what a CredHub is set up with |

mod api;
mod authentication;
mod certificate;
mod credential;
mod generate;
mod name;
mod operations;
mod permissions;
mod rejection;
mod settings;
mod ssh;
mod user_hash;
mod vault;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use actix_web::web::{self, ServiceConfig};
use semver::Version;

pub use self::{
    authentication::Actor,
    generate::Mode,
    name::{CredentialName, NameError},
    permissions::{ALL_OPERATIONS, Operation, Permission, PermissionPath},
    settings::{Acls, CredHubSettings, Side, VERSION, director_actor},
};
pub(crate) use self::{
    operations::{Generation, Session},
    rejection::Rejection,
};
use self::{permissions::Permissions, vault::Vault};
use crate::{
    store::{Store, StoreError},
    uaa::TokenVerifier,
};

/// A CredHub. A clone is the same CredHub.
#[derive(Clone)]
pub struct CredHub {
    inner: Arc<Inner>,
}

struct Inner {
    uaa_url: String,
    tokens: TokenVerifier,
    state: Mutex<State>,
}

/// All mutable state. Each operation holds the lock for its duration.
struct State {
    vault: Vault,
    permissions: Permissions,
    behaviour: Behaviour,
}

/// How a CredHub behaves. Not part of what is saved.
#[derive(Clone)]
struct Behaviour {
    version: Version,
    acls: Acls,
}

impl CredHub {
    /// A CredHub that believes these tokens, with the credentials that were saved.
    pub fn new(
        settings: CredHubSettings,
        tokens: TokenVerifier,
        store: &Store,
    ) -> Result<Self, StoreError> {
        let state = State {
            vault: Vault::open(store, settings.side.versions_table())?,
            permissions: Permissions::open(
                store,
                settings.side.permissions_table(),
                settings.permissions,
            )?,
            behaviour: Behaviour {
                version: settings.version,
                acls: settings.acls,
            },
        };
        Ok(Self {
            inner: Arc::new(Inner {
                uaa_url: settings.uaa_url,
                tokens,
                state: Mutex::new(state),
            }),
        })
    }

    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        api::routes(app);
    }

    pub(crate) fn session(&self, actor: Actor) -> Session {
        Session::new(self.clone(), actor)
    }

    fn behaviour(&self) -> Behaviour {
        self.with(|state| state.behaviour.clone())
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        use_it(
            &mut self
                .inner
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl Behaviour {
    /// Before version 2, credentials had permissions of their own, and the creator of a credential had all of them.
    fn is_legacy(&self) -> bool {
        self.version.major < 2
    }
}

impl fmt::Debug for CredHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredHub")
            .field("uaa_url", &self.inner.uaa_url)
            .finish_non_exhaustive()
    }
}
