//! The certificates of a server: whether they are trusted, by which authority, and until when.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use jiff::{Timestamp, civil::Date};
use odb_api_types::code::Code;
use odb_clients::http::{Trust, is_of_a_namesake, is_of_an_authority};
use odb_config::Verification;
use odb_core::finding::Finding;
use odb_redaction::Chain;
use rustls::CertificateError;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

use super::{
    day, days_left,
    own::first_to_expire,
    trust::{Authorities, SystemStore},
};
use crate::{
    api::OwnCertificate,
    preflight::{
        chart::{Chart, Probe},
        context::TooSlow,
        server::Server,
    },
};

/// Reads a server's certificates in a handshake without verification, and then verifies them with the broker's trust
/// roots.
pub(crate) async fn look(
    server: &Server<'_>,
    name: &str,
    connected: TcpStream,
    chart: &mut Chart,
) -> Option<()> {
    let unreachable = chart.subject.unreachable();
    let finding = |code, key, came: String, remedy: String| {
        let tried = format!("a TLS handshake with `{}`", server.authority());
        Finding::tried(code, key, tried, came, remedy)
    };
    let no_tls = |came| {
        let remedy = format!(
            "check that port {} there uses TLS, or {}",
            server.url.port_or_known_default().unwrap_or_default(),
            server.source.remedy()
        );
        finding(unreachable, server.source.key(), came, remedy)
    };
    let Ok(server_name) = ServerName::try_from(name.to_owned()) else {
        let came = format!("`{name}` is not a valid name for a certificate");
        return chart.failed(Probe::Certificate, None, no_tls(came));
    };
    let shown = shown_by(connected, server_name.clone());
    let (chain, took) = match chart.timeouts.wait(shown).await {
        Ok((Ok(shown), took)) => (shown, took),
        Ok((Err(came), took)) => return chart.failed(Probe::Certificate, took, no_tls(came)),
        Err(TooSlow { limit }) => {
            let came = format!("no TLS handshake came about within {limit:?}");
            return chart.failed(Probe::Certificate, None, no_tls(came));
        }
    };
    let now = Timestamp::now();
    let own = Shown::of(&chain);
    chart.certificates.clone_from(&own.certificates);
    let authorities = &server.authorities;
    match judge(&server.trust, &chain, &server_name, now) {
        Ok(()) if authorities.verification == Verification::Off => {
            let key = authorities.key;
            let came = format!("{own}; it is not verified");
            let remedy = format!(
                "configure the authority with `{key}`, and remove the key that turns off verification"
            );
            let finding = finding(Code::Unverified, Some(key), came, remedy).warning();
            chart.found(Probe::Certificate, took, finding);
        }
        Ok(()) => {
            if let Some((whose, end)) = own.first_end(now) {
                let came = format!("{own}; that of `{whose}` ends on {end}");
                let remedy = format!("renew it before {end}");
                let finding = finding(unreachable, server.source.key(), came, remedy).warning();
                chart.found(Probe::Certificate, took, finding);
            } else {
                let voucher = authorities.voucher(&chain, &server_name, now);
                let text = format!("{own}; trusted by {voucher}");
                chart.fine(Probe::Certificate, took, text);
            }
        }
        Err(error) => {
            let (came, remedy, key) = explain(&error, &own, server, name, now);
            let finding = finding(unreachable, key, came, remedy);
            return chart.failed(Probe::Certificate, took, finding);
        }
    }
    Some(())
}

/// The certificates that a server shows, its own first.
async fn shown_by(
    connected: TcpStream,
    name: ServerName<'static>,
) -> Result<Vec<CertificateDer<'static>>, String> {
    let unverified = Trust::unverified().map_err(|error| Chain(&error).to_string())?;
    let connector = TlsConnector::from(Arc::new(unverified.client_config()));
    match connector.connect(name, connected).await {
        Ok(stream) => {
            let (_, session) = stream.get_ref();
            let shown = session.peer_certificates().unwrap_or_default();
            Ok(shown
                .iter()
                .cloned()
                .map(CertificateDer::into_owned)
                .collect())
        }
        Err(error) => Err(format!("the TLS handshake failed: {error}")),
    }
}

fn judge(
    trust: &Trust,
    chain: &[CertificateDer<'_>],
    name: &ServerName<'_>,
    now: Timestamp,
) -> Result<(), rustls::Error> {
    let since_1970 = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
    trust.judge(chain, name, UnixTime::since_unix_epoch(since_1970))
}

impl Authorities<'_> {
    /// The authority that makes a chain trusted.
    fn voucher(
        &self,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: Timestamp,
    ) -> String {
        let by = |pem| Trust::only(pem).is_ok_and(|only| judge(&only, chain, name, now).is_ok());
        let key = self.configured.iter().find(|(_, pem)| by(pem));
        key.map_or_else(
            || "the operating system".to_owned(),
            |(key, _)| format!("`{key}`"),
        )
    }

    fn names(&self) -> String {
        let configured = self.configured.iter();
        let names = configured.map(|(key, pem)| format!("`{key}` ({})", subjects(pem).join(", ")));
        let mut names: Vec<String> = names.collect();
        if names.is_empty() || self.system == SystemStore::Beside {
            names.push("the operating system's authorities".to_owned());
        }
        names.join(" and ")
    }

    /// One of the configured authorities that is called so: its key has changed.
    fn namesake(&self, issuer: &str) -> Option<&'static str> {
        let quoted = format!("`{issuer}`");
        let mut configured = self.configured.iter();
        let found = configured.find(|(_, pem)| subjects(pem).contains(&quoted));
        found.map(|(key, _)| *key)
    }
}

