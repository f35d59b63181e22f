//! The trusted certificates of each upstream (`docs/contributing/security.md`).

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_clients::http::{Trust, TrustError};
use odb_config::{
    Bosh, CloudFoundry, CredHubAccess, Inspection, RuntimeCredHub, ServiceInstancesApi,
    Verification,
};
use odb_core::finding::Finding;
use odb_redaction::Chain;
use rustls_pki_types::{CertificateDer, pem::PemObject};

use super::{day, days_left};
use crate::{api::OwnCertificate, preflight::start::Checked};

const UNUSABLE: &str = "give one or more in PEM form, or leave it out";

#[derive(Clone, Debug)]
pub(crate) struct Authorities<'a> {
    /// Those that are configured, and by which key.
    pub(crate) configured: Vec<(&'static str, &'a str)>,
    /// The key that an authority is best given by.
    pub(crate) key: &'static str,
    pub(crate) system: SystemStore,
    pub(crate) verification: Verification,
    /// The key that turns verification off, and its servers.
    switch: (&'static str, &'static str),
}

/// Whether the operating system's authorities count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemStore {
    /// Beside those that are configured.
    Beside,
    /// Only where none are configured.
    Instead,
}

impl<'a> Authorities<'a> {
    /// The Director and its UAA: the configured authorities and no other, else the operating system's.
    pub(crate) fn of_director(bosh: &'a Bosh) -> Self {
        Self {
            system: SystemStore::Instead,
            ..Self::verified([("bosh.root_ca_cert", &bosh.root_ca_cert)])
        }
    }

    pub(crate) fn of_directors_credhub(access: &'a CredHubAccess) -> Self {
        Self::verified([("bosh_credhub.root_ca_cert", &access.ca_certs)])
    }

    pub(crate) fn of_runtime_credhub(section: &'a RuntimeCredHub) -> Self {
        Self::verified([
            ("credhub.ca_cert", &section.ca_cert),
            ("credhub.internal_uaa_ca_cert", &section.uaa_ca_cert),
        ])
    }

    pub(crate) fn of_cloud_foundry(cf: &'a CloudFoundry) -> Self {
        Self {
            verification: cf.verification,
            switch: (
                "`broker.disable_ssl_cert_verification` or `cf.disable_ssl_cert_verification`",
                "the Cloud Controller or its UAA",
            ),
            ..Self::verified([("cf.root_ca_cert", &cf.root_ca_cert)])
        }
    }

    pub(crate) fn of_instances_api(api: &'a ServiceInstancesApi) -> Self {
        Self {
            verification: api.verification,
            switch: (
                "`service_instances_api.disable_ssl_cert_verification`",
                "the service instances API",
            ),
            ..Self::verified([("service_instances_api.root_ca_cert", &api.root_ca_cert)])
        }
    }

    /// The operating system's authorities, and those that are configured beside them. They are never left unverified.
    fn verified<const N: usize>(keys: [(&'static str, &'a Option<String>); N]) -> Self {
        let configured = keys
            .iter()
            .filter_map(|(key, pem)| Some((*key, pem.as_deref()?)));
        Self {
            configured: configured.collect(),
            key: keys.first().map(|(key, _)| *key).unwrap_or_default(),
            system: SystemStore::Beside,
            verification: Verification::On,
            switch: ("", ""),
        }
    }

    /// Reads them, each on its own first, so that an unusable one is named.
    pub(crate) fn trust(&self) -> Checked<Trust> {
        if self.verification == Verification::Off {
            let ((switch, upstream), key) = (self.switch, self.key);
            tracing::warn!(
                code = %Code::Unverified,
                "{switch} is set: anyone between the broker and {upstream} can read its credentials and change answers; \
                 give `{key}` instead"
            );
            return Ok(Trust::unverified().map_err(|source| error(key, &source))?);
        }
        let read = |pem: &str| match self.system {
            SystemStore::Instead => Trust::only(pem),
            SystemStore::Beside => Trust::system_and(pem),
        };
        let each = self.configured.iter();
        let unusable = each.filter_map(|(key, pem)| Some(error(key, &read(pem).err()?)));
        let unusable: Vec<Finding> = unusable.collect();
        if !unusable.is_empty() {
            return Err(unusable);
        }
        let all: Vec<&str> = self.configured.iter().map(|(_, pem)| *pem).collect();
        let trust = match all.as_slice() {
            [] => Trust::system(),
            all => read(&all.join("\n")),
        };
        Ok(trust.map_err(|source| error(self.key, &source))?)
    }
}

fn error(key: &'static str, source: &TrustError) -> Finding {
    let is_in_file = !matches!(source, TrustError::NoSystemStore { .. });
    let (found, remedy) = if is_in_file {
        (format!("`{key}` has no usable certificate"), UNUSABLE)
    } else {
        (
            format!("there is no `{key}`, and the operating system has no trusted authorities"),
            "give the certificate of the authority there, or to the operating system (BOSH: `trusted_certs`)",
        )
    };
    let finding = Finding::error(Code::ConfigurationInvalid, key, found, remedy);
    Finding {
        is_in_file,
        ..finding.because(source)
    }
}

pub(crate) fn of_roots(inspection: &Inspection, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (key, pem) in &inspection.certificates {
        let finding =
            |found, remedy| Finding::error(Code::ConfigurationInvalid, key.clone(), found, remedy);
        if let Err(error) = Trust::only(pem) {
            let found = format!("has no usable certificate: {}", Chain(&error));
            findings.push(finding(found, UNUSABLE));
            continue;
        }
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten();
        for known in certificates.filter_map(|certificate| OwnCertificate::of(&certificate)) {
            let end = known.not_after;
            let (found, remedy) = match days_left(end, now) {
                Some(..0) => ("expired", "give the one that came after it"),
                Some(_) => ("expires", "renew it in time"),
                None => continue,
            };
            let found = format!("has a certificate that {found} on {}", day(end));
            findings.push(finding(found, remedy).warning());
        }
    }
    findings
}
