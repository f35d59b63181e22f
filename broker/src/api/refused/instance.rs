//! The answers to errors of an instance, its service, a cancellation or a run.

use actix_web::http::StatusCode;
use odb_api_types::code::Code;
use odb_core::engine::{EngineError, EngineErrorKind, JournalError};

use super::{
    ErrorContext, RequestKind, bad_gateway, bad_request, conflict, director_unanswered, forbidden,
    not_found, server_error, unprocessable,
};
use crate::api::error::ApiError;

const ID_IS_TAKEN: &str = "The id of the service instance is taken.";

const NO_INSTANCE: &str = "The service instance does not exist.";

impl ErrorContext {
    pub(super) fn of_engine(&self, error: &EngineError) -> ApiError {
        use EngineErrorKind as Kind;
        match (self.kind, error.kind()) {
            (RequestKind::Director, kind) => director_unanswered(*kind == Kind::OutOfTime),
            (RequestKind::Health, Kind::OutOfTime) => director_unanswered(true),
            (RequestKind::Health, Kind::Unavailable(_)) => director_unanswered(false),
            (RequestKind::Inventory, kind) if *kind != Kind::OutOfTime => bad_gateway(
                Code::Director,
                "The Director did not answer. The broker's log has the cause under this request's id.",
            ),
            (RequestKind::Orphans, kind) if *kind != Kind::OutOfTime => orphans_unknown(),
            (RequestKind::StatusAlone, _) => orphans_unknown(),
            // 409 would be read as busy.
            (RequestKind::Rollout, Kind::Foreign(code)) => self.internal(*code, error),
            // Here, 409 means that a retry may succeed.
            (RequestKind::DeleteOrphan, Kind::Foreign(code @ Code::ForeignDeployment)) => {
                forbidden(*code, ID_IS_TAKEN)
            }
            (RequestKind::Rollout | RequestKind::DeleteOrphan, Kind::Busy) => {
                busy().with_status(StatusCode::CONFLICT)
            }
            // Credentials of a deleted instance do not exist.
            (RequestKind::Rollout | RequestKind::Unbind, Kind::NotFound) => {
                not_found(NO_INSTANCE).with_status(StatusCode::GONE)
            }
            // Without the adapter's last words, which are for operators.
            (_, Kind::Internal(code @ Code::AdapterFailed)) => {
                self.internal_because(*code, error, &error.to_string())
            }
            // After a timeout the broker cannot claim that nothing has changed: the adapter may have made changes.
            (_, Kind::Internal(code) | Kind::Unavailable(code) | Kind::UnusableBinding(code))
            | (RequestKind::Bind | RequestKind::Unbind, Kind::TimedOut(code)) => {
                self.internal(*code, error)
            }
            (_, Kind::OutOfTime) => ApiError::out_of_time(),
            (_, Kind::TimedOut(code)) => ApiError::out_of_time().with_code(*code),
            // A retry may succeed; otherwise only the operator can help.
            (_, Kind::CleanUp) => {
                let help = self.internal(Code::CleanUp, error);
                let for_user = format!("The deletion could not be completed. Delete the service instance again; if that does not help: {}", help.for_user);
                ApiError { for_user, ..help }
            }
            (_, Kind::Foreign(code)) => conflict(*code, ID_IS_TAKEN),
            (_, Kind::Busy) => busy(),
            (_, Kind::NotFound) => not_found(NO_INSTANCE),
            (_, Kind::Taken) => conflict(
                Code::Conflict,
                "A service instance with this id exists with other attributes, or its creation has failed; delete it first.",
            ),
            (_, Kind::PendingChanges) => unprocessable(
                Code::PendingChanges,
                "The service broker has been updated, and this service instance is out of date. Please contact your operator.",
            ),
            (_, Kind::UnknownPlan) => bad_request(Code::NotInCatalog, "plan-id not in the catalog"),
            (_, Kind::UserMessage(message)) => ApiError {
                adapter_spoke: true,
                ..server_error(Code::AdapterFailed, message)
            },
            (_, Kind::BindingExists) => conflict(Code::Conflict, "binding already exists"),
            (_, Kind::AppRequired) => unprocessable(
                Code::NotSupported,
                "This service supports generation of credentials through binding an application only: app_guid is required.",
            )
            .named("RequiresApp"),
            (_, Kind::UnknownBinding) => {
                not_found("binding does not exist").with_status(StatusCode::GONE)
            }
            (_, Kind::NothingInProgress) => {
                not_found("No operation on the service instance is in progress.")
            }
            (_, Kind::NotCancellable(why)) => conflict(Code::Cancelled, why),
        }
    }
}

pub(super) fn of_journal(error: &JournalError) -> ApiError {
    let (status, code) = match error {
        JournalError::NotKept(_) => (StatusCode::NOT_IMPLEMENTED, Code::NothingKept),
        JournalError::Unknown { .. } => (StatusCode::NOT_FOUND, Code::NotFound),
        JournalError::Superseded { .. }
        | JournalError::Succeeded { .. }
        | JournalError::NotRunning { .. } => (StatusCode::CONFLICT, Code::RunOver),
        // Another attempt may succeed.
        JournalError::Overtaken => (StatusCode::CONFLICT, Code::Conflict),
        JournalError::Leased { .. } => (StatusCode::CONFLICT, Code::RunLeased),
        JournalError::Unfinished { .. } => (StatusCode::CONFLICT, Code::RunUnfinished),
        JournalError::NotUnderstood(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, Code::OperationRecord)
        }
        JournalError::Failed { .. } => (StatusCode::BAD_GATEWAY, Code::Director),
    };
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let text = format!("{}{}.", first.unwrap_or_default(), letters.as_str());
    ApiError::new(status, code, text)
}

fn orphans_unknown() -> ApiError {
    server_error(
        Code::Director,
        "It is not known which deployments are orphans: the Director does not list its deployments. The broker's log has the reason.",
    )
}

fn busy() -> ApiError {
    unprocessable(
        Code::Busy,
        "Another operation on this service instance is in progress. Try again when it has ended.",
    )
    .named("ConcurrencyError")
}
