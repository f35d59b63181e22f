//! What can go wrong with a call to the Cloud Controller.

use super::{CfFault, JobGuid};
use crate::{
    http::{Method, Name, StatusCode, TransportError, UnreadableAnswer, Words, is_transient},
    uaa::TokenError,
};

/// A call to the Cloud Controller had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CloudControllerError {
    /// No (complete) answer came.
    #[error("the Cloud Controller did not answer `{method} {path}`")]
    NoAnswer {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// The Cloud Controller said no.
    #[error(
        "the Cloud Controller refused `{method} {path}` with status {status}{}{}",
        Name(title),
        Words(detail)
    )]
    Refused {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// The answer's status.
        status: StatusCode,
        /// The code of its first error (`spec/contracts/platform-apis.md`, sections 3.2 and 4.1).
        code: Option<u64>,
        /// The title of its first error, such as `CF-NotAuthorized`; empty if there is none.
        title: String,
        /// What its first error says, or the start of the body; 2 KiB at most.
        detail: String,
    },
    /// The answer is not what the Cloud Controller's contract says.
    #[error("the Cloud Controller's answer to `{method} {path}` was not understood")]
    NotUnderstood {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// What the Cloud Controller has taken upon itself has failed.
    #[error(
        "the Cloud Controller's job `{operation}` has failed with {}",
        faults_told(faults)
    )]
    JobFailed {
        /// The job.
        job: JobGuid,
        /// What it was to do, such as `service_broker.update`.
        operation: String,
        /// Why it failed, the cause first.
        faults: Vec<CfFault>,
    },
    /// There is no token to ask with.
    #[error("there is no token for the Cloud Controller")]
    NoToken {
        /// What UAA said.
        #[source]
        source: TokenError,
    },
    /// It offers no version of its API that this client speaks.
    #[error(
        "the Cloud Controller offers no API that is spoken here: v3 is {}, of which `3.95` or newer is needed, v2 is {}, of \
         which `2.57` or newer is needed",
        found(v3.as_deref()), found(v2.as_deref())
    )]
    NoUsableVersion {
        /// The version 3 that it tells of.
        v3: Option<String>,
        /// The version 2 that it tells of.
        v2: Option<String>,
    },
    /// A list has more pages than can be right.
    #[error("the Cloud Controller's list `{path}` does not end")]
    EndlessList {
        /// The list.
        path: String,
    },
    /// A list changed whenever it was read, so that entries may have stood on no page.
    #[error("the Cloud Controller's list `{path}` changed during each of {passes} readings")]
    ListChanging {
        /// The list.
        path: String,
        /// How often it was read.
        passes: u32,
    },
    /// The deadline of the call passed.
    #[error("the time was over before the Cloud Controller had answered `{method} {path}`")]
    OutOfTime {
        /// What was asked.
        method: Method,
        /// Where.
        path: String,
    },
}

impl CloudControllerError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused {
                status,
                code,
                title,
                detail,
                ..
            } => {
                let passes = is_transient(*status) || *status == StatusCode::TOO_MANY_REQUESTS;
                passes && !is_lasting_fault_of_broker(*code, title, detail)
            }
            Self::JobFailed { faults, .. } => faults.first().is_some_and(CfFault::is_transient),
            Self::NoToken { source } => source.is_transient(),
            Self::OutOfTime { .. } | Self::ListChanging { .. } => true,
            Self::NotUnderstood { .. }
            | Self::NoUsableVersion { .. }
            | Self::EndlessList { .. } => false,
        }
    }

    /// Whether a call that changes something may have done so although it ended with this error.
    pub fn may_have_taken_effect(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.may_have_been_sent(),
            // What answers in the Cloud Controller's place does not know what it has done.
            Self::Refused { status, code, .. } => status.is_server_error() && code.is_none(),
            Self::OutOfTime { .. } | Self::NotUnderstood { .. } | Self::JobFailed { .. } => true,
            Self::NoToken { .. }
            | Self::NoUsableVersion { .. }
            | Self::EndlessList { .. }
            | Self::ListChanging { .. } => false,
        }
    }

    /// Something else is being done to the thing at the moment, as far as version 3 of the API tells: it refuses with 422
    /// whatever the state of the thing does not allow.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Refused {
                status,
                code,
                detail,
                ..
            } => {
                *status == StatusCode::CONFLICT
                    || (*code == Some(UNPROCESSABLE) && detail.contains("in progress"))
            }
            _ => false,
        }
    }

    /// The status of the refusal, where it is one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The Cloud Controller's code for the failure, where it has given one (`spec/contracts/platform-apis.md`, sections
    /// 3.2 and 4.1).
    pub fn code(&self) -> Option<u64> {
        match self {
            Self::Refused { code, .. } => *code,
            Self::JobFailed { faults, .. } => faults.first()?.code,
            _ => None,
        }
    }

    /// The thing that was asked for is not there. A 404 that the Cloud Controller has not given itself, because it has no
    /// such API or the host is the wrong one, does not say so.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(StatusCode::NOT_FOUND)
            && self.code().is_some_and(|code| code != UNKNOWN_REQUEST)
    }
}

/// The Cloud Controller's code for a path that it does not know.
const UNKNOWN_REQUEST: u64 = 10000;
/// The Cloud Controller's code for what a state does not allow, and for much else.
const UNPROCESSABLE: u64 = 10008;
/// The codes for a catalog that will be as wrong the next time.
const WRONG_CATALOG: [u64; 2] = [270_012, 270_019];

/// Whether a broker's fault, which arrives as that of a gateway, is there to stay: its catalog is wrong, or it does not
/// know our credentials.
pub(super) fn is_lasting_fault_of_broker(code: Option<u64>, title: &str, detail: &str) -> bool {
    code.is_some_and(|code| WRONG_CATALOG.contains(&code))
        || title == "CF-ServiceBrokerApiAuthenticationFailed"
        || detail.starts_with("Authentication with the service broker failed")
}

fn faults_told(faults: &[CfFault]) -> String {
    let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
    if told.is_empty() {
        "no reason given".to_owned()
    } else {
        told.join(", ")
    }
}

fn found(version: Option<&str>) -> String {
    version.map_or_else(|| "none".to_owned(), |version| format!("`{version}`"))
}
