//! `odb-sandbox fault`: how the servers of a foundation are made to fail.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    num::NonZeroU32,
    time::Duration,
};

use clap::{Args, Subcommand};
use serde_json::json;

use super::remote::{Remote, RemoteArgs};
use crate::{
    durations,
    faults::{
        CertificateFlaw, Effect, Fault, FaultId, FaultResponse, FieldName, FieldValue, HeaderMatch,
        Moment, PathPattern, RequestMethod, Requests, ServerName, SetFault, Status,
    },
};

/// Makes servers of a running foundation fail, and lets them work again.
#[derive(Debug, Args)]
pub struct FaultArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(subcommand)]
    command: FaultCommand,
}

#[derive(Debug, Subcommand)]
enum FaultCommand {
    /// Set a fault and print its id
    Add(Add),
    /// List the faults: id, affected of matching requests, effect
    List,
    /// Clear faults
    Clear(Clear),
}

#[derive(Debug, Args)]
struct Add {
    /// The server that fails.
    server: ServerName,
    #[command(flatten)]
    whom: Whom,
    #[command(subcommand)]
    effect: EffectCommand,
}

#[derive(Debug, Args)]
struct Whom {
    /// Only requests with this method.
    #[arg(long, global = true, value_name = "METHOD")]
    method: Option<RequestMethod>,
    /// Only requests to this path; `*` matches one segment, `**` at the end any number.
    #[arg(long, global = true, value_name = "PATTERN")]
    path: Option<PathPattern>,
    /// Only requests with this query parameter; repeatable.
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = parameter)]
    query: Vec<(String, String)>,
    /// Only requests with this header field; without a value, any value matches.
    #[arg(long, global = true, value_name = "NAME[: VALUE]", value_parser = header_match)]
    with_header: Option<HeaderMatch>,
    /// Skip this many matching requests first.
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Affect at most this many requests.
    #[arg(long, global = true, value_name = "N")]
    times: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum EffectCommand {
    /// Delay the answer.
    Delay {
        /// How much longer, such as `1s` or `250ms`.
        #[arg(value_parser = durations::parse)]
        duration: Duration,
        /// Whether the server works on the request before the wait or after it.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// Replace the answer.
    Answer {
        /// With this status.
        status: Status,
        /// With this header field. Can be repeated.
        #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
        header: Vec<(FieldName, FieldValue)>,
        /// With this body.
        #[arg(long, default_value = "")]
        body: String,
        /// Whether the server has worked on the request by then.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// Hold the request until the fault is cleared
    Hold {
        /// Whether the server has worked on the request by then.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// Drop the connection.
    Drop {
        /// Whether the server has worked on the request by then.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// Truncate the body of the answer.
    Truncate {
        /// So many bytes of the body arrive.
        bytes: usize,
    },
    /// Send the body of the answer slowly.
    Slow {
        /// So many bytes a second.
        bytes_per_second: NonZeroU32,
    },
    /// Send a wrong content type.
    ContentType {
        /// The value of the field
        value: FieldValue,
    },
    /// Present an unacceptable certificate to new connections.
    Certificate {
        /// The flaw of the certificate
        flaw: CertificateFlaw,
    },
}

#[derive(Debug, Args)]
struct Clear {
    /// The ids of the faults to clear
    #[arg(required_unless_present = "all")]
    ids: Vec<FaultId>,
    /// All of them.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

/// Runs one command. Its data goes to stdout.
impl FaultArgs {
    /// Does what the arguments say.
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.remote.remote()?;
        match self.command {
            FaultCommand::Add(add) => {
                let set: SetFault = remote.post("/faults", &json!(add.fault())).await?;
                print(&[set.id.to_string()])
            }
            FaultCommand::List => {
                let faults: Vec<SetFault> = remote.get("/faults").await?;
                print(&faults.iter().map(line).collect::<Vec<_>>())
            }
            FaultCommand::Clear(clear) => print(&clear.run(&remote).await?),
        }
    }
}

impl Clear {
    async fn run(self, remote: &Remote) -> anyhow::Result<Vec<String>> {
        let mut cleared: Vec<SetFault> = Vec::new();
        if self.all {
            cleared = remote.delete("/faults").await?;
        }
        for id in self.ids {
            cleared.push(remote.delete(&format!("/faults/{id}")).await?);
        }
        Ok(cleared.iter().map(line).collect())
    }
}

impl Add {
    fn fault(self) -> Fault {
        let requests = Requests {
            method: self.whom.method,
            path: self.whom.path,
            query: self.whom.query.into_iter().collect(),
            header: self.whom.with_header,
        };
        Fault {
            server: self.server,
            requests,
            after: self.whom.after,
            times: self.whom.times,
            effect: self.effect.into(),
        }
    }
}

impl From<EffectCommand> for Effect {
    fn from(command: EffectCommand) -> Self {
        match command {
            EffectCommand::Delay { duration, moment } => Self::Delay { duration, moment },
            EffectCommand::Answer {
                status,
                header,
                body,
                moment,
            } => Self::Answer(FaultResponse {
                status,
                headers: header.into_iter().collect::<BTreeMap<_, _>>(),
                body,
                moment,
            }),
            EffectCommand::Hold { moment } => Self::Hold { moment },
            EffectCommand::Drop { moment } => Self::Drop { moment },
            EffectCommand::Truncate { bytes } => Self::Truncate { bytes },
            EffectCommand::Slow { bytes_per_second } => Self::Slow { bytes_per_second },
            EffectCommand::ContentType { value } => Self::ContentType { value },
            EffectCommand::Certificate { flaw } => Self::Certificate { flaw },
        }
    }
}

fn parameter(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("there is no `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn header(text: &str) -> Result<(FieldName, FieldValue), anyhow::Error> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| anyhow::anyhow!("there is no `:`"))?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}

fn header_match(text: &str) -> Result<HeaderMatch, anyhow::Error> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value.trim().parse()?)),
        None => (text, None),
    };
    Ok(HeaderMatch {
        name: name.trim().parse()?,
        value,
    })
}

/// `3  1/2  director  {"kind":"drop","moment":"after"}`, and so on.
fn line(set: &SetFault) -> String {
    format!(
        "{}  {}/{}  {}",
        set.id,
        set.struck,
        set.met,
        json!(set.fault)
    )
}

fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        match writeln!(out, "{line}") {
            // The reader closed the pipe because it has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
