//! What users are told of a [`Fault`], and of everything else that several operations can meet.

use actix_web::http::StatusCode;
use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_api_types::{code::Code, ids::InstanceId, kind::OperationKind};

use super::{AppState, refusal::Refusal};
use crate::{
    adapter::AdapterFault,
    bosh::{Fault, ReadMarkerError, ResolveFault},
    complaint::{Asked, Complaint, Told},
    instance_clients::ClientFault,
    offering::{CatalogFault, MaintenanceConflict},
    operations::{CountError, Cut, RequestContext},
    telemetry::Chain,
};

/// Who reads what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// A platform's user, who learns whom to ask and what to quote.
    User,
    /// The operator, who can do something about the cause.
    Operator,
}

/// Who asked for what: what a complaint to the operator quotes.
pub(super) struct Asking<'a> {
    pub(super) audience: Audience,
    pub(super) app: &'a AppState,
    pub(super) request_context: &'a RequestContext,
    pub(super) instance: &'a InstanceId,
    pub(super) asked: Option<Asked>,
}

impl Asking<'_> {
    /// Only the operator can help, and reads the cause itself (`spec/contracts/broker-behaviour.md` §6) where it is the operator
    /// who asked.
    pub(super) fn complain<E>(&self, code: Code, error: E) -> Refusal
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let cause = Chain(&error).to_string();
        self.complain_of(code, error, &cause)
    }

    /// Where the operator lets users see causes, they see `cause` in the place of the error.
    fn complain_of<E>(&self, code: Code, error: E, cause: &str) -> Refusal
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let request = &self.request_context.request;
        let text = match self.audience {
            Audience::Operator => {
                format!("{} ({code}, broker-request-id: {request})", Chain(&error))
            }
            Audience::User => {
                let words = Complaint {
                    service: &self.app.operations.offering().name,
                    instance: self.instance,
                    request,
                    task: None,
                    operation: self.asked,
                };
                Told::Answer.with_cause(words.to_string(), cause, self.app.error_detail)
            }
        };
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, code, text).because(error)
    }

    /// It may go away by itself; if it does not, only the operator can help.
    fn retry_or_complain(&self, code: Code, error: Fault) -> Refusal {
        self.complain(code, error)
            .told_first("The deletion could not be completed. Delete the service instance again; if that does not help:")
    }

    /// The request's task was cut off.
    pub(super) fn cut(&self, error: Cut) -> Refusal {
        match error {
            Cut::Off(_) => self.complain(Code::Internal, error),
            Cut::Stopping => Refusal::stopping(error),
        }
    }

    /// The instances could not be counted.
    pub(super) fn count(&self, error: CountError) -> Refusal {
        if error.is_out_of_time() {
            Refusal::out_of_time(error)
        } else if error.is_unsteady() {
            Refusal::unsteady_count(error)
        } else {
            self.complain(error.code(), error)
        }
    }

    /// What users are told of a fault. What a missing instance means is up to the operation.
    pub(super) fn fault(&self, fault: Fault) -> Refusal {
        if fault.is_out_of_time() {
            return Refusal::out_of_time(fault);
        }
        match fault {
            Fault::Adapter(fault) => self.adapter_fault(fault),
            Fault::Manifest(_)
            | Fault::Secret(_)
            | Fault::Compare(_)
            | Fault::ConfigsDisabled
            | Fault::ConfigType(_) => self.complain(Code::Manifest, fault),
            Fault::NoLink(_) => self.complain(Code::DnsLink, fault),
            Fault::ReadMarker(ReadMarkerError::NotUnderstood { .. }) => self.complain(Code::Marker, fault),
            Fault::OutOfTime
            | Fault::Director { .. }
            | Fault::WriteConfig { .. }
            | Fault::Submit(_)
            | Fault::ReadMarker(_)
            | Fault::Resolve(ResolveFault::Variables(_))
            | Fault::Marker(_) => self.complain(Code::Director, fault),
            Fault::CredHub { .. } | Fault::Resolve(ResolveFault::CredHub { .. }) => self.complain(Code::CredHub, fault),
            Fault::Client(ClientFault::Foreign) => Refusal::new(
                StatusCode::CONFLICT,
                Code::InstanceClient,
                "The id of the service instance is taken.",
            )
            .because(fault),
            Fault::Client(_) => self.complain(Code::InstanceClient, fault),
            Fault::Leftovers { .. } => self.retry_or_complain(Code::CleanUp, fault),
            Fault::Foreign => Refusal::new(
                StatusCode::CONFLICT,
                Code::ForeignDeployment,
                "The id of the service instance is taken.",
            )
            .because(fault),
            Fault::Busy => Refusal::busy(fault),
            Fault::NotFound => {
                Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, "The service instance does not exist.").because(fault)
            }
            Fault::Taken => Refusal::new(
                StatusCode::CONFLICT,
                Code::Conflict,
                "A service instance with this id exists with other attributes, or its creation has failed; delete it first.",
            )
            .because(fault),
            Fault::PendingChanges { .. } => Refusal::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::PendingChanges,
                "The service broker has been updated, and this service instance is out of date. Please contact your operator.",
            )
            .because(fault),
            Fault::UnknownPlan { .. } => {
                Refusal::new(StatusCode::BAD_REQUEST, Code::NotInCatalog, "plan-id not in the catalog").because(fault)
            }
        }
    }

    fn adapter_fault(&self, fault: AdapterFault) -> Refusal {
        match &fault {
            AdapterFault::Start { .. } | AdapterFault::ArgumentsTooLong { .. } => {
                self.complain(Code::AdapterStart, fault)
            }
            // Whatever it had done by then is done: nobody can say that nothing has changed.
            AdapterFault::Hung { .. }
                if matches!(self.asked, Some(Asked::Bind | Asked::Unbind)) =>
            {
                self.complain(Code::AdapterHung, fault)
            }
            AdapterFault::NoPlace { .. } => Refusal::out_of_time(fault),
            AdapterFault::Hung { .. } => Refusal::out_of_time(fault).with_code(Code::AdapterHung),
            AdapterFault::TooMuchOutput { .. } => self.complain(Code::AdapterOutput, fault),
            AdapterFault::Read { .. } | AdapterFault::Answer { .. } => {
                self.complain(Code::AdapterAnswer, fault)
            }
            AdapterFault::Failed {
                call,
                code,
                for_user,
                ..
            } => {
                let (call, code, for_user) = (*call, *code, for_user.clone());
                self.failed_adapter(call, code, for_user, fault)
            }
        }
    }

    /// What an exit code means to the user depends on what the adapter was asked (`spec/contracts/adapter-protocol.md`
    /// §1.6). One that does not belong to the call is the operator's business: no platform may take an order for one that
    /// exists because of a dashboard.
    fn failed_adapter(
        &self,
        call: Subcommand,
        code: ExitCode,
        for_user: Option<String>,
        fault: AdapterFault,
    ) -> Refusal {
        // The dashboard of an instance that is there already is nothing that its user asked for.
        let is_asked_for = call != Subcommand::DashboardUrl
            || self.asked == Some(Asked::Operation(OperationKind::Create));
        match (call, code, for_user) {
            (Subcommand::CreateBinding, ExitCode::BindingExists, _) => {
                Refusal::new(StatusCode::CONFLICT, Code::Conflict, "binding already exists").because(fault)
            }
            (Subcommand::CreateBinding, ExitCode::AppGuidRequired, _) => Refusal::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::NotSupported,
                "This service supports generation of credentials through binding an application only: app_guid is required.",
            )
            .named("RequiresApp")
            .because(fault),
            (Subcommand::DeleteBinding, ExitCode::BindingNotFound, _) => {
                Refusal::new(StatusCode::GONE, Code::NotFound, "binding does not exist").because(fault)
            }
            // The adapter's own words for the user.
            (_, ExitCode::Failure | ExitCode::Other(_), Some(for_user)) if is_asked_for => {
                Refusal::of_adapter(for_user).because(fault)
            }
            _ => {
                // Without the adapter's last words, which are for operators.
                let cause = fault.to_string();
                self.complain_of(Code::AdapterFailed, fault, &cause)
            }
        }
    }
}

pub(super) fn not_in_catalog(fault: CatalogFault) -> Refusal {
    let text = match &fault {
        CatalogFault::UnknownService { .. } => "service-id not in the catalog",
        CatalogFault::UnknownPlan { .. } => "plan-id not in the catalog",
    };
    Refusal::new(StatusCode::BAD_REQUEST, Code::NotInCatalog, text).because(fault)
}

pub(super) fn maintenance_conflict(conflict: MaintenanceConflict) -> Refusal {
    Refusal::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        Code::MaintenanceInfoConflict,
        "The maintenance information of the plan has changed. Ask your operator to refresh the platform's copy of the \
         catalog (cf update-service-broker), then try again.",
    )
    .named("MaintenanceInfoConflict")
    .because(conflict)
}
