//! Every message of every program is in a snapshot, so that a reviewer reads them as a list.
//!
//! `INSTA_UPDATE=always` rewrites the snapshots.

use odb_stories::messages_of;

/// The programs by the folder of their sources.
const PROGRAMS: [(&str, &str); 9] = [
    ("broker", "broker"),
    ("errands", "errands"),
    ("adapter-sdk", "adapter-sdk/src"),
    ("adapter-kit", "adapter-sdk/kit/src"),
    ("redis-adapter", "adapters/redis/src"),
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
        let list: Vec<String> = messages
            .into_iter()
            .map(|(file, messages)| format!("{file}\n  {}\n", messages.join("\n  ")))
            .collect();
        insta::assert_snapshot!(program, list.concat());
    }
}
