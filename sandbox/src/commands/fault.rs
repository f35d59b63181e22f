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
        Answer, CertificateFlaw, Effect, Fault, FaultId, FieldName, FieldValue, HeaderMatch,
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
    /// Sets a fault and prints its id.
    Add(Add),
    /// Lists the faults that are set: id, how many requests it has struck of those that it has met, what it is.
    List,
    /// Clears faults.
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
    /// Strike requests with this method only.
    #[arg(long, global = true, value_name = "METHOD")]
    method: Option<RequestMethod>,
    /// Strike requests to this path only; `*` stands for one segment, `**` at the end for all that may follow.
    #[arg(long, global = true, value_name = "PATTERN")]
    path: Option<PathPattern>,
    /// Strike requests with this parameter in their query only. Can be repeated.
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = parameter)]
    query: Vec<(String, String)>,
    /// Strike requests with this header field only; without a value, whatever its value.
    #[arg(long, global = true, value_name = "NAME[: VALUE]", value_parser = header_match)]
    with_header: Option<HeaderMatch>,
    /// Let so many of them pass first.
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Strike so many of them, then no more.
    #[arg(long, global = true, value_name = "N")]
    times: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum EffectCommand {
    /// Everything takes longer.
    Delay {
        /// How much longer, such as `1s` or `250ms`.
        #[arg(value_parser = durations::parse)]
        duration: Duration,
        /// Whether the server works on the request before the wait or after it.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// Something else is answered.
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
    /// It goes no further until the fault is cleared.
    Hold {
        /// Whether the server has worked on the request by then.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// The connection is cut.
    Drop {
        /// Whether the server has worked on the request by then.
        #[arg(long, value_enum, default_value_t)]
        moment: Moment,
    },
    /// The connection is cut within the body of the answer.
    Truncate {
        /// So many bytes of the body arrive.
        bytes: usize,
    },
    /// The body of the answer trickles.
    Slow {
        /// So many bytes a second.
        bytes_per_second: NonZeroU32,
    },
    /// The answer says that it is of another type than it is.
    ContentType {
        /// What it says.
        value: FieldValue,
    },
    /// New connections meet a certificate that they should not accept.
    Certificate {
        /// What is wrong with it.
        flaw: CertificateFlaw,
    },
}

#[derive(Debug, Args)]
struct Clear {
    /// Which faults.
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
            } => Self::Answer(Answer {
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
            // Whoever closed the pipe has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
