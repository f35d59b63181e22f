//! The variables that a deployment uses.

use serde::Deserialize;

use super::{DeploymentName, Director};
use crate::{http::Call, service_error::ServiceError};

/// A value that a deployment refers to, in the version that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Variable {
    /// The version, as the config server names it.
    pub id: String,
    /// The absolute name: `/DIRECTOR/DEPLOYMENT/name`, or the manifest's name if it begins with a slash.
    pub name: String,
}

impl Director {
    /// The variables that a deployment uses. A name may be there more than once, with the versions of several deploys.
    /// Safe to repeat.
    ///
    /// Needs the right to change the deployment.
    #[tracing::instrument(name = "director.variables", skip_all, fields(deployment = %name))]
    pub async fn variables(
        &self,
        call: &Call,
        name: &DeploymentName,
    ) -> Result<Vec<Variable>, ServiceError> {
        self.read(call, &["deployments", name.as_str(), "variables"], &[])
            .await
    }
}
