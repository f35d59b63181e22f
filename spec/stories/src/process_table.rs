//! The processes of this machine, from `/proc`.

use std::{collections::BTreeSet, fs};

/// One look at the processes of this machine.
#[derive(Clone, Debug)]
pub struct ProcessTable {
    processes: Vec<RunningProcess>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProcess {
    pub id: u32,
    pub parent: u32,
    pub command_line: String,
}

impl ProcessTable {
    pub fn look() -> Self {
        let entries = fs::read_dir("/proc").expect("this is Linux");
        let processes = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(read)
            .collect();
        Self { processes }
    }

    /// Everything that a broker has started for adapters. Its watchdog, which lives as long as the broker, is not for
    /// one call.
    pub fn adapters_of(&self, broker: u32) -> Vec<&RunningProcess> {
        let mut family = self.family_of(broker);
        family.retain(|one| one.id != broker && !one.command_line.ends_with(" watchdog"));
        family
    }

    pub fn family_of(&self, id: u32) -> Vec<&RunningProcess> {
        let mut family = BTreeSet::from([id]);
        loop {
            let before = family.len();
            let children = self
                .processes
                .iter()
                .filter(|one| family.contains(&one.parent));
            let children: Vec<u32> = children.map(|child| child.id).collect();
            family.extend(children);
            if family.len() == before {
                break;
            }
        }
        self.processes
            .iter()
            .filter(|one| family.contains(&one.id))
            .collect()
    }

    pub fn with_argument(&self, text: &str) -> Vec<&RunningProcess> {
        self.processes
            .iter()
            .filter(|one| one.command_line.contains(text))
            .collect()
    }
}

/// The most memory that a process has had at a time, in bytes.
pub fn peak_memory_of(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.split_whitespace().next());
    let kibibytes: u64 = peak
        .and_then(|peak| peak.parse().ok())
        .expect("Linux has it");
    kibibytes * 1024
}

fn read(id: u32) -> Option<RunningProcess> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may hold anything, brackets included.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?);
    let arguments = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
    (state != "Z").then_some(RunningProcess {
        id,
        parent: parent.parse().ok()?,
        command_line: arguments.trim_end().to_owned(),
    })
}
