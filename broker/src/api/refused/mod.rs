//! The answer to every rejected request, in one place: status, code and text for users and for operators
//! (`spec/contracts/broker-behaviour.md` §2, §6).

mod instance;

use std::error::Error;

use actix_web::{ResponseError, http::StatusCode};
use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};
use odb_config::ErrorDetail;
use odb_core::{
    offering::CatalogError,
    operations::{Cut, Refused},
    user_message::{IN_ANSWER, UserMessage, with_cause},
};
use odb_redaction::Chain;

use super::error::ApiError;
use instance::of_journal;

#[derive(Clone, Debug)]
pub(super) enum Audience {
    User(InstanceId),
    Operator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Operation(OperationKind),
    Bind,
    Unbind,
    Other,
    /// An upgrade or recreation by the operator's errands. The statuses are the Go broker's, whose errands derive
    /// outcomes from them: 409 is a busy instance, 410 a deleted one. They print the description of a 500 only.
    Rollout,
    DryRun,
    Cancel,
    Health,
    Director,
    Inventory,
    Orphans,
    DeleteOrphan,
    /// A list of the Go broker's management API, whose errors are a status without a body.
    StatusAlone,
    /// Its metrics; 503 means that there is nothing to count.
    ServiceMetrics,
}

#[derive(Clone, Debug)]
pub(super) struct ErrorContext {
    pub(super) service: String,
    pub(super) error_detail: ErrorDetail,
    pub(super) request: RequestId,
    pub(super) audience: Audience,
    pub(super) kind: RequestKind,
}

impl ErrorContext {
    pub(super) fn cut(&self, cut: Cut) -> ApiError {
        let error = match (&cut, self.kind) {
            (Cut::Stopping, RequestKind::Rollout) => stopping().with_status(StatusCode::CONFLICT),
            (Cut::Stopping, _) => stopping(),
            (Cut::Off(_), RequestKind::StatusAlone | RequestKind::ServiceMetrics) => {
                ApiError::unattended().by_status_alone(StatusCode::INTERNAL_SERVER_ERROR)
            }
            (Cut::Off(_), _) => self.internal(Code::Internal, &cut),
        };
        error.because(cut)
    }

    pub(super) fn refuse(&self, refused: Refused) -> ApiError {
        let error = self.of_kind(&refused);
        let error = match self.kind {
            RequestKind::StatusAlone => error.by_status_alone(StatusCode::INTERNAL_SERVER_ERROR),
            RequestKind::ServiceMetrics => error.by_status_alone(match refused {
                Refused::NoSource | Refused::NotRegistered => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            }),
            // Errands come back to an instance that is busy; so they shall to one for which there was no time.
            RequestKind::Rollout | RequestKind::DeleteOrphan
                if [
                    StatusCode::TOO_MANY_REQUESTS,
                    StatusCode::SERVICE_UNAVAILABLE,
                ]
                .contains(&error.status_code()) =>
            {
                error.with_status(StatusCode::CONFLICT)
            }
            _ => error,
        };
        error.because(refused)
    }

