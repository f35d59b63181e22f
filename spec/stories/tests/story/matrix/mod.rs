//! Every fault at every outgoing call of every operation, and a kill at every call.
//!
//! An operation runs once without faults, and the broker's calls to its upstreams are recorded. The cases come from the
//! recording, so that a new call is included automatically. Each case has an instance of its own on one of a few
//! foundations. In the end, in every case:
//!
//! - no order was deployed twice, and no lifecycle errand or deletion of one operation was started twice;
//! - every accepted operation ended, and every rejected one could be requested again and succeeded;
//! - a delete leaves nothing behind, and an unbind no credentials in the runtime CredHub;
//! - no secret of the foundation, of the broker's configuration or of the run is readable;
//! - if the user saw a failure, the operator's log names the failed call under the request's id.
//!
//! A run takes a sample of the cases, always the same; `ODB_SEED` selects another one. `ODB_CASES` sets the number of
//! cases, or `all`, as `scripts/test --full` does; any other text selects the cases whose titles contain it.
//!
//! | module | contents |
//! | --- | --- |
//! | `faults`, `kills` | the two matrices |
//! | `call_faults`, `task_faults` | faults of calls and of tasks |
//! | `operation` | the operations |
//! | `recording`, `target` | their calls and tasks, as targets |
//! | `stage` | a foundation with a broker |
//! | `promises` | the checks at the end |
//! | `sampling`, `table` | the selected cases, several at a time, and their results |

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
