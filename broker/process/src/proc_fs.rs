use std::{fs, path::Path, sync::LazyLock};

use rustix::{
    param::page_size,
    process::{Pid, getpid},
};

/// Moments in clock ticks since the machine started, as Linux counts them.
pub(crate) type Ticks = u64;

/// A process as Linux reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub(crate) id: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Option<Pid>,
    pub(crate) began: Ticks,
    /// It only waits to be reaped.
    pub(crate) is_dead: bool,
}

impl Status {
    /// Fields 3, 4, 5 and 22 of `/proc/PID/stat` (proc(5)).
    pub(crate) fn of(id: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
        // The name in brackets may hold anything, brackets included.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // They are -1 while a process is being reaped.
        let process = |field: usize| {
            let id: i32 = fields.get(field)?.parse().ok()?;
            if id > 0 { Pid::from_raw(id) } else { None }
        };
        Some(Self {
            id,
            parent: process(1),
            group: process(2),
            began: fields.get(19)?.parse().ok()?,
            is_dead: matches!(*fields.first()?, "Z" | "X"),
        })
    }
}

/// The memory that a process uses, by `/proc/PID/statm` (proc(5)).
pub(crate) fn resident_bytes(id: Pid) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{}/statm", id.as_raw_nonzero())).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// All processes.
pub(crate) fn processes() -> impl Iterator<Item = Status> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id| Status::of(Pid::from_raw(id)?))
}

/// The children of this process, dead ones that have not been reaped included.
pub(crate) fn children() -> Vec<Pid> {
    listed_children().unwrap_or_else(children_among_all)
}

/// As the kernel lists them, by threads; none where it does not (`CONFIG_PROC_CHILDREN`). A process that ends meanwhile
/// may hide another one from the list, which the search after the next call finds.
fn listed_children() -> Option<Vec<Pid>> {
    static IS_LISTED: LazyLock<bool> =
        LazyLock::new(|| Path::new("/proc/thread-self/children").exists());
    if !*IS_LISTED {
        return None;
    }
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        // A thread that has ended meanwhile has left its children to another one.
        let Ok(listed) = fs::read_to_string(thread.ok()?.path().join("children")) else {
            continue;
        };
        let ids = listed.split_whitespace().filter_map(|id| id.parse().ok());
        children.extend(ids.filter_map(Pid::from_raw));
    }
    Some(children)
}

/// As the list of all processes has them.
fn children_among_all() -> Vec<Pid> {
    let own = Some(getpid());
    let children = processes().filter(|process| process.parent == own);
    children.map(|child| child.id).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_kernels_list_of_children_is_that_of_all_processes() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        // Tests beside this one have children, too, which come and go.
        let id = Pid::from_child(&child);
        assert!(children_among_all().contains(&id));
        assert!(listed_children().is_none_or(|children| children.contains(&id)));
        assert!(children().contains(&id));

        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children_among_all().contains(&id));
        assert!(!children().contains(&id));
    }
}
