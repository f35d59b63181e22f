//! Runs the commands of documents in order, with a foundation, a broker and its files.

use std::rc::Rc;

use odb_stories::{Desk, Document};
use tokio::{
    sync::Semaphore,
    task::{JoinSet, LocalSet},
};

use super::{bosh, fences::is_of_others};

/// How many documents are worked through at once.
const SIDE_BY_SIDE: usize = 4;

/// Blocks for the BOSH CLI.
const BOSH: &str = "sh bosh";

#[tokio::test]
async fn the_commands_of_documents_work_in_their_order() {
    let permits = Rc::new(Semaphore::new(SIDE_BY_SIDE));
    let (mut readers, here) = (JoinSet::new(), LocalSet::new());
    for document in Document::all() {
        let permits = Rc::clone(&permits);
        let reading = async move {
            let _permit = permits.acquire().await;
            work_through(&document).await
        };
        readers.spawn_local_on(reading, &here);
    }
    let (mut followed, mut failed) = (0, 0);
    while let Some(read) = here.run_until(readers.join_next()).await {
        match read {
            Ok(blocks) => followed += blocks,
            // The error was printed already.
            Err(_) => failed += 1,
        }
    }
    assert_eq!(failed, 0, "so many documents have commands that fail");
    assert!(followed > 20, "the commands are not found");
}

/// Runs all commands of a document that no other test runs, and returns the number of blocks. Every command of the BOSH
/// CLI is checked, even if another test runs its block, because that test has the files.
async fn work_through(document: &Document) -> usize {
    let mut fences = document.fences();
    fences.retain(|fence| {
        fence.information == BOSH || (fence.language() == "sh" && !is_of_others(document, fence))
    });
    if fences.is_empty() {
        return 0;
    }
    let mut desk = Desk::of(document).await;
    for fence in &fences {
        let location = format!("{}:{}", document.path, fence.line);
        for call in desk.follow(fence).await {
            if is_of_others(document, fence) {
                bosh::expect_known(&location, &call);
            } else {
                bosh::expect_fine(&location, &call, desk.folder());
            }
        }
    }
    fences.len()
}
