//! Every message of every program is in a snapshot, so that a reviewer reads them as a list.
//!
//! `INSTA_UPDATE=always` rewrites the snapshots.

use std::collections::BTreeMap;

use odb_stories::{messages_of, messages_of_scripts};

/// The programs by the folder of their sources.
const PROGRAMS: [(&str, &str); 11] = [
    ("odb", "cli/src"),
    ("broker", "broker"),
    ("errands", "errands"),
    ("adapter-sdk", "adapter-sdk/src"),
    ("adapter-kit", "adapter-sdk/kit/src"),
    ("redis-adapter", "adapters/redis/src"),
    ("test-adapter", "spec/test-adapter/src"),
    ("kafka-adapter", "adapters/kafka/src"),
    ("template-adapter", "adapters/template/src"),
    ("sandbox", "sandbox/src"),
    ("conformance", "spec/conformance/src"),
];

#[test]
fn every_message_is_in_the_list_of_its_program() {
    for (program, folder) in PROGRAMS {
        let messages = messages_of(folder);
        assert!(!messages.is_empty(), "{program} has no messages");
        insta::assert_snapshot!(program, list(messages));
    }
}

#[test]
fn every_message_of_the_scripts_is_in_their_list() {
    let messages = messages_of_scripts();
    assert!(messages.len() > 5, "the scripts are not found");
    insta::assert_snapshot!("scripts", list(messages));
}

/// Each file with its messages below it.
fn list(messages: BTreeMap<String, Vec<String>>) -> String {
    let mut list = String::new();
    for (file, messages) in messages {
        let messages = messages.join("\n").replace('\n', "\n  ");
        list += &[&file, "\n  ", &messages, "\n"].concat();
    }
    list
}
