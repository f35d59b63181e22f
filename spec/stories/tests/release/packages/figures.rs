//! The installed size and the start of each package, as figures. `docs/contributing/artifacts.md` describes the command.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use odb_stories::{Foundation, Platform, Process, eventually};
use reqwest::Method;

use super::{
    TIMEOUT,
    built::packages,
    container::Bundle,
    image::mounted,
    machine::{Machine, as_root, succeed},
    site::site,
    tools::unpacked,
};

const STARTS: usize = 5;

/// Not a test: it prints, and runs only when it is asked for.
#[tokio::test]
#[ignore = "measures; see docs/contributing/artifacts.md"]
async fn sizes_and_starts() {
    let foundation = Foundation::start().await;
    println!("package | installed | start");
    let (size, start) = image(&foundation).await;
    println!("image | {size} | {start} ms");
    let (size, start) = debian(&foundation).await;
    println!("deb | {size} | {start} ms");
    let (size, start) = tools().await;
    println!("tools | {size} | {start} ms");
}

/// Until the first answer of `/health`.
async fn image(foundation: &Foundation) -> (String, u128) {
    let site = site(
        foundation,
        "/run/secrets/on-demand-broker",
        "/etc/on-demand-broker/tls",
    );
    let mounts = mounted(&site, &foundation.folder().join("measured"));
    let (mut times, mut installed) = (Vec::new(), String::new());
    for _ in 0..STARTS {
        let bundle = Bundle::new();
        installed = mebibytes(&bundle.root());
        let arguments = bundle.arguments();
        let begun = Instant::now();
        let container = bundle.start(&arguments, &[], &mounts);
        answers(&site.platform).await;
        times.push(begun.elapsed());
        container.stop().await;
    }
    (installed, median(times))
}

async fn debian(foundation: &Foundation) -> (String, u128) {
    let folder = "/etc/on-demand-broker";
    let site = site(
        foundation,
        &format!("{folder}/secrets"),
        &format!("{folder}/tls"),
    );
    let machine = Machine::start(&packages(), foundation.folder()).await;
    machine.succeed("dpkg --install /mnt/*.deb");
    machine.configure(&site);
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        machine.succeed("systemctl start on-demand-broker");
        answers(&site.platform).await;
        times.push(begun.elapsed());
        machine.succeed("systemctl stop on-demand-broker");
    }
    let kibibytes =
        machine.succeed("dpkg-query --show --showformat='${Installed-Size}' on-demand-broker");
    let kibibytes: f64 = kibibytes.parse().expect("it is a number");
    (format!("{:.1} MiB", kibibytes / 1024.0), median(times))
}

/// Until the sandbox is ready.
async fn tools() -> (String, u128) {
    let (folder, tools) = unpacked();
    let mut times = Vec::new();
    for number in 0..STARTS {
        let state = format!("state-{number}");
        let begun = Instant::now();
        let mut command = Command::new(tools.join("bin/odb-sandbox"));
        command
            .args(["up", "--state", &state, "--config"])
            .arg(tools.join("sandbox/foundation.yml"))
            .current_dir(folder.path());
        let sandbox = Process::start("sandbox", &mut command, folder.path());
        eventually("the sandbox is ready", TIMEOUT, async || {
            let printed = sandbox.output();
            if printed.contains("ready ") {
                Ok(())
            } else {
                Err(printed)
            }
        })
        .await;
        times.push(begun.elapsed());
    }
    (mebibytes(&tools), median(times))
}

async fn answers(platform: &Platform) {
    let end = Instant::now() + TIMEOUT;
    loop {
        let answer = platform
            .anonymous_request(Method::GET, "/health")
            .send()
            .await;
        if answer.is_ok_and(|answer| answer.status().is_success()) {
            return;
        }
        assert!(Instant::now() < end, "the broker does not answer");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn mebibytes(folder: &Path) -> String {
    let bytes = succeed(as_root("du").args(["--summarize", "--bytes"]).arg(folder));
    let bytes: f64 = bytes
        .split_whitespace()
        .next()
        .and_then(|bytes| bytes.parse().ok())
        .expect("it is a number");
    format!("{:.1} MiB", bytes / 1024.0 / 1024.0)
}

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_millis()
}
