//! The answers to what goes wrong with an instance: on the way to it, in the adapter, with a cancellation or a run.

use actix_web::http::StatusCode;
use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_api_types::{code::Code, kind::OperationKind};

use super::{ErrorContext, RequestKind, conflict, forbidden, not_found, unprocessable};
use crate::{
    adapter::AdapterFault,
    api::error::ApiError,
    bosh::{CancelFault, Fault, ReadMarkerError, ResolveFault, RunFault},
    instance_clients::ClientFault,
};

const ID_IS_TAKEN: &str = "The id of the service instance is taken.";

const NO_INSTANCE: &str = "The service instance does not exist.";

impl ErrorContext {
    pub(super) fn of_fault(&self, fault: &Fault) -> ApiError {
        match (self.kind, fault) {
            (RequestKind::Inventory, _) => ApiError::new(
                StatusCode::BAD_GATEWAY,
                Code::Director,
                "The Director could not be asked. The broker's log has the cause under this request's id.",
            ),
            (RequestKind::Orphans | RequestKind::StatusAlone, _) => ApiError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                Code::Director,
                "It is not known which deployments are orphans: the Director does not tell what there is. The broker's log \
                 says why.",
            ),
            // 409 would be read as busy.
            (RequestKind::Rollout, Fault::Foreign) => self.internal(Code::ForeignDeployment, fault),
            (RequestKind::Rollout, Fault::Client(ClientFault::Foreign)) => {
                self.internal(Code::InstanceClient, fault)
            }
            // Here, 409 is what can be tried again.
            (RequestKind::DeleteOrphan, Fault::Foreign) => {
                forbidden(Code::ForeignDeployment, ID_IS_TAKEN)
            }
            (RequestKind::Rollout | RequestKind::DeleteOrphan, Fault::Busy) => {
                busy().with_status(StatusCode::CONFLICT)
            }
            // Credentials of an instance that is gone are gone.
            (RequestKind::Rollout | RequestKind::Unbind, Fault::NotFound) => {
                not_found(NO_INSTANCE).with_status(StatusCode::GONE)
            }
            (_, Fault::Adapter(fault)) => self.of_adapter(fault),
            (
                _,
                Fault::Manifest(_)
                | Fault::Secret(_)
                | Fault::Compare(_)
                | Fault::ConfigsDisabled
                | Fault::ConfigType(_),
            ) => self.internal(Code::Manifest, fault),
            (_, Fault::NoLink(_)) => self.internal(Code::DnsLink, fault),
            (_, Fault::ReadMarker(ReadMarkerError::NotUnderstood { .. })) => {
                self.internal(Code::Marker, fault)
            }
            (
                _,
                Fault::OutOfTime
                | Fault::Director { .. }
                | Fault::WriteConfig { .. }
                | Fault::Submit(_)
                | Fault::ReadMarker(_)
                | Fault::Resolve(ResolveFault::Variables(_))
                | Fault::Marker(_),
            ) => self.internal(Code::Director, fault),
            (_, Fault::CredHub { .. } | Fault::Resolve(ResolveFault::CredHub { .. })) => {
                self.internal(Code::CredHub, fault)
            }
            (_, Fault::Client(ClientFault::Foreign)) => conflict(Code::InstanceClient, ID_IS_TAKEN),
            (_, Fault::Client(_)) => self.internal(Code::InstanceClient, fault),
            // It may go away by itself; if it does not, only the operator can help.
            (_, Fault::Leftovers { .. }) => self.internal(Code::CleanUp, fault).after(
                "The deletion could not be completed. Delete the service instance again; if that does not help:",
            ),
            (_, Fault::Foreign) => conflict(Code::ForeignDeployment, ID_IS_TAKEN),
            (_, Fault::Busy) => busy(),
            (_, Fault::NotFound) => not_found(NO_INSTANCE),
            (_, Fault::Taken) => conflict(
                Code::Conflict,
                "A service instance with this id exists with other attributes, or its creation has failed; delete it first.",
            ),
            (_, Fault::PendingChanges { .. }) => unprocessable(
                Code::PendingChanges,
                "The service broker has been updated, and this service instance is out of date. Please contact your operator.",
            ),
            (_, Fault::UnknownPlan { .. }) => ApiError::new(
                StatusCode::BAD_REQUEST,
                Code::NotInCatalog,
                "plan-id not in the catalog",
            ),
        }
    }

    pub(super) fn of_cancellation(&self, fault: &CancelFault) -> ApiError {
        match fault {
            CancelFault::NothingInProgress => {
                not_found("No operation on the service instance is in progress.")
            }
            CancelFault::TooLate => conflict(
                Code::Cancelled,
                "The operation cannot be cancelled any more: the deployment is gone already, and what it leaves behind is being \
                 removed.",
            ),
            CancelFault::Unremembered { task } => conflict(
                Code::Cancelled,
                &format!(
                    "Task {task} of the Director holds the service instance, and no operation that the broker remembers has begun \
                     it. Where it is not somebody else's work, cancel it at the Director: bosh cancel-task {task}."
                ),
            ),
            CancelFault::Instance(fault) => self.of_fault(fault),
            CancelFault::Unsteady => conflict(
                Code::Cancelled,
                "The operation was changed by somebody else each time that it was to be cancelled. Try again in a moment.",
            ),
        }
    }

    fn of_adapter(&self, fault: &AdapterFault) -> ApiError {
        match fault {
            AdapterFault::Start { .. } | AdapterFault::ArgumentsTooLong { .. } => {
                self.internal(Code::AdapterStart, fault)
            }
            // Whatever it had done by then is done: nobody can say that nothing has changed.
            AdapterFault::Hung { .. }
                if matches!(self.kind, RequestKind::Bind | RequestKind::Unbind) =>
            {
                self.internal(Code::AdapterHung, fault)
            }
            AdapterFault::NoPlace { .. } => ApiError::out_of_time(),
            AdapterFault::Hung { .. } => ApiError::out_of_time().with_code(Code::AdapterHung),
            AdapterFault::TooMuchOutput { .. } => self.internal(Code::AdapterOutput, fault),
            AdapterFault::Read { .. } | AdapterFault::Answer { .. } => {
                self.internal(Code::AdapterAnswer, fault)
            }
            AdapterFault::Failed {
                call,
                code,
                for_user,
                ..
            } => self.of_failed_adapter(*call, *code, for_user.as_deref(), fault),
        }
    }

    /// What an exit code means to the user depends on what the adapter was asked (`spec/contracts/adapter-protocol.md`
    /// §1.6). One that does not belong to the call is the operator's business: no platform may take an order for one that
    /// exists because of a dashboard.
    fn of_failed_adapter(
        &self,
        call: Subcommand,
        code: ExitCode,
        for_user: Option<&str>,
        fault: &AdapterFault,
    ) -> ApiError {
        // The dashboard of an instance that is there already is nothing that its user asked for.
        let is_asked_for = call != Subcommand::DashboardUrl
            || self.kind == RequestKind::Operation(OperationKind::Create);
        match (call, code, for_user) {
            (Subcommand::CreateBinding, ExitCode::BindingExists, _) => {
                conflict(Code::Conflict, "binding already exists")
            }
            (Subcommand::CreateBinding, ExitCode::AppGuidRequired, _) => unprocessable(
                Code::NotSupported,
                "This service supports generation of credentials through binding an application only: app_guid is required.",
            )
            .named("RequiresApp"),
            (Subcommand::DeleteBinding, ExitCode::BindingNotFound, _) => {
                not_found("binding does not exist").with_status(StatusCode::GONE)
            }
            (_, ExitCode::Failure | ExitCode::Other(_), Some(for_user)) if is_asked_for => {
                ApiError::of_adapter(for_user)
            }
            // Without the adapter's last words, which are for operators.
            _ => self.internal_because(Code::AdapterFailed, fault, &fault.to_string()),
        }
    }
}

pub(super) fn of_run(fault: &RunFault) -> ApiError {
    let (status, code) = match fault {
        RunFault::NotKept => (StatusCode::NOT_IMPLEMENTED, Code::NothingKept),
        RunFault::Unknown { .. } => (StatusCode::NOT_FOUND, Code::NotFound),
        RunFault::Superseded { .. } | RunFault::Succeeded { .. } | RunFault::Overtaken => {
            (StatusCode::CONFLICT, Code::RunOver)
        }
        RunFault::NotUnderstood { .. } => (StatusCode::INTERNAL_SERVER_ERROR, Code::Marker),
        RunFault::Director { .. } => (StatusCode::BAD_GATEWAY, Code::Director),
    };
    let text = fault.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let sentence = format!("{}{}.", first.unwrap_or_default(), letters.as_str());
    ApiError::new(status, code, sentence)
}

fn busy() -> ApiError {
    unprocessable(
        Code::Busy,
        "Another operation on this service instance is in progress. Try again when it has ended.",
    )
    .named("ConcurrencyError")
}
