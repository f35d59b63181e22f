//! Resumes the operations that an earlier process left in progress.

use std::sync::atomic::Ordering;

use odb_api_types::code::Code;
use odb_clients::{FailureKind, http::Call};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::Error,
    records::{
        in_flight::{never_began, take_over},
        operation_records::StoredRecord,
    },
};

/// Picks up every operation that an earlier process left in progress. Returns their number.
pub(crate) async fn resume(engine: &BoshEngine, call: &Call) -> Result<usize, Error> {
    let open = |instance, stored: StoredRecord| {
        let is_open = stored.record.outcome.is_none();
        is_open.then_some((instance, stored))
    };
    let found: Vec<_> = match engine.upstreams.records.own_with(call, open).await {
        Ok(found) => found,
        Err(error) if matches!(error.kind, FailureKind::NotAllowed { .. }) => {
            tracing::warn!(
                code = %Code::Resume,
                error = %Chain(&error),
                "could not read the operations of an earlier process; they resume at the next poll"
            );
            Vec::new()
        }
        Err(error) => return Err(Error::director("list the operation records")(error)),
    };
    let mut resumed = 0;
    for (instance, stored) in found {
        // The operation was begun or taken over by this process since the listing.
        let is_known_here = engine.reconcilers.known(&instance).is_some()
            || never_began(engine, &instance, &stored.record);
        if !is_known_here {
            take_over(engine, &instance, stored);
            resumed += 1;
        }
    }
    engine.is_resumed.store(true, Ordering::Release);
    Ok(resumed)
}
