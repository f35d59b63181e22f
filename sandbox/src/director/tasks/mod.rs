//! Tasks: what the Director works on in the background (`spec/contracts/director-api.md`, "Tasks").
//!
//! | module | what it does |
//! | --- | --- |
//! | [`task`] | a task and its states |
//! | [`table`] | all tasks, their outputs, how they move from state to state |
//! | [`summary`] | which tasks are meant by a list, or by a call that cancels several |
//! | [`events`] | the event log that a task writes |
//! | [`summary`] | the short result that is shown with a task |
//! | [`failure`] | why tasks fail, in the Director's numbers and words |
//! | [`faults`] | what is set in the way of tasks: failing steps, dying workers, holding up |
//! | [`locks`] | one task at a time per deployment |
//! | [`worker`] | takes tasks from the queue and runs them |

mod events;
mod failure;
mod faults;
mod locks;
mod summary;
mod table;
mod task;
mod worker;

pub use self::faults::{ArmedTaskFault, TaskEffect, TaskFault, TaskFaultId, TaskPoint};
pub(super) use self::{
    events::{EventLog, Stage, Step},
    failure::{Reference, TaskFailure, chain},
    faults::TaskFaults,
    locks::Locks,
    summary::{CancelSelector, Kinds, TaskFilter},
    table::{CannotCancel, NewTask, OutputType, Tasks},
    task::{Task, TaskKind, TaskState},
    worker::{Queue, QueueFull, TaskRun, Work, start_workers},
};
