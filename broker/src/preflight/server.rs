//! The common probes of servers: the name has an address, a connection can be opened, the certificate is trusted, and a
//! public request is answered.

use std::{net::SocketAddr, time::Duration};

use futures_util::future::join_all;
use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_clients::http::{
    ClientError, HttpClient, Request, Response, StatusCode, TransportError, Trust, Url, address,
    header::{ACCEPT, DATE, HeaderValue},
    proxy_for,
};
use odb_core::finding::Finding;
use odb_redaction::Chain;
use tokio::net::{TcpStream, lookup_host};

use crate::preflight::{
    certificates::{of_server as certificate, trust::Authorities},
    chart::{Chart, Probe, Subject},
    context::{Context, FILE_HAS_ERRORS, TooSlow, timed},
    doctor::clock,
    start::Checked,
};

#[derive(Clone, Debug)]
pub(crate) struct Server<'a> {
    pub(crate) url: Url,
    pub(crate) source: AddressSource,
    pub(crate) authorities: Authorities<'a>,
    pub(crate) trust: Trust,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressSource {
    Key(&'static str),
    Upstream {
        who: &'static str,
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
    /// A server of the configuration. Its address has been checked with the file.
    pub(crate) fn configured(
        context: &Context<'_>,
        url: Result<Url, ClientError>,
        key: &'static str,
        authorities: Authorities<'a>,
        chart: &mut Chart,
    ) -> Option<Self> {
        let url = url.map_err(|error| unusable_address(key, &error).into());
        Some(Self {
            trust: unless_wrong(authorities.trust(), context, chart)?,
            url: unless_wrong(url, context, chart)?,
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

    pub(crate) fn authority(&self) -> String {
        authority(&self.url)
    }

    /// The answer to a request without credentials, for `doctor`. A start leaves this to the upstream's client, whose
    /// first request shows the same. `None` if the server cannot be reached.
    pub(crate) async fn first_answer(
        &self,
        context: &Context<'_>,
        path: &[&str],
        chart: &mut Chart,
    ) -> Option<Option<Answered>> {
        if context.is_start() {
            return Some(None);
        }
        self.reach(chart).await?;
        self.ask(path, chart).await.map(Some)
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
        let remedy = format!(
            "{}, or see that the name servers of this machine know the name (`/etc/resolv.conf`; names that end in `.bosh` or \
             `.internal` are known where BOSH DNS runs)",
            self.source.remedy()
        );
        let tried = format!("to look up the name `{host}`");
        let finding = self.unreachable(chart.subject, tried, came, remedy);
        chart.failed(Probe::Name, took, finding)
    }

    /// The finding of a probe that ends the examination of the server.
    fn unreachable(
        &self,
        subject: Subject,
        tried: String,
        came: String,
        remedy: String,
    ) -> Finding {
        let (code, key) = (subject.unreachable(), self.source.key());
        Finding::tried(code, key, tried, came, remedy)
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
        let (port, correct) = (self.port(), self.source.remedy());
        let remedy = if slow {
            format!(
                "let this machine through to port {port} there (firewall, security group, route), or {correct}"
            )
        } else {
            let subject = chart.subject;
            format!("see that the {subject} runs and listens on port {port}, or {correct}")
        };
        let tried = format!("to connect to `{}`", self.authority());
        let finding = self.unreachable(chart.subject, tried, failures.join("; "), remedy);
        chart.failed(Probe::Connection, None, finding)
    }

    /// Asks for something that needs no credentials, and reads the server's clock on the way.
    pub(crate) async fn ask(&self, path: &[&str], chart: &mut Chart) -> Option<Answered> {
        let url = address::on(&self.url, path, &[]);
        let asked = format!("`GET {}` of `{}`", url.path(), self.authority());
        let request =
            Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let subject = chart.subject;
        let unreachable = |came, remedy| self.unreachable(subject, asked.clone(), came, remedy);
        let client = HttpClient::new(&self.trust, chart.timeouts.limits());
        let client = chart.unless_failed(Probe::Answer, None, client, |error| {
            unreachable(Chain(&error).to_string(), self.source.remedy())
        })?;
        let (clock, call) = (Timestamp::now(), chart.timeouts.call());
        let (outcome, took) = timed(client.send(&call, &request)).await;
        let answer = chart.unless_failed(Probe::Answer, took, outcome, |error| {
            unreachable(Chain(&error).to_string(), self.remedy_of(&error))
        })?;
        if let Some(date) = answer.header(&DATE) {
            chart.ahead = clock::ahead(date, clock, took);
        }
        Some(Answered {
            answer,
            took,
            asked,
        })
    }

    pub(crate) fn remedy_of(&self, error: &TransportError) -> String {
        let correct = self.source.remedy();
        match error {
            TransportError::TooSlow { .. } | TransportError::OutOfTime { .. } => {
                "it takes connections and does not answer: look at its load and its log".to_owned()
            }
            TransportError::NotConnected { .. } => {
                format!("see that it runs and can be reached from here, or {correct}")
            }
            TransportError::Handshake { .. } => format!(
                "see that `{}` has the authority of its certificate, or {correct}",
                self.authorities.key
            ),
            TransportError::Broken { .. } | TransportError::TooLong { .. } => {
                format!("look at its log, and whether it is what it should be; else {correct}")
            }
        }
    }

    /// Notes that no such server gives this answer: another owner is there, or it is not well.
    pub(crate) fn refute<T>(&self, answered: Answered, what: &str, chart: &mut Chart) -> Option<T> {
        let status = answered.answer.status();
        let came = if status == StatusCode::OK {
            format!("an answer that no {what} gives")
        } else {
            format!("status {status}")
        };
        let remedy = if status.is_server_error() {
            format!("look at the log of the {}", chart.subject)
        } else {
            let correct = self.source.remedy();
            format!("see whether a {what} is there, or {correct}")
        };
        let finding = self.unreachable(chart.subject, answered.asked, came, remedy);
        chart.failed(Probe::Answer, answered.took, finding)
    }
}

pub(crate) struct Answered {
    pub(crate) answer: Response,
    pub(crate) took: Duration,
    asked: String,
}

pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// An address without a server, which is an error of the file.
pub(crate) fn unusable_address(key: &'static str, error: &ClientError) -> Finding {
    let found = format!("`{key}` is not a valid address");
    let remedy = "give one such as `https://host.example.com`";
    Finding {
        is_in_file: true,
        ..Finding::error(Code::ConfigurationInvalid, key, found, remedy).because(error)
    }
}

/// Without authorities no server can be trusted, so none is called. `doctor` has reported errors of the file already.
fn unless_wrong<T>(read: Checked<T>, context: &Context<'_>, chart: &mut Chart) -> Option<T> {
    let errors = match read {
        Ok(read) => return Some(read),
        Err(errors) => errors,
    };
    for error in errors {
        if context.is_start() || !error.is_in_file {
            let finding = Finding {
                tried: "to read the trusted authorities".to_owned(),
                found: error.found_because(),
                cause: String::new(),
                ..error
            };
            chart.found(Probe::Certificate, None, finding);
        } else if chart.rows.is_empty() {
            chart.not_asked(Probe::Answer, FILE_HAS_ERRORS);
        }
    }
    None
}

pub(crate) fn are_the_same(one: &Url, other: &Url) -> bool {
    let end = |url: &Url| {
        let host = url.host_str().map(str::to_ascii_lowercase);
        (host, url.port_or_known_default())
    };
    end(one) == end(other)
}
