//! The certificates that an errand trusts.

use odb_clients::http::{Trust, TrustError};
use odb_config::Verification;

use crate::Console;

/// A trust root that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` cannot be used")]
pub struct UnusableTrust {
    key: &'static str,
    #[source]
    source: TrustError,
}

/// The operating system's authorities, and those that are configured beside them, under `key`.
///
/// # Errors
///
/// They are no certificates in PEM form, or the system has none.
pub(crate) fn of_a_server(
    authorities: Option<&str>,
    verification: Verification,
    key: &'static str,
    server: &str,
    console: &Console,
) -> Result<Trust, UnusableTrust> {
    match (authorities, verification) {
        (_, Verification::Off) => {
            console.say(format_args!(
                "certificates are not verified: anyone between this program and {server} can read its credentials; configure `{key}` instead"
            ));
            Trust::unverified()
        }
        (Some(pem), Verification::On) => Trust::system_and(pem),
        (None, Verification::On) => Trust::system(),
    }
    .map_err(|source| UnusableTrust { key, source })
}
