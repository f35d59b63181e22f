//! The Debian package: what is in it, and its life on a machine with systemd.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use odb_stories::{Fence, Foundation, Platform, eventually};
use reqwest::Method;

use super::{
    TIMEOUT,
    built::{PROJECT, VERSION, architecture, commands_of, packages},
    machine::{Machine, succeed, text},
    site::site,
};

/// Of 10, the lower the better; systemd calls this well protected. Most of the rest is the network, which a broker needs.
const MOST_EXPOSURE: f64 = 2.0;

const UNIT: &str = "on-demand-broker.service";

fn package() -> PathBuf {
    packages().join(format!("on-demand-broker_{VERSION}_{}.deb", architecture()))
}

#[test]
fn the_package_declares_what_it_needs_and_belongs_to_root() {
    let field = |name: &str| {
        succeed(
            Command::new("dpkg-deb")
                .arg("--field")
                .arg(package())
                .arg(name),
        )
    };

    assert_eq!(field("Version").trim(), VERSION);
    let needs = field("Depends");
    for package in ["libc6 (>= 2.", "libgcc-s1", "ca-certificates", "systemd"] {
        assert!(needs.contains(package), "{package}: {needs}");
    }
    let listed = succeed(Command::new("dpkg-deb").arg("--contents").arg(package()));
    for line in listed.lines() {
        assert!(line.contains(" root/root "), "{line}");
        assert!(!line[..10].contains(['s', 'S', 't']), "{line}");
    }
    for file in [
        "./usr/bin/on-demand-broker",
        "./usr/bin/odb",
        "./usr/bin/odb-errand",
        "./usr/lib/on-demand-broker/template-service-adapter",
        "./lib/systemd/system/on-demand-broker.service",
        "./usr/share/man/man1/odb.1.gz",
        "./usr/share/bash-completion/completions/odb",
        "./usr/share/doc/on-demand-broker/copyright",
        "./usr/share/doc/on-demand-broker/LICENSES.gz",
        "./usr/share/doc/on-demand-broker/bill-of-materials.cdx.json.gz",
        "./usr/share/doc/on-demand-broker/examples/broker.yml",
    ] {
        assert!(listed.contains(&format!(" {file}\n")), "{file}: {listed}");
    }
}

#[test]
fn the_example_is_a_broker_yml_without_errors() {
    let check = Command::new(odb_stories::Binaries::find().path("on-demand-broker"))
        .args([
            "check",
            "--elsewhere",
            "--config",
            "release/debian/broker.yml",
        ])
        .current_dir(PROJECT)
        .output()
        .unwrap();
    let said = text(&check.stdout) + &text(&check.stderr);
    assert!(check.status.success(), "{said}");
    assert!(said.contains("broker.yml: 0 errors"), "{said}");
}

#[test]
fn systemd_finds_the_unit_well_protected() {
    let unit = Path::new(PROJECT).join("release/debian").join(UNIT);
    let rated = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(&unit)
        .output()
        .expect("systemd is installed");
    let rated = text(&rated.stdout);
    let exposure = rated
        .lines()
        .find_map(|line| line.split("Overall exposure level for ").nth(1))
        .and_then(|line| {
            line.split(": ")
                .nth(1)?
                .split(' ')
                .next()?
                .parse::<f64>()
                .ok()
        })
        .unwrap_or_else(|| panic!("{rated}"));
    assert!(exposure <= MOST_EXPOSURE, "{exposure}: {rated}");
}

