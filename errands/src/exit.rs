//! The exit status of an errand.

use std::process::ExitCode;

/// The exit status of an errand (`spec/contracts/errands.md` §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything requested is done.
    Success = 0,
    /// Something is not; stderr has the reason.
    Failure = 1,
    /// The command line means nothing, and nothing was done.
    Usage = 2,
    /// Nothing has failed, but the operator has to act: there are orphans, or the broker cannot report yet.
    Special = 10,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}
