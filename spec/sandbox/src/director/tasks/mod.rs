//! Tasks: what the Director works on in the background (`spec/contracts/director-api.md`, "Tasks").
//!
//! | module | what it does |
//! | --- | --- |
//! | [`task`] | a task and its states |
//! | [`table`] | all tasks, their outputs, how they move from state to state |
//! | [`events`] | the event log that a task writes |
//! | [`failure`] | why tasks fail, in the Director's numbers and words |
//! | [`locks`] | one task at a time per deployment |
//! | [`worker`] | takes tasks from the queue and runs them |

mod events;
mod failure;
mod locks;
mod table;
mod task;
mod worker;

pub(super) use self::{
    events::{EventLog, Stage, Step},
    failure::{Reference, TaskFailure, chain},
    locks::Locks,
    table::{CannotCancel, NewTask, OutputType, TaskFilter, Tasks},
    task::{Task, TaskKind, TaskState},
    worker::{Queue, QueueFull, Queued, TaskRun, Work, start_workers},
};