/// The subjects of the certificates in a PEM text, each between back-ticks.
fn subjects(pem: &str) -> Vec<String> {
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten();
    let read = certificates.filter_map(|der| OwnCertificate::of(&der));
    read.map(|known| format!("`{}`", known.subject)).collect()
}

fn explain(
    error: &rustls::Error,
    shown: &Shown,
    server: &Server<'_>,
    name: &str,
    now: Timestamp,
) -> (String, String, Option<&'static str>) {
    let (key, of_the_server) = (server.authorities.key, server.source.key());
    let rustls::Error::InvalidCertificate(reason) = error else {
        let came = format!("{shown}: {error}");
        let remedy = format!("see what the server shows, or {}", server.source.remedy());
        return (came, remedy, of_the_server);
    };
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            let (whose, end) = shown.ended(now);
            let came = format!("the certificate of `{whose}` expired on {end}");
            let remedy = "renew the server's certificate; if it has not expired, set the clock of this machine";
            (came, remedy.to_owned(), of_the_server)
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            let remedy = "set the clock of this machine, or wait";
            let came = format!("{shown}: it begins in the future");
            (came, remedy.to_owned(), of_the_server)
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let names = if shown.names.is_empty() {
                "no name at all (a common name does not count)".to_owned()
            } else {
                format!("`{}`", shown.names.join("`, `"))
            };
            let came = format!("the certificate is for {names}, not for `{name}`");
            let correct = server.source.remedy();
            let remedy = format!(
                "{correct} so that it has a name of the certificate, or have a certificate made for `{name}`"
            );
            (came, remedy, of_the_server)
        }
        CertificateError::UnknownIssuer | CertificateError::UnknownRevocationStatus => {
            of_an_unknown_issuer(shown, server)
        }
        reason if is_of_a_namesake(reason) => of_an_unknown_issuer(shown, server),
        reason if is_of_an_authority(reason) => {
            let came = format!("{shown}: it is that of an authority (`CA:TRUE`)");
            let remedy = format!(
                "give this very certificate by `{key}`, or have one made for the server without `CA:TRUE`"
            );
            (came, remedy, Some(key))
        }
        _ => {
            let came = format!("{shown}: {error}");
            let remedy = format!(
                "have a certificate made that clients of TLS take, or give the right authority by `{key}`"
            );
            (came, remedy, Some(key))
        }
    }
}

fn of_an_unknown_issuer(
    shown: &Shown,
    server: &Server<'_>,
) -> (String, String, Option<&'static str>) {
    let (authorities, issuer) = (&server.authorities, &shown.top_issuer);
    let key = authorities.key;
    let (came, remedy) = if let Some(key) = authorities.namesake(issuer) {
        let came = format!("{shown}; `{key}` has an authority of that name, and it is another one");
        let remedy =
            format!("give the present certificate of `{issuer}` by `{key}`: it has been replaced");
        (came, remedy)
    } else {
        let (trusted, correct) = (authorities.names(), server.source.remedy());
        let came = format!("{shown}, which no trusted authority has signed; trusted are {trusted}");
        let remedy = format!("give the certificate of `{issuer}` by `{key}`, or {correct}");
        (came, remedy)
    };
    (came, remedy, Some(key))
}

struct Shown {
    /// Those that can be read, the server's own first.
    certificates: Vec<OwnCertificate>,
    subject: String,
    issuer: String,
    top_issuer: String,
    names: Vec<String>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, issued by `{}`", self.subject, self.issuer)?;
        match self.certificates.first() {
            Some(own) => write!(f, ", until {}", day(own.not_after)),
            None => Ok(()),
        }
    }
}

impl Shown {
    fn of(chain: &[CertificateDer<'_>]) -> Self {
        let read: Vec<X509Certificate<'_>> = chain
            .iter()
            .filter_map(|der| x509_parser::parse_x509_certificate(der).ok())
            .map(|(_, certificate)| certificate)
            .collect();
        let own = read.first();
        let text = |name: Option<String>| name.unwrap_or_else(|| "unknown".to_owned());
        Self {
            certificates: chain.iter().filter_map(OwnCertificate::of).collect(),
            subject: text(own.map(|own| own.subject().to_string())),
            issuer: text(own.map(|own| own.issuer().to_string())),
            top_issuer: text(read.last().map(|last| last.issuer().to_string())),
            names: own.map(names).unwrap_or_default(),
        }
    }

    /// The certificate that ends first, if that is soon.
    fn first_end(&self, now: Timestamp) -> Option<(&str, Date)> {
        let first = first_to_expire(&self.certificates)?;
        let end = first.not_after;
        days_left(end, now).map(|_| (first.subject.as_str(), day(end)))
    }

    /// The expired certificate; the server's own if that is unclear.
    fn ended(&self, now: Timestamp) -> (&str, String) {
        let mut certificates = self.certificates.iter();
        let over = certificates.find(|certificate| certificate.not_after < now);
        match over.or(self.certificates.first()) {
            Some(ended) => (&ended.subject, day(ended.not_after).to_string()),
            None => (&self.subject, "a day that cannot be read".to_owned()),
        }
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    let address: IpAddr = match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok()?.into(),
        16 => <[u8; 16]>::try_from(bytes).ok()?.into(),
        _ => return None,
    };
    Some(address.to_string())
}
