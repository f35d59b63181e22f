//! Long lists as answers: written while they are read, so that only a few entries are in memory.
//!
//! An error before the first entry is an error answer. Afterwards the status is sent already: the answer is cut off, so
//! that no client takes a part for the complete list.

use std::{future::Future, pin::pin};

use actix_web::{HttpResponse, web::Bytes};
use futures_util::{Stream, StreamExt, stream};
use odb_core::operations::{Operations, Refused, RequestContext};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::api::{
    error::ApiError,
    refused::{Audience, ErrorContext, RequestKind},
    run::Run,
};

const BATCH: usize = 64;

const WAITING: usize = 4;

#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) head: &'static str,
    pub(super) tail: &'static str,
    /// The complete answer of an empty list.
    pub(super) empty: &'static str,
}

enum Part {
    More(Bytes),
    Last(Bytes),
}

#[derive(Debug, thiserror::Error)]
#[error("the list was cut off")]
struct BrokenOff;

impl Run {
    pub(super) async fn streamed<T, Work, Entries>(
        &self,
        kind: RequestKind,
        frame: Frame,
        work: impl FnOnce(Operations, RequestContext) -> Work,
    ) -> Result<HttpResponse, ApiError>
    where
        T: Serialize + Send + 'static,
        Work: Future<Output = Result<Entries, Refused>> + Send + 'static,
        Entries: Stream<Item = Result<T, Refused>> + Send + Unpin + 'static,
    {
        let context = self.error_context(Audience::Operator, kind);
        let begun = self.finish(&context, |operations, request_context| {
            let entries = work(operations, request_context);
            async move {
                let mut entries = entries.await?;
                let first = entries.next().await.transpose()?;
                Ok((first, entries))
            }
        });
        let (first, others) = begun.await?;
        let mut response = HttpResponse::Ok();
        response.content_type("application/json");
        let Some(first) = first else {
            return Ok(response.body(frame.empty));
        };
        let (parts, written) = mpsc::channel(WAITING);
        let entries = stream::iter([Ok(first)]).chain(others);
        let writing = write(entries, frame, parts, context);
        self.app.lifecycle.go_on(writing);
        Ok(response.streaming(body(written)))
    }
}

/// The parts as they are written. Without the last part the answer is incomplete, whatever happened to its writer.
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

/// Writes until the end, or until the client disconnects.
async fn write<T>(
    entries: impl Stream<Item = Result<T, Refused>>,
    frame: Frame,
    parts: mpsc::Sender<Part>,
    context: ErrorContext,
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
                Err(error) => return context.refuse(error).log_in_the_middle(),
            }
            is_first = false;
        }
        let part = Part::More(std::mem::take(&mut text).into());
        if parts.send(part).await.is_err() {
            return;
        }
    }
    text.extend_from_slice(frame.tail.as_bytes());
    // A client that has disconnected does not read it.
    let _ = parts.send(Part::Last(text.into())).await;
}

fn append(text: &mut Vec<u8>, entry: &impl Serialize, is_first: bool) {
    if !is_first {
        text.push(b',');
    }
    serde_json::to_writer(text, entry).expect("entries are structs of text, and memory takes it");
}
