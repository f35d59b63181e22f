//! Certificate and key of the broker itself.

use std::{io, path::Path, sync::Arc};

use rustls::{ServerConfig, crypto::aws_lc_rs};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error as PemError, PemObject},
};

use crate::config::TlsFiles;

/// Why the broker cannot offer HTTPS.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("could not read `{file}`")]
    Unreadable {
        /// The file.
        file: String,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// A file holds something else.
    #[error("`{file}` holds no usable PEM block")]
    NotPem {
        /// The file.
        file: String,
    },
    /// The certificate cannot be understood.
    #[error("the certificate in `{file}` cannot be understood")]
    Malformed {
        /// The file.
        file: String,
    },
    /// The certificate's time is over.
    #[error("the certificate in `{file}` expired on {expiry}")]
    Expired {
        /// The file.
        file: String,
        /// When it did.
        expiry: String,
    },
    /// Certificate and key cannot be used together.
    #[error("certificate `{certificate}` and key `{key}` cannot be used together")]
    Unusable {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
        /// What rustls says.
        #[source]
        source: rustls::Error,
    },
}

/// Reads certificate and key and checks that they are good for now.
pub fn load_tls(files: &TlsFiles) -> Result<ServerConfig, CertificateError> {
    let chain = certificates(&files.certificate)?;
    check_expiry(&files.certificate, &chain)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(|_| not_pem(&files.key))?;
    let unusable = |source| CertificateError::Unusable {
        certificate: files.certificate.display().to_string(),
        key: files.key.display().to_string(),
        source,
    };
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let pem = read(file)?;
    let chain: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(&pem).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) | Err(_) => Err(not_pem(file)),
    }
}

fn check_expiry(file: &Path, chain: &[CertificateDer<'static>]) -> Result<(), CertificateError> {
    let own = chain.first().ok_or_else(|| not_pem(file))?;
    let (_, certificate) =
        x509_parser::parse_x509_certificate(own).map_err(|_| CertificateError::Malformed {
            file: file.display().to_string(),
        })?;
    let expiry = certificate.validity().not_after;
    if expiry.timestamp() < jiff::Timestamp::now().as_second() {
        return Err(CertificateError::Expired {
            file: file.display().to_string(),
            expiry: expiry.to_string(),
        });
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(file).map_err(|source| CertificateError::Unreadable {
        file: file.display().to_string(),
        source,
    })
}

fn not_pem(file: &Path) -> CertificateError {
    CertificateError::NotPem {
        file: file.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate that is good until then, and a key; the certificate's own unless said otherwise.
    fn files(folder: &Path, until: i32, key: Option<&rcgen::KeyPair>) -> TlsFiles {
        let own = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["broker.example".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        let certificate = parameters.self_signed(&own).unwrap();
        let files = TlsFiles {
            certificate: folder.join("broker.crt"),
            key: folder.join("broker.key"),
        };
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.unwrap_or(&own).serialize_pem()).unwrap();
        files
    }

    #[test]
    fn a_certificate_is_good_until_its_day() {
        let folder = tempfile::tempdir().unwrap();

        assert!(load_tls(&files(folder.path(), 2999, None)).is_ok());

        let error = load_tls(&files(folder.path(), 2021, None)).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("broker.crt"), "{told}");
        assert!(
            told.contains("expired on Jan  1") && told.contains("2021"),
            "{told}"
        );
    }

    #[test]
    fn a_key_that_is_another_certificates_is_told_with_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let other = rcgen::KeyPair::generate().unwrap();

        let error = load_tls(&files(folder.path(), 2999, Some(&other))).unwrap_err();

        let told = error.to_string();
        assert!(
            told.contains("broker.crt") && told.contains("broker.key"),
            "{told}"
        );
    }
}
