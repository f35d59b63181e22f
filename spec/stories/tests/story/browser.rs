//! A real browser drives the page: with and without JavaScript, with the keyboard alone, and past an automatic check of
//! accessibility.
//!
//! `scripts/test` installs Chromium and axe-core, and sets `ODB_AXE` to that script. With `ODB_SCREENSHOTS`, each view is
//! also written to that folder.

use std::{env, fs, path::PathBuf};

use odb_stories::{Broker, Browser, BrowserKey, Fault, Foundation, eventually, new_id};
use serde_json::{Value, json};

use crate::{
    TIMEOUT,
    cancelling::{hold, task_is_held},
    page::{OPERATOR, PASSWORD, WithPage, everything, operator},
};

const SCHEMES: [&str; 2] = ["light", "dark"];

struct Visit {
    browser: Browser,
    url: String,
    axe: String,
    screenshots: Option<PathBuf>,
}

impl Visit {
    async fn begin(foundation: &Foundation, broker: &Broker) -> Self {
        let axe = env::var_os("ODB_AXE").expect("scripts/test sets its path");
        let screenshots = env::var_os("ODB_SCREENSHOTS").map(PathBuf::from);
        let browser = Browser::start(foundation).await;
        let url = broker.url().to_owned();
        // From now on the browser knows the credentials of the site.
        let password = PASSWORD.replace(' ', "%20");
        let with_credentials = url.replacen("//", &format!("//{OPERATOR}:{password}@"), 1);
        browser.open(&format!("{with_credentials}/ui")).await;
        Self {
            browser,
            url,
            axe: fs::read_to_string(axe).expect("scripts/test fetches it"),
            screenshots,
        }
    }

    async fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.url)).await;
    }

    /// Checks the present view in both colour schemes, and writes it.
    async fn check(&self, name: &str) {
        for scheme in SCHEMES {
            self.browser.prefers(scheme).await;
            self.write(&format!("{name}-{scheme}")).await;
            self.browser.run(&self.axe).await;
            let script = "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then(done, done);";
            let result = self.browser.run_to_the_end(script).await;
            let violations = result["violations"].as_array();
            let violations = violations.unwrap_or_else(|| panic!("axe has failed: {result}"));
            let found: Vec<String> = violations.iter().map(summary).collect();
            assert!(found.is_empty(), "{name}, {scheme}:\n{}", found.join("\n"));
            assert!(
                result["passes"]
                    .as_array()
                    .is_some_and(|passes| passes.len() > 10),
                "{name}: axe has looked"
            );
        }
        self.browser.prefers("light").await;
    }

    async fn write(&self, name: &str) {
        if let Some(folder) = &self.screenshots {
            let file = folder.join(format!("{name}.png"));
            fs::write(file, self.browser.screenshot().await).expect("the folder can be written");
        }
    }

    /// Presses Tab until the focus is on a link or button of this text; every stop shows that it has the focus.
    async fn tab_to(&self, text: &str) {
        for _ in 0..60 {
            self.browser.press(BrowserKey::Tab).await;
            let focused = self
                .browser
                .run(
                    "const it = document.activeElement, look = getComputedStyle(it); return { \
                     text: it.textContent.trim(), outline: look.outlineStyle, width: look.outlineWidth };",
                )
                .await;
            if focused["text"] == "" && focused["outline"] == "none" {
                continue;
            }
            assert_eq!(
                focused["outline"], "solid",
                "the focus is visible: {focused}"
            );
            if focused["text"] == text {
                return;
            }
        }
        panic!("Tab does not reach `{text}`");
    }
}

fn summary(violation: &Value) -> String {
    let nodes = violation["nodes"].as_array().into_iter().flatten();
    let nodes: Vec<String> = nodes
        .map(|node| format!("  {} {}", node["html"], node["failureSummary"]))
        .collect();
    format!(
        "{}: {}\n{}",
        violation["id"],
        violation["help"],
        nodes.join("\n")
    )
}

/// A foundation with a broker that offers another release than the one with which its fleet was deployed.
async fn a_fleet(instances: usize) -> (Foundation, Broker) {
    let foundation = Foundation::setup()
        .with_director_admin()
        .without_processes()
        .start()
        .await;
    let configuration = |release: &str| {
        foundation
            .broker()
            .with_page(everything())
            .with_password("of both brokers")
            .with_plan_limit(60)
            .with_lifecycle_errands(&json!({}))
            .with("/service_deployment/releases/0/version", release.into())
    };
    let mut old = configuration("7.4").start().await;
    let cf = foundation.cf();
    cf.register(&old).await;
    for (name, plan) in [("orders-cache", "small"), ("sessions", "large")] {
        let order = ["create-service", "redis", plan, name, "--wait"];
        cf.run(&order).await.succeeded();
    }
    foundation.control().seed_fleet(instances, 7).await;
    old.stop().await;
    let new = configuration("7.5").start().await;
    (foundation, new)
}

