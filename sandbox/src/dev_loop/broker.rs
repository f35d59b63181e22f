//! The broker as a child process, which does not outlive the sandbox, nor do its adapters.
//!
//! How often a broker is started again that ends by itself.

use std::{
    env, fs, io,
    net::SocketAddr,
    path::Path,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{log::Log, tied};

/// How long the start may take: the start-up checks ask all upstreams, and adapters for their schemas.
const START_LIMIT: Duration = Duration::from_mins(2);

const PAUSE: Duration = Duration::from_millis(30);

/// How long it may take to end beyond what it allows its requests.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// How long its last words may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A running broker. Dropped, it is killed.
pub(super) struct Broker {
    child: Child,
    /// Also the id of its session, in which its adapters are.
    id: Option<Pid>,
    readers: Vec<JoinHandle<()>>,
    log: Log,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) how: String,
    /// Its last lines, unless they were shown already.
    pub(super) last_words: Vec<String>,
}

impl Broker {
    /// Starts a broker with this configuration. To be called on a thread that lasts as long as the sandbox: the broker
    /// ends with the thread that started it.
    pub(super) fn start(executable: &Path, configuration: &Path, log: &Log) -> io::Result<Self> {
        log.begin();
        // This very executable, even if another was built in its place.
        let mut command = Command::new("/proc/self/exe");
        let mut child = without_proxies(&mut command)
            .args([tied::COMMAND, &getpid().as_raw_nonzero().to_string()])
            .arg(executable)
            .args(["serve", "--config"])
            .arg(configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut readers = Vec::new();
        if let Some(output) = child.stdout.take() {
            readers.push(tokio::spawn(log.clone().read(output)));
        }
        if let Some(errors) = child.stderr.take() {
            readers.push(tokio::spawn(log.clone().read(errors)));
        }
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self {
            child,
            id,
            readers,
            log: log.clone(),
        })
    }

    /// Waits until it takes connections.
    pub(super) async fn answers(&mut self, address: SocketAddr) -> Result<(), Ended> {
        let reached = async {
            while TcpStream::connect(address).await.is_err() {
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = reached => Ok(()),
            ended = self.ended() => Err(ended),
            () = sleep(START_LIMIT) => Err(Ended {
                how: format!("did not answer at {address} within {} s", START_LIMIT.as_secs()),
                last_words: self.log.last_words(),
            }),
        }
    }

    /// Waits until it ends by itself. Processes that its adapters left are ended, too.
    pub(super) async fn ended(&mut self) -> Ended {
        let status = self.child.wait().await;
        self.clean_up().await;
        Ended {
            how: match status {
                Ok(status) => ending(status),
                Err(error) => format!("cannot be waited for: {error}"),
            },
            last_words: self.log.last_words(),
        }
    }

    /// Stops it in good order within a grace period for its requests, then kills it.
    pub(super) async fn stop(&mut self, grace: Duration) {
        // Without an id it has ended already.
        if let (Some(id), Ok(None)) = (self.id, self.child.try_wait()) {
            let _ = kill_process(id, Signal::TERM);
        }
        let limit = grace + STOP_MARGIN;
        if timeout(limit, self.child.wait()).await.is_err() {
            tracing::warn!("the broker did not end when asked to and is killed");
            if let Err(error) = self.child.kill().await {
                tracing::error!(%error, "the broker cannot be killed");
            }
        }
        self.clean_up().await;
    }

    async fn clean_up(&mut self) {
        if let Some(session) = self.id {
            end_session(session).await;
        }
        for reader in &mut self.readers {
            // If the stream stays open, another owner holds it.
            let _ = timeout(LAST_WORDS, &mut *reader).await;
            reader.abort();
        }
        self.readers.clear();
    }
}

/// Every upstream of the broker is on the loopback net, which no proxy of the machine can reach.
pub(super) fn without_proxies(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        if name
            .to_string_lossy()
            .to_ascii_lowercase()
            .ends_with("_proxy")
        {
            command.env_remove(name);
        }
    }
    command
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Kills the rest of a session whose leader has ended. As long as the session has members, its id cannot be reused.
async fn end_session(session: Pid) {
    let until = Instant::now() + STOP_MARGIN;
    while Instant::now() < until {
        let members = members_of(session);
        if members.is_empty() {
            return;
        }
        for member in members {
            let Ok(handle) = pidfd_open(member, PidfdFlags::empty()) else {
                continue;
            };
            // Opened first, looked at afterwards: the handle stays with this very process.
            if session_of(member) == Some(session) {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        }
        sleep(PAUSE).await;
    }
    tracing::warn!("something that an adapter has started cannot be ended");
}

fn members_of(session: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    ids.filter(|id| session_of(*id) == Some(session)).collect()
}

/// The session of a process that runs (proc(5), `stat`).
fn session_of(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name in brackets may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let session = fields.nth(2)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then(|| Pid::from_raw(session))?
}

/// The first pause. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// How often that is done in a row.
const LIMIT: u32 = 5;

/// A broker that has run for so long does not end because of what it was started with.
const WELL: Duration = Duration::from_mins(1);

/// The starts in a row after which the broker did not run for long.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    count: u32,
    /// When the broker came up that runs or has just ended.
    up: Option<Instant>,
}

impl Restarts {
    pub(super) fn came_up(&mut self, now: Instant) {
        self.up = Some(now);
    }

    pub(super) fn ended(&mut self, now: Instant) {
        let up = self.up.take();
        if up.is_some_and(|up| now.saturating_duration_since(up) >= WELL) {
            self.count = 0;
        }
    }

    /// How long to wait before the next start; `None` when there have been enough.
    pub(super) fn next(&mut self) -> Option<Duration> {
        if self.count == LIMIT {
            return None;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.count);
        self.count += 1;
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_until_abandoned(each_runs: Duration) -> usize {
        let mut restarts = Restarts::default();
        let mut now = Instant::now();
        let mut starts = 0;
        while starts < 100 && restarts.next().is_some() {
            starts += 1;
            restarts.came_up(now);
            now += each_runs;
            restarts.ended(now);
        }
        starts
    }

    #[test]
    fn only_a_broker_that_keeps_ending_at_once_is_abandoned() {
        assert_eq!(starts_until_abandoned(Duration::from_secs(1)), 5);
        assert_eq!(starts_until_abandoned(Duration::from_secs(90)), 100);
    }
}
