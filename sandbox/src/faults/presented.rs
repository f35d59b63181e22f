//! The certificate that a server presents.

use std::{collections::BTreeMap, fmt, sync::Arc};

use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{effect::CertificateFlaw, fault::ServerName, table::Faults};

/// Chooses the certificate for each new connection: the valid one, or one that a fault requires.
pub(crate) struct Presented {
    pub(crate) server: ServerName,
    pub(crate) faults: Faults,
    pub(crate) right: Arc<CertifiedKey>,
    /// Those that they should not.
    pub(crate) flawed: BTreeMap<CertificateFlaw, Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Presented {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let flaw = self.faults.certificate(self.server);
        let flawed = flaw.and_then(|flaw| self.flawed.get(&flaw));
        Some(Arc::clone(flawed.unwrap_or(&self.right)))
    }
}

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
