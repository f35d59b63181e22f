//! A reader with an empty folder follows the tutorial (`docs/authors/tutorial.md`).

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use odb_stories::{Binaries, Fence, Reader, fences};

const TUTORIAL: &str = include_str!("../../../../docs/authors/tutorial.md");

/// Where the second half begins.
const IN_RUST: &str = "## The same in Rust";

/// As the guide for authors suggests.
const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapter-sdk");

#[tokio::test]
async fn templates_lead_from_nothing_to_a_bound_service_and_to_a_change_of_it() {
    let blocks = blocks(|line, rust| line < rust);
    assert!(blocks.len() > 10, "the commands are not found");
    let mut reader = Reader::new();
    for block in &blocks {
        reader.follow(block).await;
    }
}

#[tokio::test]
async fn rust_leads_from_nothing_to_a_bound_service() {
    let blocks = blocks(|line, rust| line > rust);
    assert_eq!(blocks.len(), 4, "the commands are not found");
    let compiled = compiled();
    let mut reader = Reader::new()
        .with_variable("ODB_ADAPTER_SDK", SDK)
        .with_variable("CARGO_TARGET_DIR", &compiled.display().to_string())
        .with_variable("CARGO_INCREMENTAL", "0")
        .with_variable("CARGO_NET_OFFLINE", "true")
        .with_variable("CARGO_PROFILE_DEV_DEBUG", "false");
    let (beginning, rest) = blocks.split_first().expect("there are four");
    reader.follow(beginning).await;
    symlink(compiled, reader.folder().join("my-store/target")).expect("the test made the folder");
    for block in rest {
        reader.follow(block).await;
    }
}

/// Where what the adapter is made of is compiled, once for all runs: a folder of its own beside those of the project,
/// with whose builds it would interfere.
fn compiled() -> PathBuf {
    let executables = Binaries::find().path("odb-adapter");
    let target = executables.ancestors().nth(2);
    let folder = target
        .expect("executables are two folders deep")
        .join("tutorial");
    fs::create_dir_all(&folder).expect("tests may write there");
    folder
}

fn blocks(is_wanted: impl Fn(usize, usize) -> bool) -> Vec<Fence> {
    let rust = TUTORIAL.lines().position(|line| line == IN_RUST);
    let rust = rust.expect("there is a second half");
    fences(TUTORIAL)
        .into_iter()
        .filter(|fence| is_wanted(fence.line, rust))
        .collect()
}
