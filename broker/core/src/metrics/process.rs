//! The resources of the process, under the names that Prometheus uses, as Linux reports them.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use prometheus::{Counter, Gauge, IntGauge};
use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};

use super::Maker;

#[derive(Debug)]
pub(super) struct ProcessMetrics {
    cpu: Counter,
    resident: IntGauge,
    virtual_memory: IntGauge,
    open_files: IntGauge,
    max_files: IntGauge,
    threads: IntGauge,
}

impl ProcessMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        let started = made.registered(Gauge::new(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
        ));
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        started.set(since.unwrap_or_default().as_secs_f64());
        Self {
            cpu: made.registered(Counter::new("process_cpu_seconds_total", "Processor time")),
            resident: made.gauge("process_resident_memory_bytes", "Memory in use"),
            virtual_memory: made.gauge("process_virtual_memory_bytes", "Address space in use"),
            open_files: made.gauge("process_open_fds", "Open file descriptors"),
            max_files: made.gauge("process_max_fds", "Most file descriptors that may be open"),
            threads: made.gauge("process_threads", "Threads"),
        }
    }

    pub(super) fn read(&self) {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a processor's time has fewer digits"
        )]
        let used = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        self.cpu.inc_by((used - self.cpu.get()).max(0.0));
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let of = |key: &str| -> i64 {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        self.resident.set(of("VmRSS:") * 1024);
        self.virtual_memory.set(of("VmSize:") * 1024);
        self.threads.set(of("Threads:"));
        // The look itself has the folder open.
        let open = fs::read_dir("/proc/self/fd").map_or(0, |files| files.count().saturating_sub(1));
        self.open_files.set(i64::try_from(open).unwrap_or(i64::MAX));
        let most = getrlimit(Resource::Nofile).current;
        self.max_files
            .set(most.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX)));
    }
}
