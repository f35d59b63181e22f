//! The state of a VM and its processes, as an agent reports it. The shapes are those of `vms?format=full`
//! (`spec/contracts/director-api.md`, "Reading deployments"): percentages of the machine are text, those of a process
//! are numbers. All VMs share the machine, so each reports the same load.

use std::{fs, path::Path};

use serde::Serialize;
use tokio::time::Instant;

use super::{Agent, Unresponsive};
use crate::cpi::{
    JobName, ProcessName, ProcessState, Processes, VmCid,
    supervisor::Observed,
    table::{Condition, VmRow, Wanted},
};

#[derive(Clone, Debug, Serialize)]
pub struct AgentState {
    /// How the jobs do, all together.
    pub job_state: JobState,
    pub vitals: Vitals,
    /// How each process does, in the order of the jobs.
    pub processes: Vec<ProcessView>,
}

/// How the jobs of a VM do, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// All processes run.
    Running,
    Starting,
    /// Some process does not run.
    Failing,
    Stopped,
}

#[derive(Clone, Debug, Serialize)]
pub struct ProcessView {
    pub name: ProcessName,
    pub state: ProcessState,
    pub uptime: Uptime,
    pub mem: ProcessMemory,
    /// How much it computes.
    pub cpu: ProcessCpu,
    #[serde(skip)]
    pub job: JobName,
    #[serde(skip)]
    pub pid: Option<i32>,
}

/// For how long something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Uptime {
    pub secs: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProcessMemory {
    /// In KiB.
    pub kb: u64,
    pub percent: f64,
}

/// How much a process computes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProcessCpu {
    /// In percent of one core, since it was started.
    pub total: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Vitals {
    pub cpu: CpuShare,
    pub disk: Disks,
    /// The load average over 1, 5 and 15 minutes.
    pub load: [String; 3],
    pub mem: MemoryUse,
    /// How full its swap space is.
    pub swap: MemoryUse,
    /// For how long it runs.
    pub uptime: Uptime,
}

/// The use of a machine's cores, in percent since its start.
#[derive(Clone, Debug, Serialize)]
pub struct CpuShare {
    pub sys: String,
    pub user: String,
    pub wait: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Disks {
    pub ephemeral: DiskUse,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<DiskUse>,
    pub system: DiskUse,
}

#[derive(Clone, Debug, Serialize)]
pub struct DiskUse {
    pub inode_percent: String,
    pub percent: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct MemoryUse {
    pub kb: String,
    pub percent: String,
}

impl Agent<'_> {
    pub async fn state(&self) -> Result<AgentState, Unresponsive> {
        let timeout = self.cpi.agent_timeouts().state;
        self.reach("get_state", timeout).await?;
        let row = self.cpi.inner.vms.find(&self.vm.cid);
        let processes = row
            .as_ref()
            .map(|row| self.cpi.process_views(&self.vm.cid, row))
            .unwrap_or_default();
        let wanted = row.as_ref().map_or(Wanted::Stopped, |row| row.wanted);
        Ok(AgentState {
            job_state: job_state(wanted, &processes),
            vitals: vitals(
                &self.cpi.inner.folder,
                row.is_some_and(|row| row.disk.is_some()),
            ),
            processes,
        })
    }
}

impl crate::cpi::Cpi {
    /// The processes of a VM, whether or not its agent answers.
    pub fn processes(&self, vm: &VmCid) -> Vec<ProcessView> {
        let row = self.inner.vms.find(vm);
        row.map(|row| self.process_views(vm, &row))
            .unwrap_or_default()
    }

    /// Whether what runs on a VM does its work, as health checks see it: whether or not its agent answers.
    pub fn is_healthy(&self, vm: &VmCid) -> bool {
        let row = self.inner.vms.find(vm);
        row.is_some_and(|row| {
            row.condition != Condition::Lost
                && job_state(row.wanted, &self.process_views(vm, &row)) == JobState::Running
        })
    }

