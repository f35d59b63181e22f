//! Deployments: list, deploy, recreate, delete.

use secrecy::SecretString;
use serde::Deserialize;

use super::{
    ContextId, DeploymentName, Director, SubmitError, TaskId,
    connection::{code, unless_missing},
};
use crate::{
    http::{Call, Method},
    service_error::{FailureKind, Result, ServiceError},
};

#[derive(Clone, Debug)]
pub enum Deployment {
    Absent,
    /// No deploy of this deployment has succeeded. It can be deployed and deleted.
    NeverDeployed,
    /// A deployment, with the manifest of its last successful deploy as it was sent. It may hold
    /// literal secrets.
    Deployed(SecretString),
    /// A deployment of another team: the name is taken.
    ForeignTeam,
}

/// A value that a deployment refers to, in the version that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Variable {
    /// The version, as the config server names it.
    pub id: String,
    /// The absolute name: `/DIRECTOR/DEPLOYMENT/name`, or the manifest's name if it begins with a slash.
    pub name: String,
}

/// How a delete treats unresponsive agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// The task fails and the deployment stays.
    No,
    /// Errors are passed over.
    Yes,
}

impl Director {
    /// The deployments that the broker may see, sorted by name.
    ///
    /// It requests only names, which is much cheaper for the Director. A deployment whose name does not fit into a path
    /// is left out.
    #[tracing::instrument(name = "director.deployments", skip_all)]
    pub async fn deployments(&self, call: &Call) -> Result<Vec<DeploymentName>> {
        let names_only = [
            ("exclude_configs", "true"),
            ("exclude_releases", "true"),
            ("exclude_stemcells", "true"),
            ("exclude_lock", "true"),
        ];
        let mut deployments = Vec::new();
        let take = |listed: Listed| deployments.extend(DeploymentName::try_from(listed.name));
        self.read_each(call, &["deployments"], &names_only, take)
            .await?;
        Ok(deployments)
    }

    #[tracing::instrument(name = "director.deployment", skip_all, fields(deployment = %name))]
    pub async fn deployment(&self, call: &Call, name: &DeploymentName) -> Result<Deployment> {
        let segments = ["deployments", name.as_str()];
        let found = self.0.read::<WireDeployment>(call, &segments, &[]).await;
        match unless_missing(found, code::NO_SUCH_DEPLOYMENT) {
            Ok(None) => Ok(Deployment::Absent),
            Ok(Some(WireDeployment { manifest: None })) => Ok(Deployment::NeverDeployed),
            Ok(Some(WireDeployment {
                manifest: Some(manifest),
            })) => Ok(Deployment::Deployed(manifest.into())),
            // The Director looks the name up before it checks the team.
            Err(ServiceError {
                kind: FailureKind::NotAllowed { .. },
                ..
            }) => Ok(Deployment::ForeignTeam),
            Err(error) => Err(error),
        }
    }

    /// The variables that a deployment uses. A name may be there more than once, with the versions of several deploys.
    ///
    ///
    /// Needs the right to change the deployment.
    #[tracing::instrument(name = "director.variables", skip_all, fields(deployment = %name))]
    pub async fn variables(&self, call: &Call, name: &DeploymentName) -> Result<Vec<Variable>> {
        let segments = ["deployments", name.as_str(), "variables"];
        self.0.read(call, &segments, &[]).await
    }

    /// Deploys a manifest, which names its deployment. The manifest is sent as it is.
    ///
    /// Not repeated: after [`SubmitError::LostAnswer`] look for tasks of `context`.
    #[tracing::instrument(name = "director.deploy", skip_all, fields(%context))]
    pub async fn deploy(
        &self,
        call: &Call,
        manifest: &str,
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        let url = self.0.address(&["deployments"], &[]);
        let body = Some(("text/yaml", manifest.as_bytes().to_vec()));
        self.submit(call, Method::POST, url, context, body).await
    }

    /// Recreates every VM of a deployment with the Director's manifest, and repairs VMs with unresponsive agents.
    /// Status 404 if the deployment does not exist.
    ///
    /// Not repeated: after [`SubmitError::LostAnswer`] search the tasks of `context`.
    #[tracing::instrument(name = "director.recreate", skip_all, fields(deployment = %name, %context))]
    pub async fn recreate(
        &self,
        call: &Call,
        name: &DeploymentName,
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        let segments = ["deployments", name.as_str(), "jobs", "*"];
        let url = self
            .0
            .address(&segments, &[("fix", "true"), ("state", "recreate")]);
        // Without this type the Director has no such route; without a body it takes the manifest that it has.
        let body = Some(("text/yaml", Vec::new()));
        self.submit(call, Method::PUT, url, context, body).await
    }

    /// Deletes a deployment. One that is not there is refused with status 404.
    ///
    /// Not repeated: after [`SubmitError::LostAnswer`] look for tasks of `context`.
    #[tracing::instrument(name = "director.delete", skip_all, fields(deployment = %name, %context))]
    pub async fn delete(
        &self,
        call: &Call,
        name: &DeploymentName,
        force: Force,
        context: &ContextId,
    ) -> Result<TaskId, SubmitError> {
        let query: &[_] = match force {
            Force::No => &[],
            Force::Yes => &[("force", "true")],
        };
        let url = self.0.address(&["deployments", name.as_str()], query);
        self.submit(call, Method::DELETE, url, context, None).await
    }
}

#[derive(Deserialize)]
struct Listed {
    name: String,
}

#[derive(Deserialize)]
struct WireDeployment {
    /// `null`, but never left out.
    #[serde(deserialize_with = "Option::deserialize")]
    manifest: Option<String>,
}
