//! The requests that a fault matches.

use std::collections::BTreeMap;

use actix_web::dev::RequestHead;
use serde::{Deserialize, Serialize};

use super::words::{FieldName, FieldValue, PathPattern, RequestMethod};

/// Selects requests. Absent criteria match every request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<RequestMethod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathPattern>,
    /// Parameters of their query, decoded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderMatch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderMatch {
    pub name: FieldName,
    /// Its value, if it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FieldValue>,
}

impl Requests {
    pub fn to(method: RequestMethod, path: PathPattern) -> Self {
        Self {
            method: Some(method),
            path: Some(path),
            ..Self::default()
        }
    }

    pub(super) fn are_all(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn include(&self, request: &RequestHead) -> bool {
        let method = self.method.as_ref();
        let path = self.path.as_ref();
        method.is_none_or(|method| method.is(&request.method))
            && path.is_none_or(|path| path.matches(request.uri.path()))
            && self.asked_for(request.uri.query().unwrap_or_default())
            && self
                .header
                .as_ref()
                .is_none_or(|header| header.is_in(request))
    }

    fn asked_for(&self, query: &str) -> bool {
        self.query.iter().all(|(name, value)| {
            url::form_urlencoded::parse(query.as_bytes())
                .any(|(given, content)| given == *name && content == *value)
        })
    }
}

impl HeaderMatch {
    fn is_in(&self, request: &RequestHead) -> bool {
        let mut values = request.headers.get_all(self.name.as_str());
        match &self.value {
            None => values.next().is_some(),
            Some(wanted) => values.any(|value| value.as_bytes() == wanted.as_str().as_bytes()),
        }
    }
}
