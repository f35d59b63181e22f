//! Subcommands, operands and flags of the BOSH CLI, as its own parser declares them
//! (<https://github.com/cloudfoundry/bosh-cli>, `cmd/opts/opts.go`, `var_flags.go`, `ops_flags.go`).

use std::ops::RangeInclusive;

use Takes::{Nothing, Value, ValueAfterEquals};

/// A command as it was typed.
pub(super) struct Command<'c> {
    pub(super) name: &'c str,
    pub(super) operands: Vec<&'c str>,
    /// Flags as they were typed, with their values.
    pub(super) flags: Vec<(&'c str, &'c str)>,
}

/// Parses a call of `bosh`, or reports the part that it does not accept.
pub(super) fn parse(call: &[String]) -> Result<Command<'_>, String> {
    let mut words = call.iter().skip(1).map(String::as_str);
    let (mut own, mut operands, mut flags) = (None, Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            let (flag, value) = word
                .split_once('=')
                .map_or((word, None), |(flag, value)| (flag, Some(value)));
            let value = match (flag_of(own, flag)?.takes, value) {
                (Nothing | ValueAfterEquals, None) => "",
                (Nothing, Some(_)) => return Err(format!("`{flag}` takes no value")),
                (Value | ValueAfterEquals, Some(value)) => value,
                (Value, None) => words
                    .next()
                    .ok_or_else(|| format!("`{flag}` lacks its value"))?,
            };
            flags.push((flag, value));
        } else if own.is_none() {
            let known = SUBCOMMANDS.iter().find(|known| known.name == word);
            own = Some(known.ok_or_else(|| format!("there is no subcommand `{word}`"))?);
        } else {
            operands.push(word);
        }
    }
    let own = own.ok_or("there is no subcommand")?;
    if !own.operands.contains(&operands.len()) {
        let count = operands.len();
        return Err(format!("`{}` does not take {count} operands", own.name));
    }
    let is_given = |wanted: &Flag| flags.iter().any(|(given, _)| wanted.is_named(given));
    let mut needed = own.flags().filter(|flag| flag.is_needed);
    if let Some(flag) = needed.find(|flag| !is_given(flag)) {
        return Err(format!("`{}` needs `{}`", own.name, flag.long));
    }
    if IN_A_DEPLOYMENT.contains(&own.name) && !is_given(&DEPLOYMENT) {
        return Err(format!("`{}` needs `{}`", own.name, DEPLOYMENT.long));
    }
    Ok(Command {
        name: own.name,
        operands,
        flags,
    })
}

/// Flags before the subcommand belong to every command.
fn flag_of(own: Option<&'static Subcommand>, name: &str) -> Result<&'static Flag, String> {
    let own = own.into_iter().flat_map(Subcommand::flags);
    // A command's own flag has precedence over a global flag with the same name.
    let mut known = own.chain(EVERYWHERE);
    known
        .find(|flag| flag.is_named(name))
        .ok_or_else(|| format!("there is no flag `{name}`"))
}

/// The value that follows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// A value that may be left out, and so is never looked for in the next word.
    ValueAfterEquals,
}

struct Flag {
    long: &'static str,
    short: Option<&'static str>,
    takes: Takes,
    is_needed: bool,
}

impl Flag {
    const fn or(self, short: &'static str) -> Self {
        Self {
            short: Some(short),
            ..self
        }
    }

    const fn needed(self) -> Self {
        Self {
            is_needed: true,
            ..self
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.long == name || self.short == Some(name)
    }
}

const fn flag(long: &'static str, takes: Takes) -> Flag {
    Flag {
        long,
        short: None,
        takes,
        is_needed: false,
    }
}

struct Subcommand {
    name: &'static str,
    /// How many there may be.
    operands: RangeInclusive<usize>,
    flags: &'static [&'static [Flag]],
}

impl Subcommand {
    fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.flags.iter().copied().flatten()
    }
}

const fn subcommand(
    name: &'static str,
    operands: RangeInclusive<usize>,
    flags: &'static [&'static [Flag]],
) -> Subcommand {
    Subcommand {
        name,
        operands,
        flags,
    }
}

