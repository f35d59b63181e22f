//! Whose certificates are believed, neighbour by neighbour (`docs/security.md`).

use odb_api_types::code::Code;
use odb_clients::http::{Trust, TrustError};

use crate::{config::Verification, finding::Finding, preflight::start::Checked};

/// The Director and its UAA: the configured authorities and no other, else the operating system's. They are
/// never left unverified.
pub(crate) fn of_the_director(key: &'static str, authorities: Option<&str>) -> Checked<Trust> {
    match authorities {
        Some(pem) => Trust::only(pem),
        None => Trust::system(),
    }
    .map_err(|source| fault(key, &source))
}

/// A CredHub and its UAA: the operating system's authorities, and those that are configured beside them. They are never left
/// unverified.
pub(crate) fn of_a_credhub(key: &'static str, authorities: Option<&str>) -> Checked<Trust> {
    match authorities {
        Some(pem) => Trust::system_and(pem),
        None => Trust::system(),
    }
    .map_err(|source| fault(key, &source))
}

/// Everybody else: the operating system's authorities, and those that are configured beside them. `switch` is the key
/// that has switched verification off, if it is.
pub(crate) fn of_a_platform(
    key: &'static str,
    authorities: Option<&str>,
    verification: Verification,
    switch: &str,
    neighbour: &str,
) -> Checked<Trust> {
    match (authorities, verification) {
        (_, Verification::Off) => {
            tracing::warn!(
                code = %Code::Unverified,
                "{switch} is set: whoever stands between us and {neighbour} reads our credentials and decides what we are told; \
                 give `{key}` instead"
            );
            Trust::unverified()
        }
        (Some(pem), Verification::On) => Trust::system_and(pem),
        (None, Verification::On) => Trust::system(),
    }
    .map_err(|source| fault(key, &source))
}

fn fault(key: &'static str, source: &TrustError) -> Vec<Finding> {
    let code = Code::ConfigurationInvalid;
    let finding = match source {
        TrustError::NoSystemStore { .. } => Finding::fault(
            code,
            key,
            format!("there is no `{key}`, and the operating system trusts nobody"),
            "give the certificate of the authority there, or to the operating system (BOSH: `trusted_certs`)",
        ),
        _ => Finding {
            is_in_file: true,
            ..Finding::fault(
                code,
                key,
                format!("`{key}` holds no usable certificate"),
                "give one or more in PEM form, or leave it out",
            )
        },
    };
    vec![finding.because(source)]
}