    fn process_views(&self, vm: &VmCid, row: &VmRow) -> Vec<ProcessView> {
        let jobs = row.jobs.iter();
        let keys = jobs.flat_map(|job| job.processes.iter().map(|process| job.key(process)));
        let memory = memory_kb();
        let viewed = keys.map(|key| {
            let seen = match self.inner.processes {
                Processes::Real => self.supervised(|all| Some(all.get(vm)?.get(&key)?.observed())),
                Processes::None => pretended(row.wanted),
            };
            view(key.job, key.process, seen, memory)
        });
        viewed.collect()
    }
}

/// The state of a process that is none: it does what it is to do.
fn pretended(wanted: Wanted) -> Option<Observed> {
    (wanted == Wanted::Running).then(|| Observed {
        state: ProcessState::Running,
        pid: None,
        since: Instant::now(),
    })
}

/// The summary of an agent from the states of monit.
fn job_state(wanted: Wanted, processes: &[ProcessView]) -> JobState {
    if wanted == Wanted::Stopped {
        return JobState::Stopped;
    }
    let any = |state| processes.iter().any(|process| process.state == state);
    if any(ProcessState::Starting) {
        JobState::Starting
    } else if any(ProcessState::Failing) || any(ProcessState::Stopped) {
        JobState::Failing
    } else {
        JobState::Running
    }
}

fn view(job: JobName, name: ProcessName, seen: Option<Observed>, memory: u64) -> ProcessView {
    let pid = seen.as_ref().and_then(|seen| seen.pid);
    let uptime = seen
        .as_ref()
        .map_or(0, |seen| seen.since.elapsed().as_secs());
    let kb = pid.map(resident_kb).unwrap_or_default();
    ProcessView {
        job,
        name,
        state: seen.map_or(ProcessState::Stopped, |seen| seen.state),
        uptime: Uptime { secs: uptime },
        mem: ProcessMemory {
            kb,
            percent: share(kb, memory),
        },
        cpu: ProcessCpu {
            total: pid.map(|pid| cpu_share(pid, uptime)).unwrap_or_default(),
        },
        pid,
    }
}

/// Values of the machine that cannot be read count as zero.
fn vitals(folder: &Path, has_disk: bool) -> Vitals {
    let disk = disk_use(folder);
    let load = text("/proc/loadavg");
    let mut load = load.split_whitespace().map(str::to_owned);
    let mut next_load = || load.next().unwrap_or_else(|| "0.00".to_owned());
    let uptime = text("/proc/uptime");
    let uptime = uptime.split('.').next().and_then(|secs| secs.parse().ok());
    let memory = Memory::now();
    Vitals {
        cpu: machine_share(),
        disk: Disks {
            ephemeral: disk.clone(),
            persistent: has_disk.then(|| disk.clone()),
            system: disk,
        },
        load: [next_load(), next_load(), next_load()],
        mem: memory.used("MemTotal", "MemAvailable"),
        swap: memory.used("SwapTotal", "SwapFree"),
        uptime: Uptime {
            secs: uptime.unwrap_or_default(),
        },
    }
}

/// The content of `/proc/meminfo`.
struct Memory(String);

impl Memory {
    fn now() -> Self {
        Self(text("/proc/meminfo"))
    }

    fn kb(&self, name: &str) -> u64 {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.strip_prefix(':')?.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    }

    fn used(&self, total: &str, free: &str) -> MemoryUse {
        let total = self.kb(total);
        let used = total.saturating_sub(self.kb(free));
        MemoryUse {
            kb: used.to_string(),
            percent: format!("{:.0}", share(used, total)),
        }
    }
}

fn memory_kb() -> u64 {
    Memory::now().kb("MemTotal")
}

fn resident_kb(pid: i32) -> u64 {
    let status = Memory(text(&format!("/proc/{pid}/status")));
    status.kb("VmRSS")
}

fn cpu_share(pid: i32, uptime: u64) -> f64 {
    const FIELDS_BEFORE_TIMES: usize = 11;
    const TICKS_A_SECOND: u64 = 100;
    let stat = text(&format!("/proc/{pid}/stat"));
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = after_name.split_whitespace().skip(FIELDS_BEFORE_TIMES);
    let ticks: u64 = times
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    share(ticks, uptime.max(1) * TICKS_A_SECOND)
}

fn machine_share() -> CpuShare {
    let stat = text("/proc/stat");
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|ticks| ticks.parse().ok())
        .collect();
    let total: u64 = ticks.iter().sum();
    let of = |location: usize| {
        let ticks = ticks.get(location).copied().unwrap_or_default();
        format!("{:.1}", share(ticks, total))
    };
    CpuShare {
        user: of(0),
        sys: of(2),
        wait: of(4),
    }
}

fn disk_use(folder: &Path) -> DiskUse {
    let full = |free: u64, total: u64| format!("{:.0}", share(total.saturating_sub(free), total));
    match rustix::fs::statvfs(folder) {
        Ok(disk) => DiskUse {
            inode_percent: full(disk.f_ffree, disk.f_files),
            percent: full(disk.f_bfree, disk.f_blocks),
        },
        Err(_) => DiskUse {
            inode_percent: "0".to_owned(),
            percent: "0".to_owned(),
        },
    }
}

/// In percent, with one digit after the point.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
