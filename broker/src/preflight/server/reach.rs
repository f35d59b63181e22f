//! A server: its name has an address, a connection can be opened, and its certificate is trusted.

use std::net::SocketAddr;

use futures_util::future::join_all;
use odb_clients::http::{ClientError, Trust, Url, proxy_for};
use odb_core::finding::Finding;
use tokio::net::{TcpStream, lookup_host};

use crate::preflight::{
    certificates::{of_server as certificate, trust::Authorities},
    doctor::{
        chart::Chart,
        context::{FILE_HAS_ERRORS, TooSlow},
        subject::Probe,
    },
    start::Checked,
};

/// The address of a server, and its source.
#[derive(Clone, Debug)]
pub(crate) struct Server<'a> {
    pub(crate) url: Url,
    pub(crate) source: AddressSource,
    pub(crate) authorities: Authorities<'a>,
    /// The trust roots of these settings.
    pub(crate) trust: Trust,
}

/// The origin of a server's address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressSource {
    /// A key of our configuration.
    Key(&'static str),
    /// Another server, by its own setting.
    Upstream {
        /// Who.
        who: &'static str,
        /// The setting to correct.
        setting: &'static str,
    },
}

impl AddressSource {
    pub(crate) fn key(self) -> Option<&'static str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Upstream { .. } => None,
        }
    }

    /// The remedy for a wrong address, as the beginning of a sentence.
    pub(crate) fn remedy(self) -> String {
        match self {
            Self::Key(key) => format!("correct `{key}`"),
            Self::Upstream { who, setting } => {
                format!("the {who} gives this address: correct {setting}")
            }
        }
    }
}

impl<'a> Server<'a> {
    /// A server of the configuration, whose address is checked with the file; an unusable address is an error of the
    /// file.
    pub(crate) fn configured(
        url: Result<Url, ClientError>,
        key: &'static str,
        authorities: Authorities<'a>,
        chart: &mut Chart,
    ) -> Option<Self> {
        Some(Self {
            trust: cached(authorities.trust(), chart)?,
            url: url.ok()?,
            source: AddressSource::Key(key),
            authorities,
        })
    }

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

    /// Resolves the name, connects, and checks the certificate. No request is sent.
    pub(crate) async fn reach(&self, chart: &mut Chart) -> Option<()> {
        if let Some(proxy) = proxy_for(&self.url) {
            let why = format!("through the proxy `{proxy}`, which looks names up and connects");
            for probe in [Probe::Name, Probe::Connection, Probe::Certificate] {
                chart.not_asked(probe, why.clone());
            }
            return Some(());
        }
        let addresses = self.look_up(chart).await?;
        let connected = self.connect(chart, &addresses).await?;
        if self.url.scheme() == "http" {
            let why = "plain HTTP, which exposes the credentials to the network";
            chart.not_asked(Probe::Certificate, why);
            return Some(());
        }
        certificate::look(self, self.host(), connected, chart).await
    }

    async fn look_up(&self, chart: &mut Chart) -> Option<Vec<SocketAddr>> {
        let (host, port) = (self.host(), self.port());
        if let Ok(address) = host.parse() {
            chart.fine(Probe::Name, None, format!("{address} is an address"));
            return Some(vec![SocketAddr::new(address, port)]);
        }
        let (came, took) = match chart.timeouts.wait(lookup_host((host, port))).await {
            Ok((Ok(found), took)) => {
                let found: Vec<_> = found.collect();
                let reported: Vec<_> = found.iter().map(|found| found.ip().to_string()).collect();
                if !found.is_empty() {
                    let text = format!("`{host}` is {}", reported.join(", "));
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
        let finding = Finding::tried(
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
        chart.failed(Probe::Name, took, finding)
    }

    /// All addresses are tried at once; the first that takes the connection counts.
    async fn connect(&self, chart: &mut Chart, addresses: &[SocketAddr]) -> Option<TcpStream> {
        let timeouts = chart.timeouts;
        let attempts = addresses.iter().map(|address| async move {
            (*address, timeouts.wait(TcpStream::connect(address)).await)
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
        let finding = Finding::tried(
            chart.subject.unreachable(),
            self.source.key(),
            format!("to connect to `{}`", self.authority()),
            failures.join("; "),
            remedy,
        );
        chart.failed(Probe::Connection, None, finding)
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

/// Without authorities no server can be trusted, so none is called. Invalid authorities of the file are reported
/// already.
fn cached(trust: Checked<Trust>, chart: &mut Chart) -> Option<Trust> {
    let errors = match trust {
        Ok(trust) => return Some(trust),
        Err(errors) => errors,
    };
    for error in errors {
        if !error.is_in_file {
            let finding = Finding {
                tried: "to read the trusted authorities".to_owned(),
                found: error.found_because(),
                ..error
            };
            chart.found(Probe::Certificate, None, finding);
        } else if chart.rows.is_empty() {
            chart.not_asked(Probe::Answer, FILE_HAS_ERRORS);
        }
    }
    None
}

/// Whether two addresses lead to the same host and port.
pub(crate) fn are_the_same(one: &Url, other: &Url) -> bool {
    let end = |url: &Url| {
        let host = url.host_str().map(str::to_ascii_lowercase);
        (host, url.port_or_known_default())
    };
    end(one) == end(other)
}
