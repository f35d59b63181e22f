/// The meaning of an adapter's exit code (`spec/contracts/adapter-protocol.md`, "Exit codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitCode {
    /// 0: the answer is on stdout.
    Success,
    /// 1: stdout holds a message for the platform user, or nothing.
    Failure,
    /// 10: the adapter does not implement the subcommand.
    NotImplemented,
    /// 41: the binding to delete does not exist.
    BindingNotFound,
    /// 42: the binding needs an application GUID and the request has none.
    AppGuidRequired,
    /// 49: the binding to create exists already.
    BindingExists,
    /// Any other code: a failure that the protocol does not know.
    Other(i32),
}

impl ExitCode {
    /// The number that the process ends with.
    pub const fn code(self) -> i32 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::NotImplemented => 10,
            Self::BindingNotFound => 41,
            Self::AppGuidRequired => 42,
            Self::BindingExists => 49,
            Self::Other(code) => code,
        }
    }
}

impl From<i32> for ExitCode {
    fn from(code: i32) -> Self {
        match code {
            0 => Self::Success,
            1 => Self::Failure,
            10 => Self::NotImplemented,
            41 => Self::BindingNotFound,
            42 => Self::AppGuidRequired,
            49 => Self::BindingExists,
            other => Self::Other(other),
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    /// A code that does not fit into a byte becomes 1, as processes on Unix end with a byte.
    fn from(code: ExitCode) -> Self {
        u8::try_from(code.code()).map_or(Self::FAILURE, Self::from)
    }
}
