//! Adapters that misbehave: shell scripts, made by a test for itself.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::Binaries;

#[derive(Clone, Debug)]
pub struct Adapters {
    folder: PathBuf,
    redis: PathBuf,
}

impl Adapters {
    pub(crate) fn new(folder: &Path, binaries: &Binaries) -> Self {
        Self {
            folder: folder.to_owned(),
            redis: binaries.path("go-test-adapter"),
        }
    }

    /// An adapter that runs `script` for every call. The script is Bash, with
    ///
    /// - `$1`: the subcommand, and on stdin the document of the protocol;
    /// - `$input`: that document after `read_input`;
    /// - `$folder`: the test's folder;
    /// - `as_redis`: answers as the real adapter, after `read_input`;
    /// - `as_redis_with`: the same, for a broker that passes arguments: `as_redis_with "$@"`.
    pub fn script(&self, script: &str) -> PathBuf {
        let text = format!(
            r#"#!/bin/bash
folder='{folder}'
read_input() {{ input=$(cat); }}
call=$1
[[ -e $folder/redis.conf ]] && export REDIS_ADAPTER_CONFIG=$folder/redis.conf
as_redis() {{ printf '%s' "$input" | '{redis}' "$call"; }}
as_redis_with() {{ '{redis}' "$@" </dev/null; }}
{script}
"#,
            folder = self.folder.display(),
            redis = self.redis.display(),
        );
        let path = self.folder.join("adapter");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&path)
            .expect("a test makes one adapter");
        file.write_all(text.as_bytes())
            .expect("the test made the folder");
        path
    }

    /// Makes the script of [`script`](Self::script) another executable, which does the same.
    pub fn revise(&self) {
        let mut file = OpenOptions::new()
            .append(true)
            .open(self.folder.join("adapter"))
            .expect("there is one");
        file.write_all(b"# revised\n")
            .expect("the test made the folder");
    }

    /// An adapter that, asked for a manifest, notes in the file `entered` that it has begun, waits until the file
    /// `gate` is there, and then answers as the real one.
    pub fn gated(&self) -> PathBuf {
        self.script(
            r#"read_input
if [[ $call == generate-manifest ]]; then
  echo "$$" >>"$folder/entered"
  until [[ -e $folder/gate ]]; do sleep 0.02; done
fi
as_redis"#,
        )
    }

    pub fn open_gate(&self) {
        fs::write(self.folder.join("gate"), "").expect("the test made the folder");
    }

    pub fn at_gate(&self) -> usize {
        let noted = fs::read_to_string(self.folder.join("entered")).unwrap_or_default();
        noted.lines().count()
    }
}
