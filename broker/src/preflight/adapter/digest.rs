//! The digest of the adapter: part of each target. It is computed once, because a new adapter comes with a new process.

use std::path::Path;

use odb_api_types::code::Code;
use odb_config::Adapter;
use odb_engine_bosh::adapter::ExecutableDigest;
use odb_redaction::Chain;

/// Reads the adapter's executable. One that may be executed and not read is known by its path and length.
pub(crate) async fn digest(adapter: &Adapter) -> ExecutableDigest {
    let path = adapter.path.clone();
    // The task is never cancelled, and does not panic.
    let read = tokio::task::spawn_blocking(move || read(&path)).await;
    read.unwrap_or_else(|_| ExecutableDigest::of(&[]))
}

fn read(path: &Path) -> ExecutableDigest {
    ExecutableDigest::read(path).unwrap_or_else(|error| {
        tracing::warn!(
            code = %Code::AdapterStart,
            error = %Chain(&error),
            "the service adapter cannot be read: a new one of the same length will not count as something new to deploy"
        );
        by_length(path)
    })
}

fn by_length(path: &Path) -> ExecutableDigest {
    let length = path.metadata().map(|known| known.len()).unwrap_or_default();
    ExecutableDigest::of(format!("{} {length}", path.display()).as_bytes())
}
