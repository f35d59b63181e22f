//! The control API and the commands that use it, and what they do to a foundation.

#![cfg(test)]

mod behaviour;
mod calls;
mod client;
mod commands;
mod faults;
mod fleet;
mod foundation;
mod guide;
mod side_by_side;
mod state;
mod tokens;
