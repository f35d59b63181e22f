//! How the errands are called.

use std::fs;

use odb_stories::{Errand, ErrandRun, Foundation};

async fn register(foundation: &Foundation, arguments: &[&str]) -> ErrandRun {
    let errand = Errand::by_its_name(foundation, "register-broker");
    errand.with(arguments).run().await
}

async fn deregister(foundation: &Foundation, arguments: &[&str]) -> ErrandRun {
    let errand = Errand::by_its_name(foundation, "deregister-broker");
    errand.with(arguments).run().await
}

#[tokio::test]
async fn what_is_missing_is_reported_in_the_words_of_the_go_programs() {
    let foundation = Foundation::start().await;

    for arguments in [&[][..], &["-configPath", ""]] {
        let run = register(&foundation, arguments).await.expect_status(1);
        assert_eq!(run.last_text(), "-configPath must be given as argument");
    }
    // The file may hold the name: one that cannot be read is reported first.
    let run = deregister(&foundation, &[]).await.expect_status(1);
    assert_eq!(run.last_text(), "Missing argument -brokerName");
    let run = deregister(&foundation, &["-configFilePath", "/nowhere.yml"]).await;
    assert_eq!(
        run.expect_status(1).last_text(),
        "Error reading config file: open /nowhere.yml: no such file or directory"
    );
    let run = deregister(&foundation, &["-brokerName", "redis"]).await;
    assert_eq!(
        run.expect_status(1).last_text(),
        "Missing argument -configFilePath"
    );
    for run in [
        register(&foundation, &["-brokerName", "redis"]).await,
        deregister(&foundation, &["-brokerName"]).await,
    ] {
        assert_eq!(run.expect_status(2).output, "");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_or_used_is_reported_in_the_words_of_the_go_programs() {
    let foundation = Foundation::start().await;

    let run = register(&foundation, &["-configPath", "/nowhere.yml"]).await;
    assert_eq!(
        run.expect_status(1).last_text(),
        "error reading file -configPath: open /nowhere.yml: no such file or directory"
    );
    let named = ["-brokerName", "redis", "-configFilePath"];
    let run = deregister(&foundation, &[&named[..], &["/nowhere.yml"]].concat()).await;
    assert_eq!(
        run.expect_status(1).last_text(),
        "Error reading config file: open /nowhere.yml: no such file or directory"
    );

    let file = foundation.folder().join("broken.yml");
    fs::write(&file, "cf: [").unwrap();
    let file = file.display().to_string();
    let run = register(&foundation, &["-configPath", &file]).await;
    let run = run.expect_status(1);
    let said = run.last_text();
    assert!(
        said.starts_with("error unmarshaling config file: ") && said.contains("broken.yml:1"),
        "{said}"
    );
    let run = deregister(&foundation, &[&named[..], &[file.as_str()]].concat()).await;
    let run = run.expect_status(1);
    assert!(
        run.last_text().starts_with("Invalid config file: "),
        "{run:?}"
    );
}
