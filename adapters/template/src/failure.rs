use odb_adapter_sdk::AdapterError;

use crate::folder::Folder;
use crate::template::{RenderError, Stop};

/// An error in plan, releases or stemcells. The platform user cannot fix it, but the folder may have a message for that
/// user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct DoesNotFit {
    pub(crate) message: String,
}

impl DoesNotFit {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl Folder {
    /// The error that a template's failure is.
    pub(crate) fn failed(&self, error: RenderError) -> AdapterError {
        match error {
            RenderError::Stopped(stop) => match stop {
                Stop::Refused { message } => AdapterError::for_user(message),
                Stop::Misconfigured { message, for_user } => {
                    with_user_message(message, for_user.as_deref())
                }
                Stop::WrongCall { message } => AdapterError::for_operator(message),
                Stop::DoesNotFit { message } => self.unfit(DoesNotFit::new(message)),
                Stop::AppGuidRequired => AdapterError::app_guid_required(),
                Stop::BindingExists => AdapterError::binding_exists(),
                Stop::BindingNotFound => AdapterError::binding_not_found(),
                Stop::Error(error) => AdapterError::for_operator(error),
            },
            error => AdapterError::for_operator(error),
        }
    }

    /// The same for requirements, with the folder's message for the user.
    pub(crate) fn unfit(&self, error: DoesNotFit) -> AdapterError {
        with_user_message(error.message, self.description.user_message.as_deref())
    }
}

fn with_user_message(message: String, user_message: Option<&str>) -> AdapterError {
    match user_message {
        Some(for_user) => AdapterError::for_user(for_user).caused_by(message),
        None => AdapterError::for_operator(message),
    }
}
