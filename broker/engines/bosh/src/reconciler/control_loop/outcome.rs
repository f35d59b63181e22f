//! The second write of an operation record: how the operation has ended.

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_redaction::Chain;

use super::context::Context;
use crate::{
    reconciler::retry,
    records::{operation_record::Outcome, operation_records::WriteRecordError},
};

/// Whether the outcome is still to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// It is.
    NotYet,
    /// It has been, or there is nothing to write it into.
    Closed,
    /// Another process wrote in between: it continues the operation, or knows its outcome.
    Overtaken,
}

/// The second write of the operation record. A write by another process in between is newer and stays.
pub(super) async fn write_outcome(
    context: &Context,
    outcome: &Outcome,
    now: Timestamp,
    attempt: u32,
) -> Record {
    let Some(stored) = &context.operation.stored else {
        return Record::Closed;
    };
    let record = context.operation.record.clone().ended(outcome.clone(), now);
    let written = context
        .upstreams
        .records
        .write(
            &context.call(),
            &context.operation.instance,
            record,
            Some(stored),
        )
        .await;
    match written {
        Ok(_) => Record::Closed,
        Err(WriteRecordError::Director(error)) if error.is_transient() => {
            retry::log(attempt, &error, "write the outcome down");
            Record::NotYet
        }
        Err(error) => {
            tracing::warn!(code = %Code::Follow, error = %Chain(&error), "the outcome is known, its operation record was not written");
            match error {
                WriteRecordError::Overtaken => Record::Overtaken,
                WriteRecordError::Director(_) => Record::Closed,
            }
        }
    }
}
