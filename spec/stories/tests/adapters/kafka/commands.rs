use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
};

use tempfile::TempDir;

use crate::executable::Executable;

/// Topic commands that keep a record, in the place of those of the service release.
pub(crate) struct TopicCommands {
    folder: TempDir,
}

impl TopicCommands {
    /// Both commands do what the script says. It is Bash, and is given `$action` (`create` or `delete`), `$zookeeper`,
    /// `$topic` and a `$folder` for notes.
    pub(crate) fn that(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        for action in ["create", "delete"] {
            let text = format!(
                "#!/bin/bash\naction={action} zookeeper=$1 topic=$2 folder='{path}'\n\
                 [[ $# == 2 ]] || exit 99\necho \"$action $*\" >>\"$folder/called\"\n{script}\n"
            );
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o755);
            let mut file = options.open(folder.path().join(action)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        Self { folder }
    }

    /// The adapter, which runs them.
    pub(crate) fn adapter(&self) -> Executable {
        Executable::named("kafka-service-adapter")
            .with_environment("TOPIC_CREATOR_COMMAND", self.folder.path().join("create"))
            .with_environment("TOPIC_DELETER_COMMAND", self.folder.path().join("delete"))
    }

    /// The calls received: action, addresses of ZooKeeper, topic.
    pub(crate) fn called(&self) -> Vec<String> {
        self.note("called").lines().map(str::to_owned).collect()
    }

    /// The content of a file that the commands wrote in the folder.
    pub(crate) fn note(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}
