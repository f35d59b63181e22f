//! Labels and annotations of a resource.
//!
//! The ids of what a Cloud Controller keeps: one type per kind.

use std::{borrow::Borrow, collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// A key may have a prefix: `example.com/tier`.
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations, which selectors ignore. Those whose key has a prefix are sent to the brokers.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A change of labels and annotations: a value to set, or nothing to remove the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MetadataChange {
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, Option<String>>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, Option<String>>,
}

impl Metadata {
    pub(crate) fn apply(&mut self, change: &MetadataChange) {
        apply(&mut self.labels, &change.labels);
        apply(&mut self.annotations, &change.annotations);
    }

    /// The annotations that brokers receive requests: those whose key has a prefix.
    pub(crate) fn prefixed_annotations(&self) -> Map<String, Value> {
        self.annotations
            .iter()
            .filter(|(key, _)| key.contains('/'))
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect()
    }
}

impl From<&MetadataChange> for Metadata {
    fn from(change: &MetadataChange) -> Self {
        let mut metadata = Self::default();
        metadata.apply(change);
        metadata
    }
}

fn apply(there: &mut BTreeMap<String, String>, change: &BTreeMap<String, Option<String>>) {
    for (key, value) in change {
        match value {
            Some(value) => {
                there.insert(key.clone(), value.clone());
            }
            None => {
                there.remove(key);
            }
        }
    }
}

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
