//! Protects secrets in memory from other processes of the broker's user.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// From this call on, the process leaves no core dump, and no other process of its user can read its memory or
/// environment or attach a debugger; root still can. Its child processes leave no core dump either.
pub fn keep_memory_private() -> io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    // Where `core_pattern` names a program, the kernel does not look at the limit.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::process::{dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn a_process_with_private_memory_is_not_dumped_and_still_knows_itself() {
        keep_memory_private().unwrap();

        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
        // The metrics, the watchdog and the search for orphaned processes read this.
        assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() > 0);
        assert!(std::fs::read_dir("/proc/self/task").unwrap().count() > 0);
        assert!(std::env::current_exe().is_ok());
    }
}
