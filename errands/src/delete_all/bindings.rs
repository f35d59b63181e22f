//! Deletes the bindings of an instance: of applications, keys and routes.

use std::time::Duration;

use odb_clients::{
    FailureKind, Service, ServiceError,
    cloud_controller::{
        CfBinding, CfBindingKind, CfJob, Deletion as Requested, InstanceGuid, JobState,
    },
    http::Method,
};

use super::{
    deleter::{Break, Deleter, SHORTEST_PAUSE, Task, call},
    rules::{Error, Next, next},
};

/// The longest pause between two polls of a binding's job; most brokers delete a binding immediately.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Deleter<'_> {
    /// Deletes the bindings of applications, keys and routes, until there are none. All bindings of one list are deleted
    /// before the next list is read, so that one that stays does not hide the others.
    pub(super) async fn delete_bindings(&self, task: &mut Task) -> Result<(), Break> {
        loop {
            self.end_binding_job(task).await?;
            while let Some(binding) = task.bindings.pop_front() {
                self.delete_binding(task, binding).await?;
            }
            let bindings = self.bindings(&task.instance).await?;
            if bindings.is_empty() {
                return Ok(());
            }
            let is_again = |binding: &&CfBinding| task.deleted.contains(&binding.guid);
            // The list lags, or the deletion has no effect.
            let lingering = bindings.iter().find(is_again).map(named);
            task.deleted.clear();
            task.bindings = bindings.into();
            if let Some(lingering) = lingering {
                task.count_rejection(|| Error::Lingering(lingering))?;
                return Err(Break::Later(self.retry_pause()));
            }
        }
    }

    async fn delete_binding(&self, task: &mut Task, binding: CfBinding) -> Result<(), Break> {
        if next(binding.last_operation.as_ref()) == Next::Follow {
            return Err(Break::Later(self.retry_pause()));
        }
        self.go_on(task)?;
        let (guid, instance) = (&binding.guid, &task.instance);
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
        let call = call();
        let requested = self.controller.delete_binding(&call, instance, &binding);
        match self.note_answer(requested.await) {
            Ok(Requested::Done) => {
                task.deleted.insert(binding.guid);
                Ok(())
            }
            Ok(Requested::Job(job)) => {
                task.binding_job = Some((binding, job));
                self.end_binding_job(task).await
            }
            Ok(Requested::UnderWay) => Err(Break::Later(self.retry_pause())),
            Err(error) => Err(self.binding_error(task, &binding, error).await),
        }
    }

    /// Reads the job that deletes a binding. If the job is forgotten, the next list of bindings shows the outcome.
    async fn end_binding_job(&self, task: &mut Task) -> Result<(), Break> {
        let Some((binding, guid)) = task.binding_job.clone() else {
            return Ok(());
        };
        let job = self.job(&task.instance, &guid).await?;
        let Some(CfJob {
            operation,
            state,
            errors,
            ..
        }) = job.filter(|job| job.state != JobState::Complete)
        else {
            task.binding_job = None;
            task.deleted.insert(binding.guid);
            return Ok(());
        };
        if state != JobState::Failed {
            let pause = self.config.polling_interval.min(LONGEST_PAUSE);
            return Err(Break::Later(pause.max(SHORTEST_PAUSE)));
        }
        task.binding_job = None;
        // Another client may delete the binding, or have deleted it.
        let bindings = self.bindings(&task.instance).await?;
        let found = bindings.iter().find(|found| found.guid == binding.guid);
        if found.is_none_or(|found| next(found.last_operation.as_ref()) == Next::Follow) {
            return Err(Break::Later(self.retry_pause()));
        }
        let path = format!("/v3/jobs/{guid}");
        let kind = FailureKind::JobFailed {
            job: guid,
            operation,
            errors,
        };
        let error = ServiceError::new(Service::CloudController, Method::GET, path, kind);
        Err(self.binding_error(task, &binding, error).await)
    }

    async fn binding_error(
        &self,
        task: &mut Task,
        binding: &CfBinding,
        error: ServiceError,
    ) -> Break {
        let what = named(binding);
        self.after_rejection(task, error, |cause| Error::Binding { what, cause })
            .await
    }

    async fn bindings(&self, instance: &InstanceGuid) -> Result<Vec<CfBinding>, Break> {
        let call = call();
        let read = self.controller.bindings(&call, instance);
        self.expect(instance, self.unless_stopped(read).await?)
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
