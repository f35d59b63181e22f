//! `/memory`: what the process takes.

use std::io;

use actix_web::HttpResponse;
use serde::{Deserialize, Serialize};

/// The memory of a process in kibibytes, as the kernel counts it (proc(5), "status").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The resident memory now.
    pub resident_kib: u64,
    /// The most that it ever had.
    pub peak_kib: u64,
}

impl Memory {
    pub async fn of_this_process() -> io::Result<Self> {
        let status = tokio::fs::read_to_string("/proc/self/status").await?;
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        match (value("VmRSS:"), value("VmHWM:")) {
            (Some(resident_kib), Some(peak_kib)) => Ok(Self {
                resident_kib,
                peak_kib,
            }),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

pub(super) async fn show() -> HttpResponse {
    match Memory::of_this_process().await {
        Ok(memory) => HttpResponse::Ok().json(memory),
        Err(error) => {
            tracing::warn!(%error, "the kernel does not report the memory of this process");
            HttpResponse::ServiceUnavailable().finish()
        }
    }
}
