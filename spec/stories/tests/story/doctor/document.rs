//! `docs/operators/reference/doctor.md` shows the output, and lists every code.

use odb_stories::{BrokerConfiguration, Foundation, fences};
use serde_json::json;

use super::{Ran, doctor, everything};

const GUIDE: &str = include_str!("../../../../../docs/operators/reference/doctor.md");
/// Where the guide has the adapter.
const ADAPTER: &str = "/var/vcap/packages/service-adapters/bin/redis-service-adapter";

/// The block behind a comment of the guide.
fn shown(comment: &str) -> String {
    let comment = format!("<!-- {comment} -->");
    let at = GUIDE.lines().position(|line| line == comment);
    // Blocks are counted from one, and so are lines: the one after the comment.
    let line = at.unwrap_or_else(|| panic!("there is no `{comment}`")) + 1;
    let blocks = fences(GUIDE);
    let block = blocks.iter().find(|fence| fence.line > line);
    block.expect("a block follows").text.clone()
}

/// Without what is different each time: numbers, and the room between columns.
fn essence(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut essence = String::new();
        for letter in line.chars() {
            match letter {
                letter if letter.is_ascii_digit() => {
                    if !essence.ends_with('N') {
                        essence.push('N');
                    }
                }
                letter => essence.push(letter),
            }
        }
        essence.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines()
        .map(line)
        .filter(|line| !line.is_empty())
        .collect()
}

async fn printed(configuration: BrokerConfiguration<'_>, foundation: &Foundation) -> Ran {
    let mut ran = doctor(configuration, &[]).await;
    let folder = foundation.folder().display().to_string();
    let adapter = odb_stories::Binaries::find().path("go-test-adapter");
    ran.output = ran
        .output
        .replace(&adapter.display().to_string(), ADAPTER)
        .replace(&format!("{folder}/doctor.yml"), "broker.yml");
    ran
}

#[tokio::test]
async fn the_guide_shows_what_is_printed() {
    let foundation = Foundation::bare().with_director_admin().start().await;

    let healthy = printed(everything(&foundation), &foundation).await;
    // The page shows the first and the last rows.
    let (printed_rows, shown_rows) = (essence(&healthy.output), essence(&shown("healthy")));
    let gap = shown_rows.iter().position(|row| row == "…").unwrap();
    let (first, last) = (&shown_rows[..gap], &shown_rows[gap + 1..]);
    assert!(first.len() >= 10, "{shown_rows:#?}");
    assert!(printed_rows.starts_with(first), "{}", healthy.output);
    assert!(printed_rows.ends_with(last), "{}", healthy.output);

    let flaw = json!({ "kind": "certificate", "flaw": "unknown-authority" });
    let fault = json!({ "server": "director", "effect": flaw });
    foundation.control().set_fault(&fault).await;
    let secret = "/credhub/client_secret";
    let configuration = everything(&foundation).with(secret, "not-the-secret".into());
    let broken = printed(configuration, &foundation).await;
    let lines = essence(&broken.output);
    let first = lines
        .iter()
        .position(|line| line.starts_with("✗ ODB-"))
        .unwrap();
    assert_eq!(
        lines[first..],
        essence(&shown("broken")),
        "{}",
        broken.output
    );
}
