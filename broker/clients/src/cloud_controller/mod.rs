//! The client of the Cloud Controller, for both versions of its API.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] reads the versions once and then
//! uses v3 if it is complete, otherwise v2.
//!
//! | module | contents |
//! | --- | --- |
//! | `client` | [`CloudController`]: the requests, by the version that the foundation has |
//! | `api` | the trait of a version |
//! | `v3`, `v2` | the two versions: all requests and their JSON |
//! | `resources`, `ids` | what requests and answers are about |
//! | `listing` | service instances as a stream of pages, each instance once, none missing |
//! | `jobs` | asynchronous jobs of the Cloud Controller |
//! | `versions` | the available versions, and the choice between them |
//! | `errors` | the errors in answers, and their meaning |
//!
//! Read requests are retried on transient errors, within the limits and the deadline of the call. Changes are not,
//! unless they are idempotent: the caller checks their effect. A missing object counts as deleted: a deletion never
//! fails because of that.

mod api;
mod client;
mod errors;
mod ids;
mod jobs;
mod listing;
mod resources;
mod v2;
mod v3;
mod versions;

pub use client::CloudController;
pub(crate) use errors::is_lasting_error_of_broker;
pub use ids::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
pub use jobs::{Accepted, CfError, CfJob, JobState};
pub use listing::{InstanceQuery, InstanceStream, LocationNames};
pub use resources::{
    BrokerRegistration, CfBinding, CfBindingKind, CfBroker, CfInstance, CfLastOperation,
    CfOperation, CfOperationKind, CfOperationState, CfPlan, CfVersionedInstance, Deletion,
    OfferedPlan, PlanVisibility, Upgrading, WantedVisibility,
};
pub use versions::{ApiVersion, ApiVersions};

use client::there;

/// The scopes that allow reading everything (`spec/contracts/platform-apis.md` §1.4).
pub const SEES_ALL: [&str; 3] = [
    "cloud_controller.admin",
    "cloud_controller.admin_read_only",
    "cloud_controller.global_auditor",
];

/// How much a client can see. One that cannot see everything gets shorter lists without a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Everything,
    /// The spaces in which the client has a role.
    Parts,
}

impl Visibility {
    /// The UAA names the scopes in every token answer, so a token without them has none.
    pub fn of(scopes: &[String]) -> Self {
        if scopes
            .iter()
            .any(|scope| SEES_ALL.contains(&scope.as_str()))
        {
            Self::Everything
        } else {
            Self::Parts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_scopes_let_a_client_see_everything() {
        let visibility = |scopes: &[&str]| {
            let scopes: Vec<_> = scopes.iter().map(|&scope| scope.to_owned()).collect();
            Visibility::of(&scopes)
        };
        for right in SEES_ALL {
            assert_eq!(visibility(&["openid", right]), Visibility::Everything);
        }
        assert_eq!(
            visibility(&["cloud_controller.read", "clients.admin"]),
            Visibility::Parts
        );
        assert_eq!(visibility(&[]), Visibility::Parts);
    }
}
