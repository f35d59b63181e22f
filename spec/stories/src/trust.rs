//! The trust root of a foundation's clients: its certificate authority only.

use std::{path::Path, time::Duration};

use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};
use rustls_pki_types::{CertificateDer, pem::PemObject};

/// Longer than the budget of any request.
const CALL_LIMIT: Duration = Duration::from_secs(90);
/// How long a connection waits for the next request.
const IDLE_LIMIT: Duration = Duration::from_secs(1);

/// TLS with the trust root in `ca_certificate`.
pub(crate) fn client_tls(ca_certificate: &Path) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(ca_certificate);
    for certificate in certificates.expect("the sandbox has written its certificate") {
        let certificate = certificate.expect("the sandbox writes PEM");
        roots
            .add(certificate)
            .expect("the sandbox has made it for this purpose");
    }
    ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("the provider offers the usual versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// HTTP over that, without redirects: a Director's are read, not followed.
pub(crate) fn http_client(tls: ClientConfig) -> reqwest::Client {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        // The sandbox lives on the loopback net, where no proxy can reach it.
        .no_proxy()
        .timeout(CALL_LIMIT)
        // Servers close idle connections after 5 seconds, which must not cross a request.
        .pool_idle_timeout(IDLE_LIMIT)
        .build()
        .expect("every part of it is given")
}
