//! The ids of what a Cloud Controller keeps: one type per kind.

use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! guids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(String);

        impl $name {
            pub(crate) fn random() -> Self {
                Self::given(&Uuid::new_v4().to_string())
            }

            /// One as a client wrote it. Whether anything has it is for the tables to say.
            pub(crate) fn given(text: &str) -> Self {
                Self(text.to_owned())
            }

            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.as_str().fmt(f)
            }
        }
    )*};
}

guids! {
    OrganizationGuid
    SpaceGuid
    AppGuid
    RouteGuid
    RoleGuid
    BrokerGuid
    OfferingGuid
    PlanGuid
    InstanceGuid
    BindingGuid
    JobGuid
}
