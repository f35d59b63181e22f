//! The operating system's store of certificates.

use std::sync::{Arc, LazyLock};

use rustls::{RootCertStore, client::WebPkiServerVerifier};

use super::verifier_of;

/// The operating system's store. It is read on first use, and once: reading some hundred files takes milliseconds and
/// memory, and where all certificates are configured nothing needs it.
#[derive(Clone, Copy)]
pub(super) struct SystemStore(&'static LazyLock<Loaded>);

/// The verifier of the store, or the first error if there is none.
pub(super) type Loaded = Result<Arc<WebPkiServerVerifier>, Option<Arc<rustls_native_certs::Error>>>;

static STORE: LazyLock<Loaded> = LazyLock::new(load);

impl SystemStore {
    /// The store of this machine.
    pub(super) fn of_this_machine() -> Self {
        Self(&STORE)
    }

    #[cfg(test)]
    pub(super) fn at(store: &'static LazyLock<Loaded>) -> Self {
        Self(store)
    }

    /// The verifier that trusts the store.
    pub(super) fn verifier(self) -> Loaded {
        LazyLock::force(self.0).clone()
    }
}

fn load() -> Loaded {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Old certificates that cannot be parsed are common in such stores, and harmless.
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(found.errors.into_iter().next().map(Arc::new));
    }
    verifier_of(roots).map_err(|_| None)
}
