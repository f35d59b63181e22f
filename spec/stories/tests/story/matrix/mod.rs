//! Every fault at every outgoing call of every operation, and death at every call.
//!
//! An operation is carried out once without faults, and what the broker asked of its upstreams is recorded. From the
//! recording come the cases, so that a new call joins by itself. Each case has an instance of its own on one of a few
//! foundations; whatever happens in it, in the end:
//!
//! - no order was deployed twice, and no lifecycle errand or deletion of one operation was started twice;
//! - what was accepted came to an end, and what was refused could be asked for again and ended well;
//! - a delete leaves nothing behind, and an unbind no credentials in the runtime CredHub;
//! - no secret of the foundation, of the broker's configuration or of the run can be read by anybody;
//! - where the user saw a failure, the operator's log names the failing call under the request's id.
//!
//! A run takes a sample of the cases, always the same; `ODB_SEED` draws another one. `ODB_CASES` says how many cases to
//! take, or `all`, which `scripts/test --full` does; any other text takes those whose titles contain it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `faults`, `kills` | the two matrices |
//! | `call_faults`, `task_faults` | what servers do to calls, and what happens to tasks |
//! | `operation` | what is carried out |
//! | `recording`, `target` | the calls and tasks that it takes, as something to aim at |
//! | `stage` | a foundation with a broker |
//! | `promises` | what holds in the end |
//! | `sampling`, `table` | which cases are run, several at a time, and what came of them |

mod call_faults;
mod faults;
mod kills;
mod operation;
mod promises;
mod recording;
mod sampling;
mod stage;
mod table;
mod target;
mod task_faults;
