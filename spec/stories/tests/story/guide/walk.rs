//! The commands of the chapters, typed in their order at one foundation.

use std::{fs, path::Path};

use odb_stories::{Broker, Cf, ErrandConfiguration, Fence, Foundation, Reader, eventually, fences};

use super::project_file;
use crate::TIMEOUT;

/// The prelude of each block: the sandbox has a command line of its own.
const PRELUDE: &str = "cf() { odb-sandbox cf \"$@\"; }\n";

/// Chapters by name, with a number of commands below which they are not found.
const CHAPTERS: [(&str, usize); 4] = [
    ("install", 1),
    ("monitor", 6),
    ("upgrade", 6),
    ("troubleshoot", 1),
];

#[tokio::test]
async fn the_commands_of_the_chapters_do_what_the_chapters_say() {
    let foundation = Foundation::bare().start().await;
    let configuration = foundation.broker().without_quotas();
    let file = configuration.write("of-the-guide.yml");
    let broker = configuration.start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.succeeded();

    let mut operator = Operator::at(&foundation, &broker, &cf).await;
    fs::copy(file, operator.reader.folder().join("broker.yml")).unwrap();
    for (chapter, commands) in CHAPTERS {
        operator.read(chapter, commands, &broker).await;
    }

    let said = |needle: &str| {
        let said = operator
            .said
            .iter()
            .find(|(typed, _)| typed.contains(needle));
        said.unwrap_or_else(|| panic!("no command has `{needle}`"))
            .1
            .as_str()
    };
    assert_eq!(said("/v2/catalog"), "small\nlarge\n");
    assert!(said("/health").contains(r#"{"status":"ok"}"#));
    assert!(said("grep '^odb_'").contains("odb_build_info"));
    let of_the_request = said("jq -c --arg id");
    assert!(
        of_the_request.contains("request answered") && of_the_request.contains(&operator.instance),
        "{of_the_request}"
    );
    let operation = said("odb instance operation");
    assert!(operation.contains("health-check"), "{operation}");
    assert!(said("--dry-run").contains("unchanged"), "{operation}");
}

/// An operator with a shell.
struct Operator {
    reader: Reader,
    instance: String,
    /// Each block, and what it printed.
    said: Vec<(String, String)>,
}

impl Operator {
    /// With the files and variables of the guide.
    async fn at(foundation: &Foundation, broker: &Broker, cf: &Cf) -> Self {
        let reader = Reader::new();
        let folder = reader.folder().to_owned();
        fs::write(folder.join("prelude.bash"), PRELUDE).unwrap();
        fs::write(folder.join("broker.curl"), curl(foundation, broker)).unwrap();
        ErrandConfiguration::of(foundation, broker).write_whole(&folder.join("errands.yml"));
        let instance = cf.run(&["service", "cache", "--guid"]).await.succeeded();
        let instance = instance.trim().to_owned();
        let request = request_of(broker, &instance).await;
        let known = foundation.folder().join("foundation/foundation.json");
        let reader = reader
            .with_variable("BASH_ENV", &text(&folder.join("prelude.bash")))
            .with_variable("ODB_FOUNDATION", &text(&known))
            .with_variable("BROKER", broker.url())
            .with_variable("ODB_URL", broker.url())
            .with_variable("ODB_USERNAME", "broker")
            .with_variable("ODB_PASSWORD", broker.password())
            .with_variable("ODB_CA_CERT", &foundation.authority_file())
            .with_variable("INSTANCE", &instance)
            .with_variable("REQUEST", &request);
        Self {
            reader,
            instance,
            said: Vec::new(),
        }
    }

    /// Types what a chapter has for a shell and for `cf`.
    async fn read(&mut self, chapter: &str, commands: usize, broker: &Broker) {
        let log: Vec<String> = broker.log().iter().map(|line| line.text() + "\n").collect();
        fs::write(self.reader.folder().join("broker.log"), log.concat()).unwrap();
        let document = project_file(&format!("docs/operators/{chapter}.md"));
        // Those above which a test is named are typed by that one.
        let blocks: Vec<Fence> = fences(&document)
            .into_iter()
            .filter(|fence| fence.run_by.is_empty())
            .filter(|fence| matches!(fence.information.as_str(), "sh" | "sh cf"))
            .collect();
        assert!(
            blocks.len() >= commands,
            "{chapter}: the commands are not found"
        );
        for block in blocks {
            let typed = Fence {
                information: "sh".to_owned(),
                text: format!("{{ {}\n}} > >(tee said) 2>&1", block.text),
                ..block
            };
            self.reader.follow(&typed).await;
            let said = fs::read_to_string(self.reader.folder().join("said")).unwrap();
            self.said.push((block.text, said));
        }
    }
}

/// The id of the request that has ordered an instance, as its user would be given it.
async fn request_of(broker: &Broker, instance: &str) -> String {
    eventually("the order is in the log", TIMEOUT, async || {
        let lines = broker.log();
        let order = lines.iter().find(|line| {
            line.field("target") == Some("audit")
                && line.field("operation") == Some("provision")
                && line.field("instance.id") == Some(instance)
        });
        let id = order.and_then(|line| line.field("request.id"));
        id.map(str::to_owned).ok_or_else(|| format!("{lines:?}"))
    })
    .await
}

fn curl(foundation: &Foundation, broker: &Broker) -> String {
    format!(
        "cacert = \"{}\"\nuser = \"broker:{}\"\n",
        foundation.authority_file(),
        broker.password()
    )
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
