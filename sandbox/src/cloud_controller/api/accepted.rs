//! A change that a job carries out: 202 and where the job is.

use actix_web::{HttpResponse, http::header::LOCATION};

use super::caller::Caller;
use crate::cloud_controller::{
    CloudController,
    model::{Job, JobGuid, JobOperation, JobResource, LastOperation, Tables},
    work::Operation,
};

impl CloudController {
    /// The answer to a request whose work has just begun.
    pub(super) fn accepted(&self, job: &JobGuid) -> HttpResponse {
        HttpResponse::Accepted()
            .insert_header((LOCATION, self.href(format_args!("/v3/jobs/{job}"))))
            .finish()
    }

    /// The operation of a row whose last operation has just been set.
    pub(in crate::cloud_controller) fn begun(
        &self,
        tables: &mut Tables,
        kind: JobOperation,
        resource: JobResource,
        last_operation: &LastOperation,
        caller: &Caller,
    ) -> Operation {
        let job = tables.add_job(Job::new(kind, resource.clone()));
        Operation {
            controller: self.clone(),
            job,
            resource,
            id: last_operation.id,
            identity: caller.identity.clone(),
        }
    }
}
