//! A server's answer to a public request.

use std::time::Duration;

use jiff::Timestamp;
use odb_clients::http::{
    Answer, HttpClient, Request, StatusCode, TransportError, address,
    header::{ACCEPT, DATE, HeaderValue},
};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    doctor::{chart::Chart, context::timed, subject::Probe},
    server::{clock, reach::Server},
};

/// An answer, and how long it took.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) took: Duration,
    /// The request.
    pub(crate) asked: String,
}

/// Asks for something that needs no credentials, and reads the server's clock on the way.
pub(crate) async fn ask(server: &Server<'_>, path: &[&str], chart: &mut Chart) -> Option<Answered> {
    let url = address::on(&server.url, path, &[]);
    let asked = format!("GET {}", url.path());
    let request = Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
    let unreachable = chart.subject.unreachable();
    let finding = |came, remedy| {
        let tried = format!("`{asked}` of `{}`", server.authority());
        Finding::tried(unreachable, server.source.key(), tried, came, remedy)
    };
    let client = match HttpClient::new(&server.trust, chart.timeouts.limits()) {
        Ok(client) => client,
        Err(error) => {
            let finding = finding(Chain(&error).to_string(), server.source.remedy());
            return chart.failed(Probe::Answer, None, finding);
        }
    };
    let (clock, call) = (Timestamp::now(), chart.timeouts.call());
    let (outcome, took) = timed(client.send(&call, &request)).await;
    match outcome {
        Ok(answer) => {
            if let Some(date) = answer.header(&DATE) {
                chart.ahead = clock::ahead(date, clock, took);
            }
            Some(Answered {
                answer,
                took,
                asked,
            })
        }
        Err(error) => {
            let (came, remedy) = silence(&error, server);
            chart.failed(Probe::Answer, took, finding(came, remedy))
        }
    }
}

/// Why there is no answer, and what to do.
pub(crate) fn silence(error: &TransportError, server: &Server<'_>) -> (String, String) {
    let remedy = match error {
        TransportError::TooSlow { .. } | TransportError::OutOfTime { .. } => {
            "it takes connections and does not answer: look at its load and its log".to_owned()
        }
        TransportError::Handshake { .. } | TransportError::NotConnected { .. } => {
            format!("see that it runs, or {}", server.source.remedy())
        }
        TransportError::Broken { .. } | TransportError::TooLong { .. } => format!(
            "look at its log, and whether it is what it should be; else {}",
            server.source.remedy()
        ),
    };
    (Chain(error).to_string(), remedy)
}

impl Answered {
    /// Notes that no such server gives this answer: another owner is there, or it is not well.
    pub(crate) fn refute<T>(self, what: &str, server: &Server<'_>, chart: &mut Chart) -> Option<T> {
        let status = self.answer.status();
        let came = if status == StatusCode::OK {
            format!("an answer that no {what} gives")
        } else {
            format!("status {status}")
        };
        let remedy = if status.is_server_error() {
            format!("look at the log of the {}", chart.subject)
        } else {
            let correct = server.source.remedy();
            format!("see whether a {what} is there, or {correct}")
        };
        let finding = Finding::tried(
            chart.subject.unreachable(),
            server.source.key(),
            format!("`{}` of `{}`", self.asked, server.authority()),
            came,
            remedy,
        );
        chart.failed(Probe::Answer, self.took, finding)
    }
}