const DEPLOYMENT: Flag = flag("--deployment", Value).or("-d");

/// Flags of every command. Help and version are missing: with them no command does anything.
const EVERYWHERE: &[Flag] = &[
    flag("--ca-cert", Value),
    flag("--client", Value),
    flag("--client-secret", Value),
    flag("--column", Value),
    flag("--config", Value),
    DEPLOYMENT,
    flag("--environment", Value).or("-e"),
    flag("--json", Nothing),
    flag("--no-color", Nothing),
    flag("--non-interactive", Nothing).or("-n"),
    flag("--parallel", Value),
    flag("--sha2", Nothing),
    flag("--tty", Nothing),
];

/// Without a deployment these fail.
const IN_A_DEPLOYMENT: [&str; 13] = [
    "cloud-check",
    "delete-deployment",
    "deploy",
    "deployment",
    "errands",
    "logs",
    "manifest",
    "recreate",
    "restart",
    "run-errand",
    "scp",
    "start",
    "stop",
];

const INTERPOLATION: &[Flag] = &[
    flag("--ops-file", Value).or("-o"),
    flag("--var", Value).or("-v"),
    flag("--var-file", Value),
    flag("--vars-env", Value),
    flag("--vars-file", Value).or("-l"),
    flag("--vars-store", Value),
];

const DIRECTORY: &[Flag] = &[flag("--dir", Value)];
const FORCE: &[Flag] = &[flag("--force", Nothing)];
const NAME: &[Flag] = &[flag("--name", Value)];
const TYPE: &[Flag] = &[flag("--type", Value)];
const SKIP_DRAIN: &[Flag] = &[flag("--skip-drain", Nothing)];

/// Flags that name what `bosh` looks up by name and version before it downloads it.
const REMOTE: &[Flag] = &[
    flag("--fix", Nothing),
    flag("--name", Value),
    flag("--sha1", Value),
    flag("--version", Value),
];

/// How many at once.
const PACE: &[Flag] = &[flag("--canaries", Value), flag("--max-in-flight", Value)];
const CONVERGENCE: &[Flag] = &[flag("--converge", Nothing), flag("--no-converge", Nothing)];

/// The way to a VM.
const GATEWAY: &[Flag] = &[
    flag("--agent-certificate", Value),
    flag("--agent-endpoint", Value),
    flag("--director", Nothing),
    flag("--gw-disable", Nothing),
    flag("--gw-host", Value),
    flag("--gw-private-key", Value),
    flag("--gw-socks5", Value),
    flag("--gw-user", Value),
];
const LOGIN: &[Flag] = &[
    flag("--private-key", Value).or("-i"),
    flag("--username", Value).or("-l"),
];

