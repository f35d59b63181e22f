//! A server: that its name has an address, that a connection comes about, and that its certificate is believed.

use std::net::SocketAddr;

use futures_util::future::join_all;
use odb_clients::http::{Trust, Url, proxy_for};
use tokio::net::{TcpStream, lookup_host};

use crate::{
    config::Verification,
    finding::Finding,
    preflight::{
        certificates::of_server as certificate,
        doctor::{
            chart::Chart,
            patience::{Patience, TooSlow},
            subject::Probe,
        },
    },
};

/// Where a server is, and whose word that is.
#[derive(Clone, Debug)]
pub(crate) struct Server<'a> {
    pub(crate) url: Url,
    pub(crate) source: AddressSource,
    pub(crate) belief: Belief<'a>,
}

/// Who has said where a server is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressSource {
    /// A key of our configuration.
    Key(&'static str),
    /// Another server, by a setting of its own.
    Neighbour {
        /// Who.
        who: &'static str,
        /// What is to be corrected there.
        setting: &'static str,
    },
}

/// Whose certificates are believed at a server.
#[derive(Clone, Debug)]
pub(crate) struct Belief<'a> {
    pub(crate) trust: Trust,
    /// The authorities that are configured, and where.
    pub(crate) configured: Vec<(&'static str, &'a str)>,
    /// The key that an authority is best given by.
    pub(crate) key: &'static str,
    pub(crate) system: SystemStore,
    pub(crate) verification: Verification,
}

/// Whether the operating system's authorities count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemStore {
    /// Beside those that are configured.
    Beside,
    /// Only where none are configured.
    Instead,
}

/// The server can be spoken to, as far as is known without a request.
pub(crate) struct Reached;

impl AddressSource {
    pub(crate) fn key(self) -> Option<&'static str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Neighbour { .. } => None,
        }
    }

    /// What to correct when the address is wrong, as the beginning of a sentence.
    pub(crate) fn remedy(self) -> String {
        match self {
            Self::Key(key) => format!("correct `{key}`"),
            Self::Neighbour { who, setting } => {
                format!("the {who} tells this address: correct {setting}")
            }
        }
    }
}

impl Server<'_> {
    fn host(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> String {
        authority(&self.url)
    }

    /// Looks the name up, connects, and looks at the certificate. Nothing is asked.
    pub(crate) async fn reach(&self, chart: &mut Chart, patience: Patience) -> Option<Reached> {
        if let Some(proxy) = proxy_for(&self.url) {
            let why = format!("through the proxy `{proxy}`, which looks names up and connects");
            for probe in [Probe::Name, Probe::Connection, Probe::Certificate] {
                chart.not_asked(probe, why.clone());
            }
            return Some(Reached);
        }
        let addresses = self.look_up(chart, patience).await?;
        let connected = self.connect(chart, &addresses, patience).await?;
        if self.url.scheme() == "http" {
            chart.not_asked(
                Probe::Certificate,
                "plain HTTP, in which everybody on the way can read our credentials",
            );
            return Some(Reached);
        }
        let name = self.host().to_owned();
        certificate::look(self, &name, connected, chart, patience).await
    }

    async fn look_up(&self, chart: &mut Chart, patience: Patience) -> Option<Vec<SocketAddr>> {
        let (host, port) = (self.host(), self.port());
        if let Ok(address) = host.parse() {
            chart.fine(Probe::Name, None, format!("{address} is an address"));
            return Some(vec![SocketAddr::new(address, port)]);
        }
        let (came, took) = match patience.wait(lookup_host((host, port))).await {
            Ok((Ok(found), took)) => {
                let found: Vec<_> = found.collect();
                let told: Vec<_> = found.iter().map(|found| found.ip().to_string()).collect();
                if !found.is_empty() {
                    let text = format!("`{host}` is {}", told.join(", "));
                    chart.fine(Probe::Name, took, text);
                    return Some(found);
                }
                (format!("`{host}` has no address"), Some(took))
            }
            Ok((Err(error), took)) => (format!("`{host}` cannot be resolved: {error}"), Some(took)),
            Err(TooSlow { limit }) => (
                format!("no name server has answered for `{host}` within {limit:?}"),
                None,
            ),
        };
        let trouble = Finding::tried(
            chart.subject.unreachable(),
            self.source.key(),
            format!("to look up the name `{host}`"),
            came,
            format!(
                "{}, or see that the name servers of this machine know the name (`/etc/resolv.conf`; names that end in `.bosh` \
                 or `.internal` are known where BOSH DNS runs)",
                self.source.remedy()
            ),
        );
        chart.wrong(Probe::Name, took, trouble);
        None
    }

    /// All addresses are tried at once; the first that takes the connection counts.
    async fn connect(
        &self,
        chart: &mut Chart,
        addresses: &[SocketAddr],
        patience: Patience,
    ) -> Option<TcpStream> {
        let attempts = addresses.iter().map(|address| async move {
            (*address, patience.wait(TcpStream::connect(address)).await)
        });
        let mut failures = Vec::new();
        let mut slow = false;
        for (address, attempt) in join_all(attempts).await {
            match attempt {
                Ok((Ok(stream), took)) => {
                    chart.fine(Probe::Connection, took, address.to_string());
                    return Some(stream);
                }
                Ok((Err(error), _)) => failures.push(format!("{address}: {error}")),
                Err(TooSlow { limit }) => {
                    slow = true;
                    failures.push(format!("{address}: nothing within {limit:?}"));
                }
            }
        }
        let port = self.port();
        let remedy = if slow {
            format!(
                "let this machine through to port {port} there (firewall, security group, route), or {}",
                self.source.remedy()
            )
        } else {
            format!(
                "see that the {} runs and listens on port {port}, or {}",
                chart.subject,
                self.source.remedy()
            )
        };
        let trouble = Finding::tried(
            chart.subject.unreachable(),
            self.source.key(),
            format!("to connect to `{}`", self.authority()),
            failures.join("; "),
            remedy,
        );
        chart.wrong(Probe::Connection, None, trouble);
        None
    }
}

/// Host and port of an address.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
