//! `odb-sandbox calls`: what the servers of a foundation were asked.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::remote::RemoteArgs;
use crate::{
    calls::{Call, CallNumber},
    faults::ServerName,
};

/// List the latest calls of all servers, the oldest first.
///
/// A line is the call's number, its time, the server, what came of it, who called, method and path.
#[derive(Debug, Args)]
pub struct CallsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Only requests after the one with this number.
    #[arg(long, value_name = "NUMBER", default_value_t)]
    after: CallNumber,
    /// Only requests to this server.
    #[arg(long, value_enum)]
    server: Option<ServerName>,
}

impl CallsArgs {
    /// Does what the arguments say.
    pub async fn run(self) -> anyhow::Result<()> {
        let mut path = format!("/calls?after={}", self.after);
        if let Some(server) = self.server.and_then(|server| server.to_possible_value()) {
            path.push_str("&server=");
            path.push_str(server.get_name());
        }
        let calls: Vec<Call> = self.remote.remote()?.get(&path).await?;
        let text: String = calls.iter().map(line).collect();
        match io::stdout().lock().write_all(text.as_bytes()) {
            // The reader closed the pipe because it has read enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// `7  2026-01-31T12:00:00.250Z  director  200  odb  on-demand-broker/0.1.0  GET /tasks?state=queued`, and so on.
fn line(call: &Call) -> String {
    let server = call.server.to_possible_value();
    let server = server.as_ref().map_or("", |server| server.get_name());
    let mut words = vec![
        call.number.to_string(),
        format!("{:.3}", call.at),
        server.to_owned(),
        call.outcome.to_string(),
    ];
    let who = call.user.as_deref().or(call.client.as_deref());
    words.push(who.unwrap_or("-").to_owned());
    words.push(call.user_agent.as_deref().unwrap_or("-").to_owned());
    let query = if call.query.is_empty() { "" } else { "?" };
    let (method, path) = (&call.method, &call.path);
    words.push(format!("{method} {path}{query}{}", call.query));
    words.extend(call.context_id.clone());
    words.join("  ") + "\n"
}
