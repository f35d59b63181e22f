//! What an answer of the Cloud Controller means for the deletion of an instance, and why one is not deleted.

use std::time::Duration;

use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{CfError, CfLastOperation, CfOperation, CfOperationKind, CfOperationState},
};
use odb_redaction::Chain;

/// Why an instance is not deleted. The texts are those of the Go program where it has one (`spec/contracts/errands.md`
/// §5); they follow `Result: failed to delete service instance …`.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The Cloud Controller or the broker rejected the request, or cannot be called.
    #[error("Error: {}.", Chain(.0))]
    Refused(Box<ServiceError>),
    #[error("Error: {what} could not be deleted: {}.", Chain(.cause))]
    Binding {
        what: String,
        cause: Box<ServiceError>,
    },
    #[error("Error: {0} still exists, although its deletion has succeeded several times.")]
    Lingering(String),
    /// The deletion was accepted, but another operation is in progress.
    #[error("Unexpected operation type: '{}'.", word(.0))]
    UnexpectedOperation(CfOperationKind),
    #[error("Delete operation failed.{}{}", if .0.is_empty() { "" } else { " " }, .0)]
    Failed(String),
    #[error("Error: gave up after {}: {activity}.", in_words(*.after))]
    GaveUp { after: Duration, activity: String },
    /// The Cloud Controller has not answered any request for a long time.
    #[error("Error: the Cloud Controller has not answered for {}: {}.", in_words(*.silence), Chain(.cause))]
    Silence {
        silence: Duration,
        cause: Box<ServiceError>,
    },
}

impl Error {
    /// Whether the next instance would meet the same: no answer comes, or our credentials are refused.
    pub(super) fn is_of_all(&self) -> bool {
        match self {
            Self::Silence { .. } => true,
            Self::Refused(error) | Self::Binding { cause: error, .. } => {
                matches!(error.kind, FailureKind::NoToken { .. })
                    || error.status().is_some_and(|status| status.as_u16() == 401)
            }
            _ => false,
        }
    }

    /// Whether the deletion has failed with no operation left in progress, as far as is known.
    pub(super) fn is_the_end(&self) -> bool {
        matches!(
            self,
            Self::Refused(_) | Self::Binding { .. } | Self::Lingering(_) | Self::Failed(_)
        )
    }
}

fn in_words(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// The next step for an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Delete,
    Follow,
    /// Something else is under way, which must end first.
    Wait(CfOperationKind),
}

/// How a deletion that was followed has ended.
pub(super) enum Ending {
    Gone,
    Failed(Error),
    /// The broker rejected the request for now, with a message.
    Refused(Again, String),
}

/// Whether a failed request may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Busy,
    /// A failure that a retry may or may not resolve.
    InTheWay,
    /// No final answer, so the effect of the request is unknown.
    Unanswered,
    Never,
}

/// The Cloud Controller's codes (`spec/contracts/platform-apis.md`, sections 3.2 and 4.1).
const ASSOCIATION_NOT_EMPTY: u64 = 10006;
const UNAVAILABLE: [u64; 2] = [10015, 20004];
const IN_PROGRESS: u64 = 60016;
const BINDING_IN_PROGRESS: u64 = 90008;
const CASCADE_FAILED: u64 = 60011;

/// The next step after the instance's last operation. An old Cloud Controller has no `initial`, but rejects a request
/// that is too early.
pub(super) fn next(last: Option<&CfOperation>) -> Next {
    use CfOperationKind as Kind;
    use CfOperationState as State;

    let Some(CfOperation { kind, state }) = last else {
        return Next::Delete;
    };
    match (kind, state) {
        (Kind::Delete, State::Initial | State::InProgress) => Next::Follow,
        (Kind::Update | Kind::Unknown(_), State::Initial | State::InProgress)
        | (Kind::Create, State::Initial) => Next::Wait(kind.clone()),
        // A creation is interrupted; a failed deletion is repeated.
        (Kind::Create, State::InProgress)
        | (_, State::Succeeded | State::Failed | State::Unknown(_)) => Next::Delete,
    }
}