/// Some instances of a rollout are done.
async fn upgrade_some(broker: &Broker) {
    let platform = broker.platform();
    let run = json!({ "kind": "upgrade", "holder": "process 4711 on jumpbox" });
    platform.begin_run(&run).await.expect_status(201);
    let inventory = platform.inventory("plan=small").await.json();
    let entries = inventory["service_instances"].as_array().unwrap();
    let seeded = entries
        .iter()
        .filter(|entry| entry["name"] != "orders-cache");
    let fit = seeded.filter(|entry| entry["operation"]["state"] == "succeeded");
    for entry in fit.take(24) {
        let body = json!({ "plan_id": entry["plan_id"], "context": {} });
        let id = entry["service_instance_id"].as_str().unwrap();
        let begun = platform.operate(id, "upgrade", &body).await;
        begun.expect_status(202);
    }
    eventually("some instances are upgraded", TIMEOUT, async || {
        let inventory = platform.inventory("plan=small").await.json();
        let entries = inventory["service_instances"].as_array().unwrap();
        let done = entries.iter().filter(|entry| entry["up_to_date"] == true);
        let done = done.count();
        if done >= 24 {
            Ok(())
        } else {
            Err(format!("{done} are"))
        }
    })
    .await;
}

async fn instance_named(broker: &Broker, name: &str) -> String {
    let inventory = broker.platform().inventory("").await.json();
    let instances = inventory["service_instances"].as_array().unwrap();
    let named = instances.iter().find(|entry| entry["name"] == name);
    let id = &named.expect("it is listed")["service_instance_id"];
    id.as_str().unwrap().to_owned()
}

