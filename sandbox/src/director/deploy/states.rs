//! The states that a call requests for instances beside an update (`PUT /deployments/NAME/jobs/…?state=`).

use serde::{Deserialize, Serialize};

use super::error::ManifestError;
use crate::director::{deployments::InstanceState, ids::GroupName};

/// A wish for the instances of one group or of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) struct StateChange {
    pub(in crate::director) groups: ChangedGroups,
    /// The state as in the call; the task parses it.
    pub(in crate::director) state: String,
}

/// Which instances a wish is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) enum ChangedGroups {
    All,
    Group(GroupName),
    Instance(GroupName, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    Nothing,
    OfAll(Action),
    OfOne(u32, Action),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Start,
    Stop,
    /// Stop, and give the VM up.
    Detach,
    Restart,
    Recreate,
}

impl StateChange {
    pub(super) fn of_group(&self, group: &GroupName) -> Result<Requested, ManifestError> {
        let action = Action::read(&self.state);
        match &self.groups {
            ChangedGroups::Group(other) | ChangedGroups::Instance(other, _) if other != group => {
                Ok(Requested::Nothing)
            }
            ChangedGroups::All | ChangedGroups::Group(_) => match action {
                Some(action) => Ok(Requested::OfAll(action)),
                None => Err(ManifestError::InvalidGroupState {
                    group: group.clone(),
                    state: self.state.clone(),
                }),
            },
            ChangedGroups::Instance(_, index) => match action {
                Some(action) => Ok(Requested::OfOne(*index, action)),
                None => Err(ManifestError::InvalidInstanceState {
                    group: group.clone(),
                    index: *index,
                    state: self.state.clone(),
                }),
            },
        }
    }
}

impl Requested {
    pub(super) fn of(self, index: u32) -> Option<Action> {
        match self {
            Self::OfAll(action) => Some(action),
            Self::OfOne(only, action) if only == index => Some(action),
            Self::OfOne(..) | Self::Nothing => None,
        }
    }
}

impl Action {
    fn read(state: &str) -> Option<Self> {
        match state {
            "started" => Some(Self::Start),
            "stopped" => Some(Self::Stop),
            "detached" => Some(Self::Detach),
            "restart" => Some(Self::Restart),
            "recreate" => Some(Self::Recreate),
            _ => None,
        }
    }

    /// The state in which an instance is left.
    pub(super) fn leads_to(self) -> InstanceState {
        match self {
            Self::Start | Self::Restart | Self::Recreate => InstanceState::Started,
            Self::Stop => InstanceState::Stopped,
            Self::Detach => InstanceState::Detached,
        }
    }
}
