//! The services of an app, with what they refer to.

use serde_json::Value;

use super::{Session, read::Versions};
use crate::credhub::{credential::Secret, name::CredentialName, rejection::Rejection};

impl Session {
    /// Replaces the credentials of every service that only refers to them.
    pub(in crate::credhub) fn interpolate(&self, services: &mut Value) -> Result<(), Rejection> {
        let offerings = services.as_object_mut().ok_or(Rejection::Malformed)?;
        for instances in offerings.values_mut().filter_map(Value::as_array_mut) {
            for instance in instances {
                let Some(credentials) = instance.get_mut("credentials") else {
                    continue;
                };
                if let Some(reference) = reference(credentials) {
                    *credentials = self.referred(reference)?;
                }
            }
        }
        Ok(())
    }

    fn referred(&self, reference: &str) -> Result<Value, Rejection> {
        let name = reference.strip_prefix("((").unwrap_or(reference);
        let name = name.strip_suffix("))").unwrap_or(name);
        let mut versions = self.get(&CredentialName::sought(name), Versions::Newest(1))?;
        match versions.swap_remove(0).version.secret {
            Secret::Json { value } => Ok(value),
            Secret::Value { .. }
            | Secret::Password { .. }
            | Secret::User { .. }
            | Secret::Certificate(_)
            | Secret::Rsa(_)
            | Secret::Ssh(_) => Err(Rejection::NotJson(name.to_owned())),
        }
    }
}

fn reference(credentials: &Value) -> Option<&str> {
    let reference = credentials
        .get("credhub_ref")
        .or_else(|| credentials.get("credhub-ref"))?;
    reference.as_str()
}
