//! The broker's own certificate and key.

use rustls::ServerConfig;

use super::{Checked, StartUpFault};
use crate::{api::load_tls, config::Broker};

/// Reads certificate and key where HTTPS is configured.
pub(super) fn check(broker: &Broker) -> Checked<Option<ServerConfig>> {
    let tls = broker.tls.as_ref().map(load_tls).transpose();
    tls.map_err(|source| vec![StartUpFault::Certificate { source }])
}