/// Those that operators of a broker may need; shorter names are not for documents.
const SUBCOMMANDS: &[Subcommand] = &[
    subcommand("add-blob", 2..=2, &[DIRECTORY]),
    subcommand("cancel-task", 1..=1, &[]),
    subcommand(
        "cancel-tasks",
        0..=0,
        &[&[
            flag("--state", ValueAfterEquals).or("-s"),
            flag("--type", ValueAfterEquals).or("-t"),
        ]],
    ),
    subcommand(
        "clean-up",
        0..=0,
        &[&[
            flag("--all", Nothing),
            flag("--dry-run", Nothing),
            flag("--keep-orphaned-disks", Nothing),
        ]],
    ),
    subcommand(
        "cloud-check",
        0..=0,
        &[&[
            flag("--auto", Nothing).or("-a"),
            flag("--report", Nothing).or("-r"),
            flag("--resolution", Value),
        ]],
    ),
    subcommand("cloud-config", 0..=0, &[NAME]),
    subcommand("config", 0..=1, &[NAME, TYPE]),
    subcommand(
        "configs",
        0..=0,
        &[&[
            flag("--name", ValueAfterEquals),
            flag("--recent", ValueAfterEquals).or("-r"),
            flag("--type", ValueAfterEquals),
        ]],
    ),
    subcommand(
        "create-env",
        1..=1,
        &[
            INTERPOLATION,
            SKIP_DRAIN,
            &[
                flag("--fix", Nothing),
                flag("--package-dir", Value),
                flag("--recreate", Nothing),
                flag("--recreate-persistent-disks", Nothing),
                flag("--state", Value),
            ],
        ],
    ),
    subcommand(
        "create-release",
        0..=1,
        &[
            DIRECTORY,
            FORCE,
            NAME,
            &[
                flag("--final", Nothing),
                flag("--tarball", Value),
                flag("--timestamp-version", Nothing),
                flag("--version", Value),
            ],
        ],
    ),
    subcommand("delete-config", 0..=1, &[NAME, TYPE]),
    subcommand("delete-deployment", 0..=0, &[FORCE]),
    subcommand("delete-release", 1..=1, &[FORCE]),
    subcommand("delete-stemcell", 1..=1, &[FORCE]),
    subcommand(
        "deploy",
        1..=1,
        &[
            INTERPOLATION,
            PACE,
            &[
                flag("--dry-run", Nothing),
                flag("--fix", Nothing),
                flag("--fix-releases", Nothing),
                flag("--force-latest-variables", Nothing),
                flag("--no-redact", Nothing),
                flag("--recreate", Nothing),
                flag("--recreate-persistent-disks", Nothing),
                flag("--recreate-vms-created-before", Value),
                flag("--skip-drain", ValueAfterEquals),
                flag("--skip-upload-releases", Nothing),
            ],
        ],
    ),
    subcommand("deployment", 0..=0, &[]),
    subcommand("deployments", 0..=0, &[]),
    subcommand("environment", 0..=0, &[&[flag("--details", Nothing)]]),
    subcommand("errands", 0..=0, &[]),
    subcommand("event", 1..=1, &[]),
    subcommand(
        "events",
        0..=0,
        &[&[
            flag("--action", Value),
            flag("--after", Value),
            flag("--before", Value),
            flag("--before-id", Value),
            flag("--event-user", Value),
            flag("--instance", Value),
            flag("--object-name", Value),
            flag("--object-type", Value),
            flag("--task", Value),
        ]],
    ),
    subcommand("inspect-local-release", 1..=1, &[]),
    subcommand("inspect-release", 1..=1, &[]),
    subcommand(
        "instances",
        0..=0,
        &[&[
            flag("--details", Nothing).or("-i"),
            flag("--failing", Nothing).or("-f"),
            flag("--ps", Nothing).or("-p"),
            flag("--vitals", Nothing),
        ]],
    ),
    subcommand(
        "interpolate",
        1..=1,
        &[
            INTERPOLATION,
            &[
                flag("--path", Value),
                flag("--var-errs", Nothing),
                flag("--var-errs-unused", Nothing),
            ],
        ],
    ),
    subcommand("locks", 0..=0, &[]),
    subcommand(
        "logs",
        0..=1,
        &[
            DIRECTORY,
            GATEWAY,
            &[
                flag("--agent", Nothing),
                flag("--all-logs", Nothing),
                flag("--follow", Nothing).or("-f"),
                flag("--job", Value),
                flag("--num", Value),
                flag("--only", Value),
                flag("--quiet", Nothing).or("-q"),
                flag("--system", Nothing),
            ],
        ],
    ),
    subcommand("manifest", 0..=0, &[]),
    subcommand(
        "recreate",
        0..=1,
        &[
            CONVERGENCE,
            PACE,
            SKIP_DRAIN,
            &[
                flag("--dry-run", Nothing),
                flag("--fix", Nothing),
                flag("--vms-created-before", Value),
            ],
        ],
    ),
    subcommand("releases", 0..=0, &[]),
    subcommand("restart", 0..=1, &[CONVERGENCE, PACE, SKIP_DRAIN]),
    subcommand(
        "run-errand",
        1..=1,
        &[&[
            flag("--download-logs", Nothing),
            flag("--instance", Value),
            flag("--keep-alive", Nothing),
            flag("--logs-dir", Value),
            flag("--when-changed", Nothing),
            flag("--with-heartbeat", ValueAfterEquals),
        ]],
    ),
    subcommand("runtime-config", 0..=0, &[NAME]),
    subcommand(
        "scp",
        2..=usize::MAX,
        &[GATEWAY, LOGIN, &[flag("--recursive", Nothing).or("-r")]],
    ),
    subcommand(
        "ssh",
        0..=1,
        &[
            GATEWAY,
            LOGIN,
            &[
                flag("--command", Value).or("-c"),
                flag("--opts", Value),
                flag("--results", Nothing).or("-r"),
            ],
        ],
    ),
    subcommand("start", 0..=1, &[CONVERGENCE, PACE]),
    subcommand("stemcells", 0..=0, &[]),
    subcommand(
        "stop",
        0..=1,
        &[
            CONVERGENCE,
            PACE,
            SKIP_DRAIN,
            &[flag("--hard", Nothing), flag("--soft", Nothing)],
        ],
    ),
    subcommand(
        "task",
        0..=1,
        &[&[
            flag("--all", Nothing).or("-a"),
            flag("--cpi", Nothing),
            flag("--debug", Nothing),
            flag("--event", Nothing),
            flag("--result", Nothing),
        ]],
    ),
    subcommand(
        "tasks",
        0..=0,
        &[&[
            flag("--all", Nothing).or("-a"),
            flag("--recent", ValueAfterEquals).or("-r"),
        ]],
    ),
    subcommand("update-cloud-config", 1..=1, &[INTERPOLATION, NAME]),
    subcommand(
        "update-config",
        1..=1,
        &[
            INTERPOLATION,
            &[
                flag("--expected-latest-id", Value),
                flag("--name", Value).needed(),
                flag("--type", Value).needed(),
            ],
        ],
    ),
    subcommand(
        "update-runtime-config",
        1..=1,
        &[
            INTERPOLATION,
            NAME,
            &[
                flag("--fix-releases", Nothing),
                flag("--no-redact", Nothing),
            ],
        ],
    ),
    subcommand(
        "upload-release",
        0..=1,
        &[
            DIRECTORY,
            REMOTE,
            &[flag("--rebase", Nothing), flag("--stemcell", Value)],
        ],
    ),
    subcommand("upload-stemcell", 1..=1, &[REMOTE]),
    subcommand("variables", 0..=0, &[]),
    subcommand(
        "vms",
        0..=0,
        &[&[
            flag("--cloud-properties", Nothing),
            flag("--vitals", Nothing),
        ]],
    ),
];

