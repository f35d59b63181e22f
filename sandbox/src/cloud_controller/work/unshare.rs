//! Taking an instance away from a space that it is shared into, with the bindings of the apps there.

use tokio::sync::oneshot;

use super::unbind::StillBound;
use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{BindingGuid, InstanceGuid, SpaceGuid},
};

impl CloudController {
    /// Lets the broker delete the bindings of a space's apps one by one, and then unshares the instance from the space.
    /// Returns the errors otherwise, one per line. The work continues when the request has ended; `None` if the Cloud
    /// Controller stops.
    pub(crate) async fn unshare_and_wait(
        &self,
        instance: InstanceGuid,
        space: SpaceGuid,
        identity: Identity,
    ) -> Option<Result<(), Vec<String>>> {
        let (reported, answer) = oneshot::channel();
        let controller = self.clone();
        self.start(async move {
            let came = controller.unshare(&instance, &space, &identity).await;
            // The caller may have disconnected.
            let _ = reported.send(came);
        });
        answer.await.ok()
    }

    /// The same as far as one answer of the broker for each binding goes.
    pub(super) async fn unshare(
        &self,
        instance: &InstanceGuid,
        space: &SpaceGuid,
        identity: &Identity,
    ) -> Result<(), Vec<String>> {
        let bindings: Vec<BindingGuid> = self.0.state.read(|tables| {
            let bound = tables.bound_apps(instance, space);
            bound.map(|binding| binding.guid.clone()).collect()
        });
        let mut reasons = Vec::new();
        for guid in bindings {
            match self.unbind_first(&guid, identity).await {
                Ok(()) => {}
                Err(StillBound::BeingDeleted) => reasons.push(self.unbinding(instance, space)),
                Err(StillBound::Refused(reported)) => reasons.push(reported),
            }
        }
        if !reasons.is_empty() {
            return Err(reasons);
        }
        self.0.state.change(|tables| {
            if let Some(row) = tables.instances.get_mut(instance) {
                row.shared_spaces.remove(space);
            }
        });
        Ok(())
    }

    fn unbinding(&self, instance: &InstanceGuid, space: &SpaceGuid) -> String {
        self.0.state.read(|tables| {
            let instance = tables.instances.get(instance);
            let space = tables.spaces.get(space);
            format!(
                "The binding between an application and service instance {} in space {} is being deleted asynchronously.",
                instance.map_or("", |row| &row.name),
                space.map_or("", |row| &row.name),
            )
        })
    }
}
