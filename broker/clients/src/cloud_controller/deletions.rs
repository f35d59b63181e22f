//! What it takes to have a service instance deleted (`spec/contracts/platform-apis.md`, sections 3.8, 3.9 and 4.3).
//!
//! What is not there any more is deleted: no answer here is an error because of that.

use serde::Deserialize;

use super::{
    ApiVersion, AppGuid, BindingGuid, CfOperation, CloudController, InstanceGuid, JobGuid,
    SpaceGuid, instances::WireOperation, jobs::Accepted, v2, v3,
};
use crate::{
    http::{Call, cut},
    service_error::ServiceError,
};

/// How one service instance is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfStanding {
    /// Its name, for people.
    pub name: String,
    /// What was last done with it, if that is known.
    pub last_operation: Option<CfOperation>,
    /// What was said of that; empty if nothing was. 2 KiB at most.
    pub description: String,
}

/// What hangs on a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBinding {
    /// Its id. Version 2 has none for the binding of a route: there it is the route's.
    pub guid: BindingGuid,
    /// Who has it.
    pub kind: CfBindingKind,
    /// What was last done with it, if that is known.
    pub last_operation: Option<CfOperation>,
}

/// Who has a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfBindingKind {
    /// An application.
    App(AppGuid),
    /// Nobody in particular: it is a service key.
    Key,
    /// A route, the requests of which go through the instance.
    Route,
}

/// What came of asking for a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Done,
    /// A job is at it, and knows in the end why it failed.
    Job(JobGuid),
    /// The broker is at it. Only a look at what is to go tells how it ends.
    UnderWay,
}

impl CloudController {
    /// How an instance is doing; `None` when it is not there (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.standing", skip_all, fields(%instance))]
    pub async fn standing(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfStanding>, ServiceError> {
        let connection = self.connection();
        let found = match self.spoken(call).await? {
            ApiVersion::V3 => v3::standing(connection, call, instance).await,
            ApiVersion::V2 => v2::standing(connection, call, instance).await,
        };
        there(found)
    }

    /// The bindings of an instance: of applications first, then keys, then routes. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.bindings", skip_all, fields(%instance))]
    pub async fn bindings(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<CfBinding>, ServiceError> {
        let connection = self.connection();
        let found = match self.spoken(call).await? {
            ApiVersion::V3 => v3::bindings(connection, call, instance).await,
            ApiVersion::V2 => v2::bindings(connection, call, instance).await,
        };
        Ok(there(found)?.unwrap_or_default())
    }

    /// Deletes a binding, which asks the broker. Sent once: after an error it may be deleted all the same
    /// ([`ServiceError::may_have_taken_effect`]).
    #[tracing::instrument(name = "cloud_controller.delete_binding", skip_all, fields(%instance, binding = %binding.guid))]
    pub async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion, ServiceError> {
        let connection = self.connection();
        let begun = match self.spoken(call).await? {
            ApiVersion::V3 => v3::delete_binding(connection, call, binding).await,
            ApiVersion::V2 => v2::delete_binding(connection, call, instance, binding).await,
        };
        Ok(there(begun)?.unwrap_or(Deletion::Done))
    }

    /// The spaces that an instance is shared into. Safe to repeat.
    ///
    /// Spoken in version 3 on old foundations, too: version 2 cannot take a share back.
    #[tracing::instrument(name = "cloud_controller.shared_spaces", skip_all, fields(%instance))]
    pub async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>, ServiceError> {
        let found = v3::shared_spaces(self.connection(), call, instance).await;
        Ok(there(found)?.unwrap_or_default())
    }

    /// Takes an instance away from a space that it is shared into, with the bindings there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.unshare", skip_all, fields(%instance, %space))]
    pub async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<(), ServiceError> {
        there(v3::unshare(self.connection(), call, instance, space).await)?;
        Ok(())
    }

    /// Asks for the deletion of an instance. Sent once: after an error it may have begun all the same
    /// ([`ServiceError::may_have_taken_effect`]).
    ///
    /// Version 3 takes bindings and shares away by itself, as far as that does not take time. Version 2 refuses while
    /// there are any ([`ServiceError::is_shared`]).
    #[tracing::instrument(name = "cloud_controller.delete_instance", skip_all, fields(%instance))]
    pub async fn delete_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Deletion, ServiceError> {
        let connection = self.connection();
        let begun = match self.spoken(call).await? {
            ApiVersion::V3 => v3::delete_instance(connection, call, instance).await,
            ApiVersion::V2 => v2::delete_instance(connection, call, instance).await,
        };
        Ok(there(begun)?.unwrap_or(Deletion::Done))
    }

    /// Forgets an instance and its bindings without asking the broker, where what it stands for stays. Only for an
    /// administrator. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.purge_instance", skip_all, fields(%instance))]
    pub async fn purge_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<(), ServiceError> {
        let connection = self.connection();
        let purged = match self.spoken(call).await? {
            ApiVersion::V3 => v3::purge_instance(connection, call, instance).await,
            ApiVersion::V2 => v2::purge_instance(connection, call, instance).await,
        };
        there(purged)?;
        Ok(())
    }
}

impl From<Accepted> for Deletion {
    fn from(accepted: Accepted) -> Self {
        match accepted {
            Accepted::Done { .. } => Self::Done,
            Accepted::Job(job) => Self::Job(job),
        }
    }
}

fn there<T>(answer: Result<T, ServiceError>) -> Result<Option<T>, ServiceError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// What both versions tell of one instance.
#[derive(Deserialize)]
pub(super) struct WireStanding {
    #[serde(default)]
    name: String,
    #[serde(default)]
    last_operation: Option<WireLastOperation>,
}

#[derive(Deserialize)]
struct WireLastOperation {
    #[serde(flatten)]
    operation: WireOperation,
    description: Option<String>,
}

impl From<WireStanding> for CfStanding {
    fn from(wire: WireStanding) -> Self {
        let (last_operation, description) = wire.last_operation.map_or((None, None), |last| {
            (last.operation.known(), last.description)
        });
        Self {
            name: wire.name,
            last_operation,
            description: cut(&description.unwrap_or_default()),
        }
    }
}