    /// The answers that only one kind of request has come before those that all have.
    fn of_kind(&self, refused: &Refused) -> ApiError {
        match (self.kind, refused) {
            (RequestKind::Cancel, Refused::Lock(_)) => conflict(
                Code::Cancelled,
                "Another request is at work on the service instance. Try again in a moment.",
            ),
            (RequestKind::Health | RequestKind::Director, Refused::Instance(_)) => {
                self.of_reason(refused)
            }
            (RequestKind::StatusAlone | RequestKind::ServiceMetrics, _) => self.of_reason(refused),
            _ if refused.is_timeout() => ApiError::out_of_time(),
            _ => self.of_reason(refused),
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one table, in which nothing is decided twice"
    )]
    fn of_reason(&self, refused: &Refused) -> ApiError {
        match refused {
            Refused::Catalog(error) => self.of_catalog(error),
            Refused::AsyncRequired => unprocessable(
                Code::AsyncRequired,
                "This service plan requires client support for asynchronous service operations.",
            )
            .named("AsyncRequired"),
            Refused::NotAnObject { .. } => {
                let error = ApiError::malformed(format!("{refused}."));
                match self.kind {
                    RequestKind::Rollout => error.with_status(StatusCode::UNPROCESSABLE_ENTITY),
                    _ => error,
                }
            }
            Refused::UnstorableIds => ApiError::malformed(format!("{refused}.")),
            Refused::Parameters(error) => bad_request(
                Code::InvalidParameters,
                format!("The parameters do not fit the plan: {error}."),
            ),
            Refused::Lock(_) => ApiError::out_of_time(),
            Refused::Quota(error) => {
                let status = match self.kind {
                    RequestKind::Operation(OperationKind::Update) => {
                        StatusCode::UNPROCESSABLE_ENTITY
                    }
                    _ => StatusCode::FORBIDDEN,
                };
                let text = format!(
                    "There is no room for another service instance: {error}. Delete one, or ask your operator for more."
                );
                ApiError::new(status, Code::Quota, text)
            }
            Refused::CountSource(error) if error.is_unsteady() => unsteady_count(),
            Refused::CountSource(error) => self.internal(error.code_of_count(), refused),
            Refused::CountInstances(_) => self.internal(Code::Director, refused),
            Refused::Instance(error) => self.of_engine(error),
            Refused::Journal(error) => of_journal(error),
            Refused::BackupAgent => unprocessable(
                Code::NotSupported,
                "service does not support backup agent binding",
            ),
            Refused::NoReader => unprocessable(
                Code::NotSupported,
                "The credentials of this service are handed out through CredHub, to an application or to a service key of a \
                 platform that names its client there: bind an application.",
            )
            .named("RequiresApp"),
            Refused::BindingTaken => conflict(
                Code::Conflict,
                "A service binding with this id exists with other attributes.",
            ),
            Refused::NoSuchBinding => not_found("The service binding does not exist."),
            Refused::InvalidBinding(_) => self.internal(Code::AdapterAnswer, refused),
            Refused::LookUpBinding(_) | Refused::KeepBinding(_) | Refused::RemoveBinding(_) => {
                self.internal(Code::RuntimeCredHub, refused)
            }
            Refused::NoSource => ApiError::new(
                StatusCode::NOT_IMPLEMENTED,
                Code::NoInstanceSource,
                if self.is_about_orphans() {
                    "Cannot determine orphans: neither `cf` nor `service_instances_api` is configured."
                } else {
                    "The broker cannot list service instances: configure `cf` or `service_instances_api`."
                },
            ),
            Refused::Source(error) if self.is_about_orphans() => server_error(
                error.code(),
                "Cannot determine orphans: the platform does not list all service instances. The broker's log has the reason.",
            ),
            Refused::Source(error) => bad_gateway(
                error.code(),
                "The service instances could not be listed. The broker's log has the cause under this request's id.",
            ),
            Refused::NotRegistered => ApiError::unattended().with_code(Code::OfferingUnknown),
            Refused::NoOrganizations => ApiError::malformed(
                "The service instances API has no organizations: use other filters.",
            ),
            Refused::UnknownPlan { name, available } => ApiError::malformed(format!(
                "Unknown plan \"{name}\". Available: {}.",
                available.join(", ")
            )),
            Refused::UnknownInstance => not_found("The service instance does not exist."),
            Refused::NoOrphan(_) => conflict(
                Code::NoOrphan,
                "The platform has the service instance: its deployment is not an orphan.",
            ),
            Refused::Unmarked(_) => forbidden(
                Code::UnmarkedDeployment,
                "The deployment is unmarked and may belong to another broker. To delete it anyway, send \
                 `include_unmarked=true`.",
            ),
            Refused::MarksUnreadable(_) => forbidden(
                Code::MarksUnreadable,
                "The broker cannot read operation records: this deployment may belong to another broker. It can be deleted when BOSH configs are available again.",
            ),
            Refused::OrphanPlanUnknown(_) => forbidden(
                Code::OrphanPlanUnknown,
                "The plan of the deployment is unknown, so its pre-delete errands are unknown. Send its plan with `plan_id=`, or `force=true` to run none.",
            ),
            Refused::NoSuchPlan(_) => bad_request(
                Code::NotInCatalog,
                "The offering has no plan of this name or id.",
            ),
            Refused::OfAnotherBroker(_) => forbidden(
                Code::DeploymentOfAnother,
                "Another broker has marked the deployment. It is not deleted here.",
            ),
            Refused::OfferingUnknown => conflict(
                Code::OfferingUnknown,
                "The platform has no plan of this offering, so every deployment looks like an orphan. Is the broker registered on this foundation? If the offering no longer exists, send `offering_is_gone=true`.",
            ),
        }
    }

