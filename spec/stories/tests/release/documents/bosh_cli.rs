//! Subcommands, operands and flags of the BOSH CLI, as its own parser declares them
//! (<https://github.com/cloudfoundry/bosh-cli>, `cmd/opts/opts.go`, `var_flags.go`, `ops_flags.go`).

use std::{iter, sync::LazyLock};

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
    let (least, most) = own.operands;
    if !(least..=most).contains(&operands.len()) {
        let count = operands.len();
        return Err(format!("`{}` does not take {count} operands", own.name));
    }
    let is_given = |wanted: &Flag| flags.iter().any(|(given, _)| wanted.is_named(given));
    let mut needed = own.flags.iter().filter(|flag| flag.is_needed);
    if let Some(flag) = needed.find(|flag| !is_given(flag)) {
        return Err(format!("`{}` needs `{}`", own.name, flag.long));
    }
    let mut deployment = EVERYWHERE.iter().filter(|flag| flag.long == "--deployment");
    if IN_A_DEPLOYMENT.contains(&own.name) && !deployment.any(is_given) {
        return Err(format!("`{}` needs `--deployment`", own.name));
    }
    Ok(Command {
        name: own.name,
        operands,
        flags,
    })
}

/// Flags before the subcommand belong to every command.
fn flag_of(own: Option<&'static Subcommand>, name: &str) -> Result<&'static Flag, String> {
    let own = own.into_iter().flat_map(|own| &own.flags);
    // A command's own flag has precedence over a global flag with the same name.
    let mut known = own.chain(EVERYWHERE.iter());
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

struct Subcommand {
    name: &'static str,
    /// How many there have to be and may be.
    operands: (usize, usize),
    flags: Vec<Flag>,
}

/// Flags of every command. Help and version are missing: with them no command does anything.
const GLOBAL: &str = "
--ca-cert= --client= --client-secret= --column= --config= --deployment|-d= --environment|-e= --json --no-color
    --non-interactive|-n --parallel= --sha2 --tty
";

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

/// Flags that several commands have: `=` takes a value, `[=]` may take one after an equals sign, `!` is needed.
const GROUPS: &str = "
@interpolation --ops-file|-o= --var|-v= --var-file= --vars-env= --vars-file|-l= --vars-store=
@directory --dir=
@force --force
@name --name=
@type --type=
@skip_drain --skip-drain
@remote --fix --name= --sha1= --version=
@pace --canaries= --max-in-flight=
@convergence --converge --no-converge
@gateway --agent-certificate= --agent-endpoint= --director --gw-disable --gw-host= --gw-private-key=
    --gw-socks5= --gw-user=
@login --private-key|-i= --username|-l=
";

/// Those that operators of a broker may need; shorter names are not for documents. The number of operands follows.
const COMMANDS: &str = "
add-blob 2 @directory
cancel-task 1
cancel-tasks 0 --state|-s[=] --type|-t[=]
clean-up 0 --all --dry-run --keep-orphaned-disks
cloud-check 0 --auto|-a --report|-r --resolution=
cloud-config 0 @name
config 0..1 @name @type
configs 0 --name[=] --recent|-r[=] --type[=]
create-env 1 @interpolation @skip_drain --fix --package-dir= --recreate --recreate-persistent-disks --state=
create-release 0..1 @directory @force @name --final --tarball= --timestamp-version --version=
delete-config 0..1 @name @type
delete-deployment 0 @force
delete-release 1 @force
delete-stemcell 1 @force
deploy 1 @interpolation @pace --dry-run --fix --fix-releases --force-latest-variables --no-redact --recreate
    --recreate-persistent-disks --recreate-vms-created-before= --skip-drain[=] --skip-upload-releases
deployment 0
deployments 0
environment 0 --details
errands 0
event 1
events 0 --action= --after= --before= --before-id= --event-user= --instance= --object-name= --object-type=
    --task=
inspect-local-release 1
inspect-release 1
instances 0 --details|-i --failing|-f --ps|-p --vitals
interpolate 1 @interpolation --path= --var-errs --var-errs-unused
locks 0
logs 0..1 @directory @gateway --agent --all-logs --follow|-f --job= --num= --only= --quiet|-q --system
manifest 0
recreate 0..1 @convergence @pace @skip_drain --dry-run --fix --vms-created-before=
releases 0
restart 0..1 @convergence @pace @skip_drain
run-errand 1 --download-logs --instance= --keep-alive --logs-dir= --when-changed --with-heartbeat[=]
runtime-config 0 @name
scp 2.. @gateway @login --recursive|-r
ssh 0..1 @gateway @login --command|-c= --opts= --results|-r
start 0..1 @convergence @pace
stemcells 0
stop 0..1 @convergence @pace @skip_drain --hard --soft
task 0..1 --all|-a --cpi --debug --event --result
tasks 0 --all|-a --recent|-r[=]
update-cloud-config 1 @interpolation @name
update-config 1 @interpolation --expected-latest-id= --name=! --type=!
update-runtime-config 1 @interpolation @name --fix-releases --no-redact
upload-release 0..1 @directory @remote --rebase --stemcell=
upload-stemcell 1 @remote
variables 0
vms 0 --cloud-properties --vitals
";

static EVERYWHERE: LazyLock<Vec<Flag>> =
    LazyLock::new(|| GLOBAL.split_whitespace().map(Flag::declared).collect());

static SUBCOMMANDS: LazyLock<Vec<Subcommand>> = LazyLock::new(|| {
    let declared = |words: Vec<_>| Subcommand::declared(&words);
    declarations(COMMANDS).map(declared).collect()
});

impl Flag {
    /// `--ops-file|-o=`.
    fn declared(text: &'static str) -> Self {
        let name = text.trim_end_matches('!');
        let (names, takes) = match (name.strip_suffix("[=]"), name.strip_suffix('=')) {
            (Some(names), _) => (names, ValueAfterEquals),
            (None, Some(names)) => (names, Value),
            (None, None) => (name, Nothing),
        };
        let (long, short) = names.split_once('|').unzip();
        Self {
            long: long.unwrap_or(names),
            short,
            takes,
            is_needed: name != text,
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.long == name || self.short == Some(name)
    }
}

impl Subcommand {
    fn declared(words: &[&'static str]) -> Self {
        let number = |text: &str| text.parse().ok();
        let (least, most) = words[1].split_once("..").unwrap_or((words[1], words[1]));
        let flags = words[2..].iter().flat_map(|word| group(word));
        Self {
            name: words[0],
            operands: (
                number(least).unwrap_or(0),
                number(most).unwrap_or(usize::MAX),
            ),
            flags: flags.map(Flag::declared).collect(),
        }
    }
}

/// The words of each declaration. Lines that are indented continue the one before.
fn declarations(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
    iter::from_fn(move || {
        let mut words: Vec<_> = lines.next()?.split_whitespace().collect();
        while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
            words.extend(more.split_whitespace());
        }
        Some(words)
    })
}

/// The flags of a group such as `@name`, or the flag itself.
fn group(word: &'static str) -> Vec<&'static str> {
    let found = declarations(GROUPS).find(|group| group[0] == word);
    found.map_or_else(|| vec![word], |group| group[1..].to_vec())
}

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