/// The end of the requested deletion of an instance, if it has ended.
pub(super) fn ending(last: CfLastOperation) -> Option<Ending> {
    let CfOperation { kind, state } = last.last_operation?;
    match (kind, state) {
        (CfOperationKind::Delete, CfOperationState::Failed) => {
            Some(Ending::Failed(Error::Failed(last.description)))
        }
        (CfOperationKind::Delete, _) => None,
        (other, _) => Some(Ending::Failed(Error::UnexpectedOperation(other))),
    }
}

/// The end of a deletion whose job has failed.
pub(super) fn ending_of_failed_job(errors: &[CfError]) -> Ending {
    match errors.first().and_then(|error| error.code) {
        Some(IN_PROGRESS) => Ending::Refused(Again::Busy, reported(errors)),
        Some(CASCADE_FAILED | BINDING_IN_PROGRESS) => {
            Ending::Refused(Again::InTheWay, reported(errors))
        }
        _ => Ending::Failed(Error::Failed(reported(errors))),
    }
}

pub(super) fn again(error: &ServiceError) -> Again {
    let code = error.code();
    if let FailureKind::JobFailed { .. } = error.kind {
        return match code {
            Some(IN_PROGRESS | BINDING_IN_PROGRESS) => Again::Busy,
            _ if error.is_transient() => Again::InTheWay,
            _ => Again::Never,
        };
    }
    let status = error.status().map(|status| status.as_u16());
    match (status, code) {
        (_, Some(IN_PROGRESS | BINDING_IN_PROGRESS)) => Again::Busy,
        (_, Some(ASSOCIATION_NOT_EMPTY)) | (Some(409 | 422), _) => Again::InTheWay,
        (Some(429), _) => Again::Unanswered,
        (_, Some(code)) if UNAVAILABLE.contains(&code) => Again::Unanswered,
        (_, None) if error.may_have_taken_effect() => Again::Unanswered,
        (None, None) if error.is_transient() => Again::Unanswered,
        // The Cloud Controller has answered and the broker's error is final, or neither can be called.
        _ => Again::Never,
    }
}

/// Whether a failed read request may be repeated: there was no answer, or a server failed.
pub(super) fn passes(error: &ServiceError) -> bool {
    error.is_transient()
        || error
            .status()
            .is_some_and(|status| status.is_server_error())
}

/// Whether the Cloud Controller itself answered, also with an error.
pub(super) fn is_answer(error: &ServiceError) -> bool {
    error.code().is_some() || !passes(error)
}

pub(super) fn is_under_way(last: Option<&CfOperation>) -> bool {
    last.is_some_and(|last| {
        matches!(
            last.state,
            CfOperationState::Initial | CfOperationState::InProgress
        )
    })
}

pub(super) fn word(kind: &CfOperationKind) -> &str {
    match kind {
        CfOperationKind::Create => "create",
        CfOperationKind::Update => "update",
        CfOperationKind::Delete => "delete",
        CfOperationKind::Unknown(kind) => kind,
    }
}

