//! When certificates expire.

use prometheus::IntGaugeVec;

use super::Maker;

/// When certificates expire.
#[derive(Debug)]
pub struct CertificateMetrics {
    expiry: IntGaugeVec,
}

impl CertificateMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        Self {
            expiry: made.gauges(
                "odb_certificate_expiry_timestamp_seconds",
                "When a certificate expires, in seconds since 1970",
                &["certificate"],
            ),
        }
    }

    /// A certificate that is in use expires at this time, in seconds since 1970. `certificate` says which it is, by the
    /// key of the configuration that names it.
    pub fn expires(&self, certificate: &str, not_after: i64) {
        self.expiry.with_label_values(&[certificate]).set(not_after);
    }
}
