//! Why a broker is not registered, or not all access settled.

use odb_api_types::ids::OfferingId;
use odb_clients::{ServiceError, cloud_controller::PlanGuid};

/// Errors in the words of the Go errand (`spec/contracts/errands.md` §2), where it has any.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The broker rejects the credentials that the platform would use. Nothing has changed.
    #[error(
        "the broker rejects `broker_username` with `broker_password` (status 401 at `{url}`); nothing was changed"
    )]
    Credentials {
        /// Where the broker is.
        url: String,
    },
    /// The broker's catalog has no such offering. Nothing has been changed.
    #[error(
        "the catalog at `{url}` has no service offering `{offering}` (`service_offering_id`); it has {there}; nothing was changed"
    )]
    NoOffering {
        /// Where the broker is.
        url: String,
        /// The offering that is missing.
        offering: OfferingId,
        /// Which there are.
        there: String,
    },
    /// The broker's catalog has no such plan. Nothing has been changed.
    #[error(
        "planID \"{name}\" not found in the catalog at `{url}`, which has {there}; nothing was changed"
    )]
    NotInCatalog {
        /// The plan.
        name: String,
        /// Where the broker is.
        url: String,
        /// Which there are.
        there: String,
    },
    /// It is not known which brokers there are.
    #[error("failed to retrieve list of brokers")]
    Brokers(#[source] ServiceError),
    /// The broker could not be created.
    #[error("failed to create service broker {name}")]
    Create {
        /// The broker.
        name: String,
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The broker could not be updated.
    #[error("failed to update service broker {name}")]
    Update {
        /// The broker.
        name: String,
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The broker was registered, and then it was not there.
    #[error(
        "service broker {name} disappeared; another client deleted it, or this client may not see it"
    )]
    Gone {
        /// The broker.
        name: String,
    },
    /// An organization could not be looked up.
    #[error("failed to look up the org with name \"{name}\"")]
    Organizations {
        /// The organization.
        name: String,
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// There is no such organization. Nothing has been changed.
    #[error("failed to find org with name \"{name}\" for the plan `{plan}`; nothing was changed")]
    NoOrganization {
        /// The organization.
        name: String,
        /// The plan that it is to use.
        plan: String,
    },
    /// The broker's plans could not be read.
    #[error("failed to list the plans of service broker {name}")]
    Plans {
        /// The broker.
        name: String,
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The broker has no such plan.
    #[error("planID \"{name}\" not found while updating plan access; {there}")]
    NoPlan {
        /// The plan.
        name: String,
        /// Which there are.
        there: String,
    },
    /// The access to a plan could not be read or changed.
    #[error("failed to update service access for plan {guid} (`{name}`)")]
    Access {
        /// The plan.
        name: String,
        /// The same.
        guid: PlanGuid,
        /// Why.
        #[source]
        source: ServiceError,
    },
}
