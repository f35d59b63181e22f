//! Long lists as answers: written while they are read, so that memory is that of a few entries.
//!
//! What goes wrong before the first entry is a refusal like any other. Afterwards the status is told already: the answer is cut
//! off, so that nobody takes a part for the whole.

use std::{future::Future, pin::pin};

use actix_web::{HttpResponse, web::Bytes};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::{
    api::{AppState, refusal::Refusal},
    operations::Cut,
};

/// Entries that are written at once, if there are as many.
const BATCH: usize = 64;

/// Batches that wait until somebody takes them.
const WAITING: usize = 4;

/// What stands around the entries.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) head: &'static str,
    pub(super) tail: &'static str,
    /// The whole answer where there are none.
    pub(super) empty: &'static str,
}

/// A part of an answer.
enum Part {
    More(Bytes),
    Last(Bytes),
}

/// The list broke off.
#[derive(Debug, thiserror::Error)]
#[error("the list broke off")]
struct BrokenOff;

/// Answers with the entries of a stream.
pub(super) async fn answer<T, E, Entries>(
    app: &AppState,
    entries: impl Future<Output = Result<Entries, E>> + Send + 'static,
    frame: Frame,
    refuse: fn(E) -> Refusal,
) -> Result<HttpResponse, Refusal>
where
    T: Serialize + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
    Entries: Stream<Item = Result<T, E>> + Send + Unpin + 'static,
{
    let beginning = Box::pin(async move {
        let mut entries = entries.await?;
        let first = entries.next().await.transpose()?;
        Ok((first, entries))
    });
    // On the main runtime: connections to neighbours must not die with an HTTP worker.
    let (first, others) = match app.lifecycle.finish(beginning).await {
        Ok(begun) => begun.map_err(refuse)?,
        Err(error @ Cut::Stopping) => return Err(Refusal::stopping(error)),
        Err(error @ Cut::Off(_)) => return Err(Refusal::unattended().because(error)),
    };
    let mut response = HttpResponse::Ok();
    response.content_type("application/json");
    let Some(first) = first else {
        return Ok(response.body(frame.empty));
    };
    let (parts, written) = mpsc::channel(WAITING);
    let entries = stream::iter([Ok(first)]).chain(others);
    app.lifecycle.go_on(write(entries, frame, parts, refuse));
    Ok(response.streaming(body(written)))
}

/// The parts as they are written. Without the last one the answer is not whole, whatever has become of who was to write it.
fn body(written: mpsc::Receiver<Part>) -> impl Stream<Item = Result<Bytes, BrokenOff>> {
    stream::unfold(Some(written), async |written| {
        let mut written = written?;
        Some(match written.recv().await {
            Some(Part::More(bytes)) => (Ok(bytes), Some(written)),
            Some(Part::Last(bytes)) => (Ok(bytes), None),
            None => (Err(BrokenOff), None),
        })
    })
}

/// Writes until the end, or until nobody takes it any more.
async fn write<T, E>(
    entries: impl Stream<Item = Result<T, E>>,
    frame: Frame,
    parts: mpsc::Sender<Part>,
    refuse: fn(E) -> Refusal,
) where
    T: Serialize,
{
    let mut entries = pin!(entries.ready_chunks(BATCH));
    let mut text = frame.head.as_bytes().to_vec();
    let mut is_first = true;
    while let Some(batch) = entries.next().await {
        for entry in batch {
            match entry {
                Ok(entry) => append(&mut text, &entry, is_first),
                Err(error) => return refuse(error).log_in_the_middle(),
            }
            is_first = false;
        }
        let part = Part::More(std::mem::take(&mut text).into());
        if parts.send(part).await.is_err() {
            return;
        }
    }
    text.extend_from_slice(frame.tail.as_bytes());
    // Who has gone away does not want it.
    let _ = parts.send(Part::Last(text.into())).await;
}

fn append(text: &mut Vec<u8>, entry: &impl Serialize, is_first: bool) {
    if !is_first {
        text.push(b',');
    }
    serde_json::to_writer(text, entry).expect("entries are structs of text, and memory takes it");
}