#[test]
fn commands_that_the_bosh_cli_does_not_have_are_found_out() {
    let call = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    for line in [
        "bosh -d redis-broker deploy manifests/redis.yml -o x.yml --var=a=b",
        "bosh -n -d redis-broker run-errand register-broker --keep-alive",
        "bosh configs --type=odb-run -r=9",
        "bosh tasks --recent",
    ] {
        let error = parse(&call(line)).err();
        assert_eq!(error, None, "{line}");
    }
    for (line, error) in [
        ("bosh deplyo m.yml", "there is no subcommand `deplyo`"),
        ("bosh deploy m.yml --ops x.yml", "there is no flag `--ops`"),
        ("bosh deploy m.yml --path=/a", "there is no flag `--path`"),
        (
            "bosh interpolate m.yml --dry-run",
            "there is no flag `--dry-run`",
        ),
        ("bosh deploy m.yml -o", "`-o` lacks its value"),
        ("bosh instances --ps=1", "`--ps` takes no value"),
        (
            "bosh configs --type odb-run",
            "`configs` does not take 1 operands",
        ),
        ("bosh -d x", "there is no subcommand"),
        ("bosh -d x deploy", "`deploy` does not take 0 operands"),
        (
            "bosh -d x run-errand a b",
            "`run-errand` does not take 2 operands",
        ),
        ("bosh run-errand a", "`run-errand` needs `--deployment`"),
        (
            "bosh update-config c.yml --type=cloud",
            "`update-config` needs `--name`",
        ),
    ] {
        assert_eq!(parse(&call(line)).err().as_deref(), Some(error), "{line}");
    }
}
