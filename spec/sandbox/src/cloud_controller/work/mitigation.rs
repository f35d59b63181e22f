//! Orphan mitigation: deleting what a broker may have made although it did not say so
//! (`spec/contracts/platform-apis.md`, "Orphan mitigation").

use crate::cloud_controller::{
    CloudController,
    broker_client::{Answer, Identity, Patience, Target},
};

const ATTEMPTS: u32 = 11;

impl CloudController {
    /// Deletes an instance or binding that nobody knows of, again and again until the broker takes it or the attempts
    /// are used up. A 202 counts as done.
    pub(crate) fn mitigate(&self, target: Target, request: String) {
        let controller = self.clone();
        self.start(async move {
            controller
                .delete_orphan(
                    &target,
                    Identity {
                        user: None,
                        request,
                    },
                )
                .await;
        });
    }

    async fn delete_orphan(&self, target: &Target, nobody: Identity) {
        let patience = if target.binding.is_some() {
            Patience::Synchronous
        } else {
            Patience::Asynchronous
        };
        for attempt in 1..=ATTEMPTS {
            match self.0.broker_client.delete(target, patience, &nobody).await {
                Answer::Done(_) | Answer::Accepted { .. } => return,
                Answer::Failed(failure, _) => {
                    tracing::warn!(instance.id = %target.instance, attempt, %failure, "orphan not deleted yet");
                }
            }
            tokio::time::sleep(self.0.settings.brokers.mitigation_delay * 2_u32.pow(attempt)).await;
        }
    }
}