/// An administrator with `sudo`, in a home of their own.
const ADMINISTRATOR: &str = "useradd --create-home --shell /bin/bash administrator
echo 'administrator ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/administrator
cp /mnt/*.deb /home/administrator";

#[tokio::test]
async fn the_guide_leads_from_the_package_to_a_broker_and_to_its_removal() {
    let foundation = Foundation::start().await;
    let folder = "/etc/on-demand-broker";
    let site = site(
        &foundation,
        &format!("{folder}/secrets"),
        &format!("{folder}/tls"),
    );
    let machine = Machine::start(&packages(), foundation.folder()).await;
    machine.succeed(ADMINISTRATOR);
    let before = files(&machine);
    let guide = commands_of("docs/operators/debian.md", "to_its_removal");
    let [build, install, configure, permit, start, restrict, purge] = &guide[..] else {
        panic!("other commands than these: {guide:#?}")
    };
    let follow = |fence: &Fence| {
        let shell =
            "runuser -u administrator -- env --chdir=/home/administrator bash -euo pipefail -c";
        let commands = format!(
            "\"$(cat <<'COMMANDS'\n{}\nCOMMANDS\n)\"",
            fence.text.trim_end()
        );
        machine.succeed(&format!("{shell} {commands}"))
    };

    let arguments = build.text.trim().strip_prefix("scripts/build-packages");
    succeed(
        Command::new("scripts/build-packages")
            .args(arguments.expect("it builds the package").split_whitespace())
            .arg("--help")
            .current_dir(PROJECT),
    );
    follow(install);
    machine.succeed("systemd-analyze verify --man=no /lib/systemd/system/on-demand-broker.service");
    let state = machine.run(&format!("systemctl is-active {UNIT}"));
    assert_eq!(text(&state.stdout), "inactive\n", "it has no configuration");
    let rights = machine.succeed(&format!("stat --format='%A %U %G' {folder}"));
    assert_eq!(rights, "drwxr-x--- root on-demand-broker\n");
    machine.succeed("man --where odb");

    follow(configure);
    machine.succeed(&format!("test -s {folder}/broker.yml"));
    machine.configure(&site);
    follow(permit);
    let said = follow(start);
    assert!(said.contains("active (running)"), "{said}");
    answers(&machine, &site.platform).await;
    site.platform.catalog().await.expect_status(200);
    // The adapter runs with the restrictions of the unit, too.
    site.platform.created().await;
    expect_restricted(&machine);
    let first = main_process(&machine);
    follow(restrict);
    answers(&machine, &site.platform).await;
    let property = "systemctl show --property=MemoryDenyWriteExecute --value on-demand-broker";
    assert_eq!(machine.succeed(property), "no\n");

    let second = main_process(&machine);
    assert_ne!(second, first);
    machine.succeed("dpkg --install /mnt/*.deb");
    answers(&machine, &site.platform).await;
    assert_ne!(main_process(&machine), second, "an upgrade restarts it");
    machine.succeed("dpkg --remove on-demand-broker");
    let state = machine.run(&format!("systemctl is-active {UNIT}"));
    assert_ne!(text(&state.stdout), "active\n");
    machine.succeed(&format!("test -f {folder}/broker.yml"));
    follow(purge);
    let after = files(&machine);
    let left: Vec<_> = after.difference(&before).collect();
    assert!(left.is_empty(), "{left:?}");
    let user = machine.run("getent passwd on-demand-broker");
    assert_eq!(text(&user.stdout), "", "the user remains");
}

async fn answers(machine: &Machine, platform: &Platform) {
    eventually("the unit's broker answers", TIMEOUT, async || {
        let request = platform.anonymous_request(Method::GET, "/health");
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            other => {
                let journal = machine.run(&format!(
                    "systemctl --no-pager status {UNIT}; journalctl --no-pager --unit {UNIT} | tail -n 20"
                ));
                Err(format!("{other:?}\n{}", text(&journal.stdout)))
            }
        }
    })
    .await;
}

fn main_process(machine: &Machine) -> String {
    let property = format!("systemctl show --property=MainPID --value {UNIT}");
    machine.succeed(&property).trim().to_owned()
}

fn expect_restricted(machine: &Machine) {
    let process = main_process(machine);
    let status = machine.succeed(&format!("cat /proc/{process}/status"));
    for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    let user = machine.succeed(&format!("ps --no-headers -o user:20 {process}"));
    assert_eq!(user.trim(), "on-demand-broker");
    let mounts = machine.succeed(&format!("cat /proc/{process}/mountinfo"));
    let root = mounts
        .lines()
        .find(|line| line.split(' ').nth(4) == Some("/"));
    let options = root
        .and_then(|line| line.split(' ').nth(5))
        .unwrap_or_default();
    assert!(options.starts_with("ro"), "{mounts}");
}

/// The files of the system, without what every installation and every start changes.
fn files(machine: &Machine) -> BTreeSet<String> {
    let found = machine.succeed(
        "find /etc /usr /lib /opt /srv /var /home -xdev \\( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \
         -o -path /var/lib/systemd -o -path /var/lib/PackageKit -o -path /var/tmp -o -name '*-' \\) -prune -o -print",
    );
    found.lines().map(str::to_owned).collect()
}
