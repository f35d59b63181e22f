//! An operator's workplace: a foundation, a broker on it, and the files in the documents.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::{
    Binaries, Broker, Document, ErrandConfiguration, Fence, Foundation, Order, Reader,
    guide::document::project,
};

/// A program in the documents that is not installed here.
const ELSEWHERE: &str = "bosh";

/// Errands that documents also call by their own names.
const ERRANDS: [&str; 9] = [
    "register-broker",
    "deregister-broker",
    "upgrade-all-service-instances",
    "recreate-all-service-instances",
    "delete-all-service-instances",
    "delete-all-service-instances-and-deregister-broker",
    "orphan-deployments",
    "collect-service-metrics",
    "broker-post-start",
];

/// Works through a document with a foundation, a registered broker with an instance, and its files:
///
/// | name | meaning |
/// | --- | --- |
/// | `broker.yml`, `config.yml` | the broker's file, and one for all errands, also called `FILE` |
/// | `broker.password`, `authority.pem` | the broker's password, and the authority that all parts trust |
/// | `odb` | the command line, without contexts |
/// | `odb-errand` | the program, also under the name of each errand of the Go release |
/// | `cf` | the sandbox's command line, as a developer, in documents for operators as the administrator |
/// | `$BROKER`, `$INSTANCE` | the broker's address, and the instance's id, also called `ID` |
/// | `NAME:PASSWORD`, `https://broker.example.com`, `/path/to/the/authority.pem`, `PLAN-ID` | placeholders for the broker's own values |
/// | `manifests`, `release`, `scripts`, `spec` | the project's folders |
#[derive(Debug)]
pub struct Desk {
    reader: Reader,
    broker: Broker,
    // Last, for the others work with it.
    foundation: Foundation,
}

impl Desk {
    pub async fn of(document: &Document) -> Self {
        let foundation = Foundation::setup().without_processes().start().await;
        let configuration = foundation.broker();
        let broker = configuration.start().await;
        let cf = foundation.cf();
        cf.register(&broker).await;

        let reader = Reader::new();
        let contexts = reader.folder().join(".odb.yml");
        let mut reader = reader
            .of(&document.path)
            .with_variable(
                "ODB_FOUNDATION",
                &foundation
                    .state()
                    .join("foundation.json")
                    .display()
                    .to_string(),
            )
            .with_variable("BROKER", broker.url())
            .with_variable("ODB_CONFIG", &contexts.display().to_string())
            .with_word("https://broker.example.com", broker.url())
            .with_word("/path/to/the/authority.pem", &foundation.authority_file())
            .with_word("NAME:PASSWORD", &format!("broker:{}", broker.password()))
            .with_word("FILE", "config.yml");
        let needs_instance = ["$INSTANCE", " ID", "odb instance"];
        if needs_instance
            .iter()
            .any(|text| document.text.contains(text))
        {
            let order = ["create-service", "redis", "small", "desk", "--wait"];
            cf.run(&order).await.succeeded();
            let guid = cf.run(&["service", "desk", "--guid"]).await.succeeded();
            let plan = Order::small()
                .member("plan_id")
                .as_str()
                .unwrap_or_default()
                .to_owned();
            reader = reader
                .with_variable("INSTANCE", guid.trim())
                .with_word("PLAN-ID", &plan)
                .with_word("ID", guid.trim());
        }
        let identity = if document.path.starts_with("docs/operators") {
            "admin"
        } else {
            "developer"
        };
        reader = reader.with_program("cf", &format!("odb-sandbox cf --as {identity}"));
        reader = reader.without_program(ELSEWHERE);
        for folder in ["manifests", "release", "scripts", "spec"] {
            let link = reader.folder().join(folder);
            symlink(project().join(folder), link).expect("the test made the folder");
        }
        let programs = reader.folder().join(".errands");
        fs::create_dir(&programs).expect("the test made the folder");
        let errands = Binaries::find().path("odb-errand");
        symlink(&errands, reader.folder().join("odb-errand")).expect("the test made the folder");
        for name in ERRANDS {
            symlink(&errands, programs.join(name)).expect("the test made the folder");
        }
        reader = reader.with_programs(&programs);
        let write = |name: &str, text: &str| fs::write(reader.folder().join(name), text);
        write("broker.password", broker.password())
            .and_then(|()| write("authority.pem", &foundation.authority()))
            .expect("the test made the folder");
        fs::copy(
            foundation.folder().join("broker.yml"),
            reader.folder().join("broker.yml"),
        )
        .expect("the broker has been started with it");
        ErrandConfiguration::of(&foundation, &broker)
            .write_whole(&reader.folder().join("config.yml"));
        Self {
            reader,
            broker,
            foundation,
        }
    }

    /// Runs a block; returns how programs were called that are not installed.
    pub async fn follow(&mut self, fence: &Fence) -> Vec<Vec<String>> {
        self.reader.follow(fence).await;
        self.reader.calls()
    }

    pub fn folder(&self) -> &Path {
        self.reader.folder()
    }

    pub fn foundation(&self) -> &Foundation {
        &self.foundation
    }

    pub fn broker(&self) -> &Broker {
        &self.broker
    }
}