    fn of_catalog(&self, error: &CatalogError) -> ApiError {
        match error {
            CatalogError::UnknownService { .. } | CatalogError::UnknownPlan { .. } => {
                self.not_in_catalog(error)
            }
            CatalogError::Maintenance(_) => unprocessable(
                Code::MaintenanceInfoConflict,
                "The maintenance information of the plan has changed. Ask your operator to refresh the platform's copy of \
                 the catalog (cf update-service-broker), then try again.",
            )
            .named("MaintenanceInfoConflict"),
            CatalogError::NoPlan => {
                ApiError::malformed("plan_id missing: give it in the body of the request.")
            }
            CatalogError::PlanNotUpdatable => unprocessable(
                Code::NotSupported,
                "The plan of a service instance of this offering cannot be changed.",
            ),
            CatalogError::UpgradeFirst { .. } => unprocessable(
                Code::UpgradeFirst,
                "The service instance needs to be upgraded before updating: upgrade it (cf upgrade-service), then try again.",
            ),
        }
    }

    fn not_in_catalog(&self, error: &CatalogError) -> ApiError {
        let of_the_instance = format!("The plan of the service instance is unknown: {error}.");
        let (status, text) = match (self.kind, error) {
            (RequestKind::Rollout, CatalogError::UnknownPlan { plan }) if !plan.is_known() => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "plan_id missing: give it in the body of the request.",
            ),
            (RequestKind::Rollout, _) => (StatusCode::INTERNAL_SERVER_ERROR, &*of_the_instance),
            (RequestKind::DryRun, _) => (StatusCode::BAD_REQUEST, &*of_the_instance),
            (_, CatalogError::UnknownService { .. }) => {
                (StatusCode::BAD_REQUEST, "service-id not in the catalog")
            }
            (_, _) => (StatusCode::BAD_REQUEST, "plan-id not in the catalog"),
        };
        ApiError::new(status, Code::NotInCatalog, text)
    }

    fn is_about_orphans(&self) -> bool {
        matches!(self.kind, RequestKind::Orphans | RequestKind::DeleteOrphan)
    }

    /// Only the operator can help. If the operator sent the request, the answer contains the cause
    /// (`spec/contracts/broker-behaviour.md` §6).
    fn internal(&self, code: Code, error: &(dyn Error + 'static)) -> ApiError {
        self.internal_because(code, error, &Chain(error).to_string())
    }

    /// If the operator exposes causes, users see `cause` instead of the error.
    fn internal_because(&self, code: Code, error: &(dyn Error + 'static), cause: &str) -> ApiError {
        let request = &self.request;
        let text = match &self.audience {
            Audience::Operator => {
                format!("{} ({code}, broker-request-id: {request})", Chain(error))
            }
            Audience::User(instance) => {
                let message = UserMessage {
                    service: &self.service,
                    instance,
                    request,
                    reference: None,
                    operation: self.kind.operation(),
                };
                with_cause(message.to_string(), IN_ANSWER, cause, self.error_detail)
            }
        };
        server_error(code, text)
    }
}

impl RequestKind {
    fn operation(self) -> Option<String> {
        match self {
            Self::Operation(kind) => Some(kind.to_string()),
            Self::Bind => Some("bind".to_owned()),
            Self::Unbind => Some("unbind".to_owned()),
            _ => None,
        }
    }
}

/// The Director may answer the next time: it is busy, slow or down.
fn director_unanswered(is_timeout: bool) -> ApiError {
    let text = if is_timeout {
        "The BOSH Director did not answer within the time of the request. Try again later."
    } else {
        "The BOSH Director could not be reached. Try again later; the broker's log has the reason."
    };
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, Code::Director, text).for_now()
}

