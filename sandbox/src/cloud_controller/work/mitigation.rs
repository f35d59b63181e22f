//! Orphan mitigation: deleting what a broker may have made although it did not say so
//! (`spec/contracts/platform-apis.md`, "Orphan mitigation").

use crate::cloud_controller::{
    CloudController,
    broker_client::{AcceptsIncomplete, Identity, Response, Target},
};

const ATTEMPTS: u32 = 11;

impl CloudController {
    /// Deletes an orphaned instance or binding, with retries until the broker accepts or the attempts are used up. A
    /// 202 counts as done.
    pub(crate) fn mitigate(&self, target: Target, request: String) {
        self.start_mitigation(target, AcceptsIncomplete::Asynchronous, request);
    }

    /// The same for a service key, for which brokers are never given time.
    pub(super) fn mitigate_key(&self, target: Target, request: String) {
        self.start_mitigation(target, AcceptsIncomplete::Synchronous, request);
    }

    fn start_mitigation(
        &self,
        target: Target,
        accepts_incomplete: AcceptsIncomplete,
        request: String,
    ) {
        let controller = self.clone();
        self.start(async move {
            let no_user = Identity {
                user: None,
                request,
            };
            controller
                .delete_orphan(&target, accepts_incomplete, no_user)
                .await;
        });
    }

    async fn delete_orphan(
        &self,
        target: &Target,
        accepts_incomplete: AcceptsIncomplete,
        no_user: Identity,
    ) {
        for attempt in 1..=ATTEMPTS {
            match self
                .0
                .broker_client
                .delete(target, accepts_incomplete, &no_user)
                .await
            {
                Response::Done(_) | Response::Accepted { .. } => return,
                Response::Failed(failure, _) => {
                    tracing::warn!(instance.id = %target.instance, attempt, %failure, "orphan not deleted yet");
                }
            }
            if attempt < ATTEMPTS {
                let pause = (self.behaviour().mitigation_delay).saturating_mul(2_u32.pow(attempt));
                tokio::time::sleep(pause).await;
            }
        }
        tracing::error!(instance.id = %target.instance, "orphan given up");
    }
}
