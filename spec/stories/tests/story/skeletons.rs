//! An author creates an adapter with `odb-adapter new --lang`, and does what its README shows: tests it, calls it, and orders an
//! instance in the sandbox. The story of the tutorial does so in Rust.

use std::fs;

use odb_stories::{Fence, Reader, fences};

/// Creates an adapter and follows its README.
async fn follow(language: &str) {
    let mut reader = Reader::new().of(language);
    let new = format!("odb-adapter new my-service --lang {language}; cd my-service");
    reader.follow(&block("sh", &new)).await;
    let readme = fs::read_to_string(reader.folder().join("my-service/README.md"))
        .expect("it is part of the skeleton");
    let blocks = fences(&readme);
    let kinds: Vec<&str> = blocks
        .iter()
        .map(|block| block.information.as_str())
        .collect();
    assert_eq!(kinds, ["sh", "sh up", "sh"], "the commands are not found");
    for fence in &blocks {
        if fence.information == "sh up" {
            let up = format!("cd my-service\nexec {}", fence.text);
            reader.follow(&block("sh up", &up)).await;
        } else {
            reader.follow(fence).await;
        }
    }
    let use_it = r#"key=$(odb-sandbox cf service-key my-instance my-key --json)
export REDISCLI_AUTH=$(jq -r .password <<<"$key")
redis-cli -h "$(jq -r .host <<<"$key")" PING | grep PONG
odb-sandbox cf update-service my-instance -c '{"max_clients": 250}' --wait
odb-sandbox cf update-service my-instance -p large --wait
redis-cli -h "$(jq -r .host <<<"$key")" INFO clients | grep maxclients:250
odb-sandbox cf delete-service-key my-instance my-key --wait
odb-sandbox cf delete-service my-instance --wait"#;
    reader.follow(&block("sh", use_it)).await;
}

fn block(information: &str, text: &str) -> Fence {
    Fence {
        information: information.to_owned(),
        line: 0,
        text: text.to_owned(),
        run_by: Vec::new(),
        output: None,
    }
}

#[tokio::test]
async fn the_readme_of_an_adapter_in_python_leads_to_a_bound_instance() {
    follow("python").await;
}

/// Requires Go, as `scripts/test` installs it.
#[tokio::test]
async fn the_readme_of_an_adapter_in_go_leads_to_a_bound_instance() {
    follow("go").await;
}

#[tokio::test]
async fn the_readme_of_an_adapter_in_bash_leads_to_a_bound_instance() {
    follow("bash").await;
}

#[tokio::test]
async fn the_readme_of_an_adapter_of_templates_leads_to_a_bound_instance() {
    follow("templates").await;
}