fn unsteady_count() -> ApiError {
    ApiError::new(
        StatusCode::TOO_MANY_REQUESTS,
        Code::UnsteadyCount,
        "The service instances changed while they were counted, and the order was stopped before anything was changed. Try \
         again later.",
    )
    .for_now()
}

fn stopping() -> ApiError {
    let text = "The broker is being restarted. Try again in a moment.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, Code::Stopping, text).for_now()
}

fn bad_request(code: Code, text: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, code, text)
}

fn bad_gateway(code: Code, text: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, code, text)
}

fn server_error(code: Code, text: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code, text)
}

fn unprocessable(code: Code, text: &str) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, text)
}

fn conflict(code: Code, text: &str) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, code, text)
}

fn forbidden(code: Code, text: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, code, text)
}

fn not_found(text: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, Code::NotFound, text)
}

#[cfg(test)]
mod tests {
    use actix_web::{body::MessageBody, http::header};
    use odb_api_types::ids::PlanId;
    use odb_core::engine::{EngineError, EngineErrorKind};
    use serde_json::json;

    use super::*;

    fn context(kind: RequestKind) -> ErrorContext {
        ErrorContext {
            service: "redis".to_owned(),
            error_detail: ErrorDetail::Hidden,
            request: RequestId::random(),
            audience: Audience::Operator,
            kind,
        }
    }

    #[test]
    fn each_kind_of_request_has_its_own_answer() {
        let engine = |kind| Refused::Instance(EngineError::from(kind));
        let director = || engine(EngineErrorKind::Unavailable(Code::Director));
        let plan = || {
            let plan = PlanId::unknown();
            Refused::Catalog(CatalogError::UnknownPlan { plan })
        };
        let no_plan = "plan_id missing: give it in the body of the request.";
        let no_director = "It is not known which deployments are orphans: the Director does not list its deployments. The broker's log has the reason.";
        for (kind, refused, status, code, description) in [
            (RequestKind::Rollout, plan(), 500, "ODB-2004", Some(no_plan)),
            (
                RequestKind::Rollout,
                engine(EngineErrorKind::NotFound),
                410,
                "ODB-2009",
                None,
            ),
            (RequestKind::StatusAlone, director(), 500, "ODB-4001", None),
            (
                RequestKind::Orphans,
                director(),
                500,
                "ODB-4001",
                Some(no_director),
            ),
        ] {
            let error = context(kind).refuse(refused);
            assert_eq!(error.code.to_string(), code, "{kind:?}");
            let response = error.error_response();
            assert_eq!(response.status(), status, "{kind:?}");
            let body = response.into_body().try_into_bytes().unwrap();
            let expected = match description {
                Some(text) => json!({ "description": text }).to_string(),
                None if status == 410 => "{}".to_owned(),
                None => String::new(),
            };
            assert_eq!(body, expected, "{kind:?}");
        }
    }

    #[test]
    fn a_count_that_keeps_changing_is_worth_another_try() {
        let response = unsteady_count().error_response();

        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers().get(header::RETRY_AFTER).unwrap(), "30");
    }
}
