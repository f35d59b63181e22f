//! Deletes what depends on an instance: bindings of applications, keys, routes, shares.

use std::{collections::BTreeSet, time::Duration};

use odb_clients::{
    FailureKind, Service, ServiceError,
    cloud_controller::{BindingGuid, CfBinding, CfBindingKind, Deletion, JobGuid, JobState},
    http::Method,
};

use super::{
    Error, Task,
    rules::{Again, Next, next},
    timeout::{SHORTEST_PAUSE, call},
};

/// The longest pause between two polls of a binding's job; most brokers delete a binding immediately.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// The outcome of a binding's deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// The Cloud Controller says that it is.
    AsReported,
    /// It must be polled again.
    NotYet,
}

impl Task<'_> {
    /// Deletes the bindings, until there are none.
    pub(super) async fn delete_bindings(&mut self) -> Result<(), Error> {
        let mut previous = BTreeSet::new();
        loop {
            let instance = self.instance;
            let bindings = self
                .ask(async |controller, call| controller.bindings(call, instance).await)
                .await?;
            if bindings.is_empty() {
                return Ok(());
            }
            self.slow_down(&bindings, &previous).await?;
            previous.clear();
            for binding in bindings {
                if self.delete_binding(&binding).await? == Gone::AsReported {
                    previous.insert(binding.guid);
                }
            }
        }
    }

    /// Pauses when an object that was reported as deleted is listed again, because the list lags or the deletion has no
    /// effect.
    async fn slow_down(
        &mut self,
        bindings: &[CfBinding],
        previous: &BTreeSet<BindingGuid>,
    ) -> Result<(), Error> {
        let Some(again) = bindings
            .iter()
            .find(|binding| previous.contains(&binding.guid))
        else {
            return Ok(());
        };
        let what = named(again);
        self.count_rejection(Again::InTheWay, || Error::Lingering { what })?;
        self.pause(self.deleter.retry_pause()).await
    }

    async fn delete_binding(&mut self, binding: &CfBinding) -> Result<Gone, Error> {
        if next(binding.last_operation.as_ref()) == Next::Follow {
            self.pause(self.deleter.retry_pause()).await?;
            return Ok(Gone::NotYet);
        }
        self.must_go_on()?;
        let (guid, instance) = (&binding.guid, self.instance);
        match &binding.kind {
            CfBindingKind::App(app) => self.say(format_args!(
                "Deleting binding {guid} of service instance {instance} to app {app}"
            )),
            CfBindingKind::Key => self.say(format_args!(
                "Deleting service key {guid} of service instance {instance}"
            )),
            CfBindingKind::Route => self.say(format_args!(
                "Deleting route binding {guid} of service instance {instance}"
            )),
        }
        let controller = &self.deleter.cloud_controller;
        let begun = controller.delete_binding(&call(), instance, binding).await;
        let silence = self.deleter.observe(&begun);
        let ended = match begun {
            Ok(Deletion::Done) => return Ok(Gone::AsReported),
            Ok(Deletion::Job(job)) => self.end_of_job(&job).await?,
            Ok(Deletion::UnderWay) => {
                self.pause(self.deleter.retry_pause()).await?;
                return Ok(Gone::NotYet);
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => return Ok(Gone::AsReported),
            Err(ServiceError {
                kind: FailureKind::JobFailed { .. },
                ..
            }) if self.is_overtaken(binding).await? => {
                self.pause(self.deleter.retry_pause()).await?;
            }
            Err(error) => {
                let what = named(binding);
                self.after_rejection(error, silence, |cause| Error::Binding { what, cause })
                    .await?;
            }
        }
        Ok(Gone::NotYet)
    }

    /// Whether another client deletes or has deleted the binding.
    async fn is_overtaken(&self, binding: &CfBinding) -> Result<bool, Error> {
        let instance = self.instance;
        let bindings = self
            .ask(async |controller, call| controller.bindings(call, instance).await)
            .await?;
        let there = bindings.iter().find(|there| there.guid == binding.guid);
        Ok(there.is_none_or(|there| next(there.last_operation.as_ref()) == Next::Follow))
    }

    /// Waits for the job of a binding. If the job is forgotten, the next list of bindings shows the outcome.
    async fn end_of_job(&self, job: &JobGuid) -> Result<Result<(), ServiceError>, Error> {
        loop {
            let found = self
                .ask(
                    async |controller, call| match controller.job(call, job).await {
                        Ok(found) => Ok(Some(found)),
                        Err(error) if error.is_not_found() => Ok(None),
                        Err(error) => Err(error),
                    },
                )
                .await?;
            match found.as_ref().map(|found| &found.state) {
                None | Some(JobState::Complete) => return Ok(Ok(())),
                Some(JobState::Processing | JobState::Polling | JobState::Unknown(_)) => {
                    let pause = self.deleter.pace.interval.min(LONGEST_LOOK);
                    self.pause(pause.max(SHORTEST_PAUSE)).await?;
                    continue;
                }
                Some(JobState::Failed) => {}
            }
            let (operation, errors) = found
                .map(|found| (found.operation, found.errors))
                .unwrap_or_default();
            let path = format!("/v3/jobs/{job}");
            let kind = FailureKind::JobFailed {
                job: job.clone(),
                operation,
                errors,
            };
            return Ok(Err(ServiceError::new(
                Service::CloudController,
                Method::GET,
                path,
                kind,
            )));
        }
    }

    /// Takes the instance away from the spaces that it is shared into.
    pub(super) async fn unshare(&mut self) -> Result<(), Error> {
        let instance = self.instance;
        let spaces = self
            .ask(async |controller, call| controller.shared_spaces(call, instance).await)
            .await?;
        for space in spaces {
            self.say(format_args!(
                "Unsharing service instance {instance} from space {space}"
            ));
            self.ask(async |controller, call| controller.unshare(call, instance, &space).await)
                .await?;
        }
        Ok(())
    }
}

fn named(binding: &CfBinding) -> String {
    let guid = &binding.guid;
    match &binding.kind {
        CfBindingKind::App(app) => format!("binding {guid} to app {app}"),
        CfBindingKind::Key => format!("service key {guid}"),
        CfBindingKind::Route => format!("route binding {guid}"),
    }
}
