//! Deletes spaces and organizations with their content (`cloud_controller_ng`, `app/actions/space_delete.rb` and
//! `app/actions/organization_delete.rb`). The brokers get a delete request for each instance. If a broker works
//! asynchronously or fails, the space stays and the job fails; the deletion of the instance continues.

use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{
        InstanceGuid, InstanceKey, JobGuid, JobState, OrganizationGuid, SpaceGuid, SpaceKey,
        Tables, UserProvidedKey,
    },
    rejection::{ErrorKind, Rejection},
};

impl CloudController {
    pub(crate) fn delete_space(&self, job: JobGuid, space: SpaceGuid, identity: Identity) {
        let controller = self.clone();
        self.start(async move {
            let errors = controller.space_deletion(&space, &identity).await;
            controller.deletion_ended(&job, errors.first());
        });
    }

    pub(crate) fn delete_organization(
        &self,
        job: JobGuid,
        organization: OrganizationGuid,
        identity: Identity,
    ) {
        let controller = self.clone();
        self.start(async move {
            let error = controller
                .organization_deletion(&organization, &identity)
                .await;
            controller.deletion_ended(&job, error.as_ref());
        });
    }

    /// Deletes all spaces that can be deleted, and then the organization, if none is left.
    async fn organization_deletion(
        &self,
        organization: &OrganizationGuid,
        identity: &Identity,
    ) -> Option<Rejection> {
        let (name, spaces) = self.0.state.read(|tables| {
            let name = tables.organizations.get(organization)?.name.clone();
            let key = SpaceKey::Organization(organization.clone());
            let mut spaces: Vec<_> = tables.spaces.with(key).collect();
            spaces.sort_by_key(|space| space.created_at);
            let guids: Vec<_> = spaces.into_iter().map(|space| space.guid.clone()).collect();
            Some((name, guids))
        })?;
        let mut errors = Vec::new();
        for space in &spaces {
            errors.extend(self.space_deletion(space, identity).await);
        }
        if errors.is_empty() {
            self.0
                .state
                .change(|tables| tables.forget_organization(organization));
            return None;
        }
        let errors: Vec<_> = errors.iter().map(Rejection::to_string).collect();
        Some(ErrorKind::OrganizationDeletionFailed.with(format!(
            "Deletion of organization {name} failed because one or more resources within could not be deleted.\n\n{}",
            errors.join("\n\n")
        )))
    }

    /// Deletes the content of a space and then the space. Returns an error for the instances in it, and one for those
    /// shared into it.
    async fn space_deletion(&self, space: &SpaceGuid, identity: &Identity) -> Vec<Rejection> {
        let found = self.0.state.read(|tables| {
            let name = tables.spaces.get(space)?.name.clone();
            let key = InstanceKey::SharedInto(space.clone());
            let shared: Vec<_> = tables
                .instances
                .with(key)
                .map(|row| row.guid.clone())
                .collect();
            Some((name, tables.instances_in(space), shared))
        });
        let Some((name, instances, shared)) = found else {
            return Vec::new();
        };
        let (mut of_instances, mut of_shares) = (Vec::new(), Vec::new());
        for instance in instances {
            let deleted = self.deprovision_first(&instance, identity).await;
            of_instances.extend(deleted.err());
        }
        for instance in shared {
            if let Err(reasons) = self.unshare(&instance, space, identity).await {
                let reasons: Vec<_> = reasons.iter().map(|why| format!("\t{why}")).collect();
                of_shares.push(format!(
                    "Unshare of service instance failed because one or more bindings could not be deleted.\n\n {}",
                    reasons.join("\n\n")
                ));
            }
        }
        let mut errors: Vec<_> = [of_instances, of_shares]
            .iter()
            .filter_map(|reasons| failed(&name, reasons))
            .collect();
        if errors.is_empty() {
            errors.extend(self.0.state.change(|tables| {
                // Another instance may have been ordered meanwhile.
                let reasons = tables.operations_in(space);
                let error = failed(&name, &reasons);
                if error.is_none() {
                    tables.forget_space(space);
                }
                error
            }));
        }
        errors
    }

    fn deletion_ended(&self, job: &JobGuid, error: Option<&Rejection>) {
        self.0.state.change(|tables| {
            if let Some(job) = tables.jobs.get_mut(job) {
                match error {
                    None => job.becomes(JobState::Complete),
                    Some(error) => job.fails(error.entry()),
                }
            }
        });
    }
}

impl Tables {
    /// The instances in a space, of whichever kind, the oldest first.
    fn instances_in(&self, space: &SpaceGuid) -> Vec<InstanceGuid> {
        let managed = self.instances.with(InstanceKey::Space(space.clone()));
        let others = self
            .user_provided
            .with(UserProvidedKey::Space(space.clone()));
        let managed = managed.map(|row| (row.created_at, row.guid.clone()));
        let others = others.map(|row| (row.created_at, row.guid.clone()));
        let mut rows: Vec<_> = managed.chain(others).collect();
        rows.sort();
        rows.into_iter().map(|(_, guid)| guid).collect()
    }

    fn operations_in(&self, space: &SpaceGuid) -> Vec<String> {
        let managed = self.instances.with(InstanceKey::Space(space.clone()));
        let others = self
            .user_provided
            .with(UserProvidedKey::Space(space.clone()));
        let names = managed
            .map(|row| &row.name)
            .chain(others.map(|row| &row.name));
        names.map(|name| in_progress(name)).collect()
    }
}

/// The error for an instance with an operation in progress at its broker.
pub(super) fn in_progress(instance_name: &str) -> String {
    format!("An operation for service instance {instance_name} is in progress.")
}

fn failed(space: &str, reasons: &[String]) -> Option<Rejection> {
    if reasons.is_empty() {
        return None;
    }
    let reasons: Vec<_> = reasons.iter().map(|why| format!("\t{why}")).collect();
    Some(ErrorKind::SpaceDeletionFailed.with(format!(
        "Deletion of space {space} failed because one or more resources within could not be deleted.\n\n{}",
        reasons.join("\n\n")
    )))
}
