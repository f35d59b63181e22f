//! The project's own scripts, `scripts/` and `scripts/lib/`: what they find, what they install and what they print.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts");

/// Runs a script of Bash after a file of `scripts/lib`.
fn run(folder: &Path, library: &str, script: &str, variables: &[(&str, &str)]) -> Output {
    let text = format!(
        "set -euo pipefail\nfail() {{ echo \"error: $*\" >&2; exit 1; }}\nsay() {{ echo \"$*\" >&2; }}\nsource {SCRIPTS}/lib/{library}.bash\n{script}"
    );
    Command::new("bash")
        .args(["-c", &text])
        .current_dir(folder)
        .env_remove("CI")
        .env_remove("ADVISORY_DB")
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied())
        .output()
        .expect("bash is there")
}

/// The output of a successful script.
fn printed(folder: &Path, library: &str, script: &str, variables: &[(&str, &str)]) -> String {
    let output = run(folder, library, script, variables);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("tests may write temporary files")
}

/// A clone in `project`, and a cargo that prints the advisories that it is pointed to.
const ADVISORIES: &str = r#"
    archive() {
      mkdir -p of/advisory-db/crates/c "${1%/*}"
      echo "advisory of $2" >of/advisory-db/crates/c/a.md
      tar -czf "$1" --mtime "$2 12:00" -C of advisory-db
    }
    repository() {
      mkdir -p "$1/crates/c"
      echo "advisory of $2" >"$1/crates/c/a.md"
      git -C "$1" init --quiet
      git -C "$1" add --all
      GIT_AUTHOR_DATE="$2T12:00:00" GIT_COMMITTER_DATE="$2T12:00:00" \
        git -C "$1" -c user.name=x -c user.email=x -c commit.gpgsign=false commit --quiet --message "$2"
    }
    cargo() {
      [[ "$1 $2 $3 $4 $6 $7" == "deny --locked --offline --config check advisories" ]]
      sed -n 's/^db-path = "\(.*\)"$/\1/p' "$5" | while read -r databases; do
        git -C "$databases"/*/ show HEAD:crates/c/a.md
      done
    }
    mkdir project
    printf '[advisories]\nignore = []\n' >project/deny.toml
    export CARGO_HOME=$PWD/home
"#;

#[test]
fn advisories_are_those_of_the_newest_database_that_is_found() {
    let (old, older, newest) = ("2026-08-21", "2025-12-31", "2026-10-01");
    for [own, beside, given, given_repository] in [
        [newest, old, older, older],
        [old, newest, older, older],
        [older, old, newest, older],
        [older, older, old, newest],
    ] {
        for (variable, date) in [
            ("given.tar.gz", given),
            ("given-repository", given_repository),
        ] {
            let folder = folder();
            let script = format!(
                r#"{ADVISORIES}
                repository home/advisory-dbs/some-name {own}
                archive shared/advisories/any-name.tar.gz {beside}
                archive $PWD/given.tar.gz {given}
                repository given-repository {given_repository}
                export ADVISORY_DB=$PWD/{variable}
                cd project
                check_advisories "$PWD/unpacked""#
            );
            let printed = printed(folder.path(), "advisories", &script, &[("CI", "true")]);
            let expected = [own, beside, date]
                .into_iter()
                .max()
                .expect("there are three");
            let first = format!("advisories of {expected}, from ");
            assert!(printed.starts_with(&first), "{printed}");
            let last = format!("\nadvisory of {expected}\n");
            assert!(printed.ends_with(&last), "{printed}");
        }
    }
}

#[test]
fn an_advisory_fails_and_so_does_a_machine_of_ci_without_a_database() {
    let with_database = format!(
        r#"{ADVISORIES}
        archive shared/advisories/any-name.tar.gz 2026-08-21
        cargo() {{ return 1; }}
        cd project
        check_advisories "$PWD/unpacked""#
    );
    let found = run(folder().path(), "advisories", &with_database, &[]);
    assert_eq!(found.status.code(), Some(1));

    let without = format!("{ADVISORIES}\ncd project\ncheck_advisories \"$PWD/unpacked\"");
    let elsewhere = run(folder().path(), "advisories", &without, &[]);
    assert!(elsewhere.status.success());
    assert!(text(&elsewhere.stderr).contains("skipped"));
    let of_ci = run(folder().path(), "advisories", &without, &[("CI", "true")]);
    assert_eq!(of_ci.status.code(), Some(1));
    let said = text(&of_ci.stderr);
    assert!(said.contains("no database of advisories"), "{said}");
    assert!(said.contains("ADVISORY_DB"), "{said}");
    let wrong = run(
        folder().path(),
        "advisories",
        &without,
        &[("ADVISORY_DB", "/nowhere")],
    );
    assert_eq!(wrong.status.code(), Some(1));
    let said = text(&wrong.stderr);
    assert!(
        said.contains("/nowhere is neither a git repository"),
        "{said}"
    );
}

#[test]
fn an_exception_has_a_reason_and_an_end_and_expires_after_it() {
    let folder = folder();
    for (ignored, error) in [
        ("", None),
        (
            r#"{ id = "RUSTSEC-2026-0001", reason = "we do not parse; until 2026-11-22" }"#,
            None,
        ),
        (
            r#"{ id = "RUSTSEC-2026-0001", reason = "we do not parse; until 2026-11-21" },"#,
            Some("has expired"),
        ),
        (
            r#"{ id = "RUSTSEC-2026-0001", reason = "we do not parse" },"#,
            Some("has no reason that ends in `until YYYY-MM-DD`"),
        ),
        (
            r#"{ id = "RUSTSEC-2026-0001", reason = "until 2026-11-22" },"#,
            Some("has no reason"),
        ),
        (r#""RUSTSEC-2026-0001","#, Some("has no reason")),
        (
            "{ id = \"RUSTSEC-2026-0001\", reason = \"a; until 2027-01-31\" },\n    { crate = \"a@1\" },",
            Some("{ crate = \"a@1\" } has no reason"),
        ),
    ] {
        let file = format!(
            "[advisories]\n# `{{ id = \"RUSTSEC-…\" }}`\nignore = [\n    {ignored}\n]\n\n[sources]\nallow = [\"x\"]\n"
        );
        fs::write(folder.path().join("deny.toml"), file).expect("the test made the folder");
        let checked = run(
            folder.path(),
            "advisories",
            "check_exceptions deny.toml 2026-11-22",
            &[],
        );
        let said = text(&checked.stderr);
        assert_eq!(
            checked.status.success(),
            error.is_none(),
            "{ignored}: {said}"
        );
        assert!(
            said.contains(error.unwrap_or_default()),
            "{ignored}: {said}"
        );
    }
    let own = format!("check_exceptions {SCRIPTS}/../deny.toml 2026-11-22");
    printed(folder.path(), "advisories", &own, &[]);
}

/// The configuration of a machine is its owner's.
#[test]
fn installing_changes_nothing_but_packages_and_what_they_start() {
    let script = r#"as_root() { echo "$*"; }
        install_packages postgresql prometheus redis-server jq"#;
    let printed = printed(folder().path(), "packages", script, &[]);
    let mut commands = printed.lines();
    assert_eq!(commands.next(), Some("apt-get -q update"));
    let install = commands.next().unwrap_or_default();
    assert!(
        install.starts_with("env DEBIAN_FRONTEND=noninteractive apt-get -q install ")
            && install.ends_with(" postgresql prometheus redis-server jq"),
        "{printed}"
    );
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        assert!(
            matches!(
                words[..],
                [
                    "systemctl",
                    "disable",
                    "--now",
                    "postgresql" | "prometheus" | "redis-server"
                ] | [
                    "/etc/init.d/postgresql"
                        | "/etc/init.d/prometheus"
                        | "/etc/init.d/redis-server",
                    "stop"
                ]
            ),
            "{command}"
        );
    }
}

#[test]
fn a_command_is_shown_as_it_can_be_typed_again() {
    let script = r#"typed=$(say_command cf update-service 'my cache' -c '{"maxclients": 250}' '' 2>&1)
        echo "$typed"
        eval "words=(${typed#$ })"
        printf '<%s>' "${words[@]}""#;
    let printed = printed(folder().path(), "console", script, &[]);
    assert_eq!(
        printed,
        "$ cf update-service my\\ cache -c \\{\\\"maxclients\\\":\\ 250\\} ''\n\
         <cf><update-service><my cache><-c><{\"maxclients\": 250}><>"
    );
}

#[test]
fn each_step_ends_with_a_mark_and_colours_are_for_terminals_that_want_them() {
    let steps = "step 'Order it'; step 'Use it'; end_steps";
    let plain = printed(folder().path(), "console", steps, &[]);
    let mut lines = plain.lines().filter(|line| line.starts_with('✓'));
    for beginning in ["✓ Order it: 0.", "✓ Use it: 0.", "✓ all 2 steps: 0."] {
        let line = lines.next().unwrap_or_default();
        assert!(
            line.starts_with(beginning) && line.ends_with(" s"),
            "{plain}"
        );
    }
    assert!(!plain.contains('\u{1b}'), "{plain}");

    let library = format!("source {SCRIPTS}/lib/console.bash; {steps}");
    let file = folder();
    fs::write(file.path().join("steps.bash"), library).expect("the test made the folder");
    let on_a_terminal = |variables: &[(&str, &str)]| {
        // `script` runs it on a terminal.
        let script = "script --quiet --return --command 'bash steps.bash' /dev/null";
        printed(file.path(), "console", script, variables)
    };
    assert!(on_a_terminal(&[]).contains("\u{1b}[32m✓\u{1b}[0m Order it"));
    assert!(!on_a_terminal(&[("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn a_first_build_says_how_long_it_takes_and_a_second_one_does_not() {
    let script = r"cargo() { :; }
        target_folder() { echo target; }
        build 2>&1
        mkdir -p target/try
        install -m 0755 /dev/null target/try/on-demand-broker
        build 2>&1";
    let printed = printed(folder().path(), "foundation", script, &[]);
    assert_eq!(printed, "first build: about 5 minutes\n");
}