#[tokio::test]
#[ignore = "needs Chromium and axe-core, which scripts/test installs"]
async fn an_operator_finds_an_instance_upgrades_it_and_cancels_the_upgrade() {
    let (foundation, broker) = a_fleet(90).await;
    let visit = Visit::begin(&foundation, &broker).await;
    let browser = &visit.browser;
    let instance = instance_named(&broker, "orders-cache").await;

    browser.shows("h1", "Service instances", TIMEOUT).await;
    visit.check("instances").await;
    browser.enter("input[name=q]", "orders").await;
    browser.click(".filters button").await;
    browser.shows(".paging", "of", TIMEOUT).await;
    let listed = format!("tbody a[href$='{instance}']");
    browser.click(&listed).await;
    browser.shows("h1", "orders-cache", TIMEOUT).await;
    visit.check("instance").await;
    browser.click("a[href$='/changes']").await;
    browser
        .shows("h1", "What an upgrade would change", TIMEOUT)
        .await;
    visit.check("changes").await;

    upgrade_some(&broker).await;
    hold(&foundation, "Updating instance").await;
    browser.click("a[href$='/upgrade']").await;
    browser.shows("h1", "Upgrade orders-cache?", TIMEOUT).await;
    visit.check("confirm").await;
    browser.click("button[type=submit]").await;
    browser
        .shows(".notice", "The upgrade has begun.", TIMEOUT)
        .await;
    // It arrives without a reload: the notice would be gone.
    browser
        .shows("#operation", "Updating instance", TIMEOUT)
        .await;
    browser
        .shows(".notice", "The upgrade has begun.", TIMEOUT)
        .await;
    task_is_held(&foundation, "create deployment").await;
    visit.check("in-progress").await;
    visit.open("/ui/rollouts").await;
    browser.shows("h3", "This wave", TIMEOUT).await;
    visit.check("wave").await;
    visit.open(&format!("/ui/instances/{instance}")).await;
    browser.click("#cancel").await;
    browser.shows("h1", "Cancel the operation", TIMEOUT).await;
    browser.click("button[type=submit]").await;
    browser
        .shows(".notice", "ends as soon as possible", TIMEOUT)
        .await;
    foundation.control().clear_faults().await;
    browser
        .shows("#operation .headline", "failed", TIMEOUT)
        .await;

    visit
        .open(&format!("/ui/instances/{instance}/delete"))
        .await;
    browser.shows("h1", "Delete orders-cache?", TIMEOUT).await;
    visit.check("delete").await;
    browser.enter("#name", "other").await;
    browser.click("button[type=submit]").await;
    browser
        .shows("#wrong-name", "Nothing was deleted", TIMEOUT)
        .await;
    visit.check("wrong-name").await;
    for (path, heading) in [
        ("/ui/rollouts", "Rollouts"),
        ("/ui/quotas", "Quotas"),
        ("/ui/health", "Health"),
        ("/ui/audit", "Recent changes"),
        ("/ui?q=nosuch", "Service instances"),
        ("/ui/nosuch", "Error 404"),
    ] {
        visit.open(path).await;
        browser.shows("h1", heading, TIMEOUT).await;
        let name = heading.to_lowercase().replace(' ', "-");
        visit.check(&name).await;
    }
    let down = Fault::of("cloud-controller", "GET").answers(500);
    let down = foundation.control().set(down.times(10_000)).await;
    visit.open("/ui/quotas").await;
    browser.shows(".problem", "ODB-4002", TIMEOUT).await;
    visit.check("problem").await;
    foundation.control().clear_fault(down.id).await;
    let window = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    browser
        .command("Emulation.setDeviceMetricsOverride", &window)
        .await;
    for (path, name) in [("/ui", "instances"), ("/ui/rollouts", "rollouts")] {
        visit.open(path).await;
        visit.check(&format!("narrow-{name}")).await;
        let width = browser
            .run("return document.documentElement.scrollWidth")
            .await;
        assert_eq!(width, 390, "nothing is beside the screen");
    }
    // Otherwise the answers would be delayed.
    let metrics = broker.metrics().await.text;
    assert!(
        metrics.contains("odb_http_failed_authentications_total 0\n"),
        "{metrics}"
    );
    visit.browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and axe-core, which scripts/test installs"]
async fn everything_can_be_read_without_javascript_and_done_with_the_keyboard() {
    let foundation = Foundation::setup().start().await;
    let broker = foundation.broker().with_page(everything()).start().await;
    let instance = new_id();
    hold(&foundation, "Updating instance").await;
    let token = broker.platform().order(&instance).await;
    task_is_held(&foundation, "create deployment").await;
    let visit = Visit::begin(&foundation, &broker).await;
    let browser = &visit.browser;

    let off = json!({ "value": true });
    browser
        .command("Emulation.setScriptExecutionDisabled", &off)
        .await;
    visit.open(&format!("/ui/instances/{instance}")).await;
    browser.shows("#operation", "in progress", TIMEOUT).await;
    foundation.control().clear_task_faults().await;
    broker.platform().succeeds(&instance, &token).await;
    // The page reloads itself.
    browser.shows("#operation", "succeeded", TIMEOUT).await;
    visit
        .open(&format!("/ui/instances/{instance}/upgrade"))
        .await;
    browser.click("button[type=submit]").await;
    browser
        .shows(".notice", "The upgrade has begun.", TIMEOUT)
        .await;
    assert!(browser.address().await.contains("notice="));
    let on = json!({ "value": false });
    browser
        .command("Emulation.setScriptExecutionDisabled", &on)
        .await;
    eventually("it has ended", TIMEOUT, async || {
        let operator = operator(&foundation, &broker);
        let text = operator
            .manage(&format!("/ui/instances/{instance}"))
            .await
            .text;
        (!text.contains("in progress")).then_some(()).ok_or(text)
    })
    .await;

    visit.open("/ui").await;
    browser.press(BrowserKey::Tab).await;
    let first = browser
        .run("return document.activeElement.textContent")
        .await;
    assert_eq!(first, "Skip to content");
    browser.press(BrowserKey::Enter).await;
    let focused = browser.run("return document.activeElement.id").await;
    assert_eq!(focused, "main");
    visit.open("/ui").await;
    visit.tab_to("Health").await;
    browser.press(BrowserKey::Enter).await;
    browser.shows("h1", "Health", TIMEOUT).await;
    visit.open(&format!("/ui/instances/{instance}")).await;
    visit.tab_to("Delete").await;
    browser.press(BrowserKey::Enter).await;
    browser.shows("h1", "Delete", TIMEOUT).await;
    visit.tab_to("Back").await;
    browser.press(BrowserKey::Enter).await;
    browser.shows("h2", "Instance", TIMEOUT).await;
    visit.browser.close().await;
}