fn reported(errors: &[CfError]) -> String {
    let reasons: Vec<_> = errors.iter().map(|error| error.detail.as_str()).collect();
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use odb_clients::{
        Service,
        http::{Method, StatusCode},
    };

    use super::*;

    fn last(kind: CfOperationKind, state: CfOperationState) -> CfOperation {
        CfOperation { kind, state }
    }

    fn refused(status: u16, code: Option<u64>) -> ServiceError {
        let kind = FailureKind::Refused {
            status: StatusCode::from_u16(status).unwrap(),
            code,
            name: String::new(),
            description: String::new(),
        };
        ServiceError::new(Service::CloudController, Method::DELETE, "/x", kind)
    }

    fn error(code: u64) -> CfError {
        CfError {
            code: Some(code),
            title: String::new(),
            detail: "because".to_owned(),
        }
    }

    #[test]
    fn what_was_done_last_decides_what_is_done_next() {
        use CfOperationKind::{Create, Delete, Unknown, Update};
        use CfOperationState::{Failed, InProgress, Initial, Succeeded};

        let moved = || Unknown("move".to_owned());
        for (kind, state, expected) in [
            (Create, Initial, Next::Wait(Create)),
            (Create, InProgress, Next::Delete),
            (Create, Succeeded, Next::Delete),
            (Create, Failed, Next::Delete),
            (Update, Initial, Next::Wait(Update)),
            (Update, InProgress, Next::Wait(Update)),
            (Update, Succeeded, Next::Delete),
            (Update, Failed, Next::Delete),
            (Delete, Initial, Next::Follow),
            (Delete, InProgress, Next::Follow),
            (Delete, Failed, Next::Delete),
            (moved(), InProgress, Next::Wait(moved())),
            (moved(), Succeeded, Next::Delete),
        ] {
            let last = last(kind, state);
            assert_eq!(next(Some(&last)), expected, "{last:?}");
        }
        assert_eq!(next(None), Next::Delete);
    }

    #[test]
    fn a_deletion_has_ended_when_it_has_failed_or_something_else_is_shown() {
        use CfOperationKind::{Delete, Update};
        use CfOperationState::{Failed, InProgress, Succeeded};

        let ending = |operation: Option<CfOperation>| {
            let ending = ending(CfLastOperation {
                name: "db".to_owned(),
                last_operation: operation,
                description: "the disk is stuck".to_owned(),
            });
            ending.map(|ending| match ending {
                Ending::Failed(error) => error.to_string(),
                Ending::Gone | Ending::Refused(..) => "another".to_owned(),
            })
        };
        assert_eq!(ending(None), None);
        assert_eq!(ending(Some(last(Delete, InProgress))), None);
        assert_eq!(ending(Some(last(Delete, Succeeded))), None);
        assert_eq!(
            ending(Some(last(Delete, Failed))).as_deref(),
            Some("Delete operation failed. the disk is stuck")
        );
        assert_eq!(
            ending(Some(last(Update, InProgress))).as_deref(),
            Some("Unexpected operation type: 'update'.")
        );
    }

    #[test]
    fn a_failed_job_is_final_unless_another_client_started_it() {
        let again = |code| match ending_of_failed_job(&[error(code)]) {
            Ending::Refused(again, _) => Some(again),
            Ending::Failed(_) | Ending::Gone => None,
        };
        assert_eq!(again(60016), Some(Again::Busy));
        assert_eq!(again(60011), Some(Again::InTheWay));
        assert_eq!(again(10009), None);
        assert_eq!(again(290_006), None);
    }

    #[test]
    fn a_rejection_is_the_end_and_silence_is_not() {
        for (status, code, expected) in [
            (409, Some(60016), Again::Busy),
            (422, Some(10008), Again::InTheWay),
            (400, Some(10006), Again::InTheWay),
            (429, Some(10013), Again::Unanswered),
            (503, Some(10015), Again::Unanswered),
            (502, None, Again::Unanswered),
            (502, Some(10001), Again::Never),
            (500, Some(10001), Again::Never),
            (401, Some(1000), Again::Never),
            (403, Some(10003), Again::Never),
            (404, None, Again::Never),
        ] {
            assert_eq!(again(&refused(status, code)), expected, "{status} {code:?}");
        }
    }

    #[test]
    fn questions_are_asked_again_after_whatever_a_server_fails_with() {
        for status in [500, 502, 503, 504, 429] {
            assert!(passes(&refused(status, Some(10001))), "{status}");
        }
        for status in [400, 401, 403, 404, 422] {
            assert!(!passes(&refused(status, Some(10001))), "{status}");
        }
        assert!(
            is_answer(&refused(500, Some(10001))),
            "the broker itself answered"
        );
        assert!(!is_answer(&refused(502, None)), "this was a router");
        assert!(is_answer(&refused(403, None)));
    }
}
