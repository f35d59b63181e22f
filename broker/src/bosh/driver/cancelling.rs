//! An operation that an operator has cancelled: what runs of it is ended, and nothing more of it is begun. What has come to
//! its end before anybody noticed stays, so that an operation of which nothing was left to do has succeeded.

use odb_platform::{
    director::{Cancellation, DirectorError, TaskId},
    http::StatusCode,
};

use super::{Driver, obstacle::Obstacle};
use crate::{code::Code, telemetry::Chain};

impl Driver {
    /// An operator has cancelled the operation.
    pub(super) fn is_cancelled(&self) -> bool {
        self.operation.cancelled_by.is_some()
    }

    /// Cancels a task and waits for its end. It may end well before it notices, and one whose worker has died ends when the
    /// Director has given that up.
    pub(super) async fn cancel(&mut self, task: TaskId, stage: usize) -> Result<(), Obstacle> {
        self.tell(stage);
        let director = &self.neighbours.director;
        let cancel = |call| async move { director.cancel(&call, task).await };
        match self.inquirer.insist("cancel a task", cancel).await {
            Ok(Cancellation::Requested) => {
                tracing::info!(bosh.task.id = task.number(), "the task is being cancelled");
            }
            Ok(Cancellation::TooLate) => {}
            // Dropped in between: the next look does not show it.
            Err(DirectorError::Refused {
                status: StatusCode::NOT_FOUND,
                ..
            }) => return Ok(()),
            // It goes on: to say that it had ended would be wrong.
            Err(error @ DirectorError::NotAllowed { .. }) => tracing::error!(
                code = %Code::Director,
                bosh.task.id = task.number(),
                error = %Chain(&error),
                "the Director does not let us cancel the task; waiting for its end"
            ),
            Err(error) => return Err(error.into()),
        }
        Ok(self.follow(task, stage).await?)
    }
}
