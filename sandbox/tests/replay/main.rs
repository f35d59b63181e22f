//! Every recorded exchange with a real Director, sent again to the sandbox's in the order of the recording. Status,
//! headers, shape and types of bodies and all texts that machines read must be the same.

#![cfg(test)]

mod compare;
mod interludes;
mod json;
mod names;
mod opaque;
mod restart;
mod sandbox;
mod story;
mod transcript;

use crate::story::Story;

/// Transcripts that the sandbox does not answer as recorded, each with the reason.
const OUT_OF_REACH: [(&str, &str); 1] = [(
    "100-deploy-bad-yaml",
    "the words after `Incorrect YAML structure` are those of another YAML parser",
)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_directors_answers_are_given_in_the_order_of_the_recording() {
    let transcripts = transcript::all();
    let mut story = Story::begin().await;
    let (mut replayed, mut left_out, mut wrong) = (0, Vec::new(), Vec::new());
    for recorded in &transcripts {
        story.lead_up_to(recorded).await;
        let answer = story.send(recorded).await;
        let differences = compare::differences(recorded, &answer, &mut story.names);
        let reason = OUT_OF_REACH.iter().find(|(name, _)| *name == recorded.name);
        match (differences.is_empty(), reason) {
            (true, None) => replayed += 1,
            (false, Some((name, reason))) => left_out.push(format!("{name}: {reason}")),
            (true, Some((name, _))) => wrong.push(format!("{name} is within reach by now")),
            (false, None) => wrong.push(format!(
                "{} ({} {})\n    {}",
                recorded.name,
                recorded.method,
                recorded.target,
                differences.join("\n    ")
            )),
        }
    }
    story.sandbox.shut_down().await;
    println!(
        "replayed {replayed} of {} transcripts, left out {}:\n  {}",
        transcripts.len(),
        left_out.len(),
        left_out.join("\n  ")
    );
    assert!(
        wrong.is_empty(),
        "{} answers differ, {replayed} do not:\n\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!((replayed, left_out.len()), (297, OUT_OF_REACH.len()));
}
