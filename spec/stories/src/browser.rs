//! A real browser: Chromium without a display, driven over `WebDriver` (<https://www.w3.org/TR/webdriver2/>).

use std::{process::Command, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{Foundation, Process, eventually};

const START_LIMIT: Duration = Duration::from_mins(1);

/// The member of an element's reference, by the specification.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

const READY: &str = "was started successfully on port ";

/// One window. What fails ends the test.
#[derive(Debug)]
pub struct Browser {
    http: reqwest::Client,
    session: String,
    _driver: Process,
}

/// The keys of `WebDriver` that have no character.
#[derive(Clone, Copy, Debug)]
pub enum BrowserKey {
    Tab,
    Enter,
}

impl BrowserKey {
    fn value(self) -> &'static str {
        match self {
            Self::Tab => "\u{e004}",
            Self::Enter => "\u{e007}",
        }
    }
}

impl Browser {
    /// Starts one that keeps its files in the foundation's folder and accepts the certificates of the sandbox.
    pub async fn start(foundation: &Foundation) -> Self {
        let folder = foundation.folder();
        let mut command = Command::new("chromedriver");
        command
            .arg("--port=0")
            .env("TMPDIR", folder)
            .env("HOME", folder);
        let mut driver = Process::start("chromedriver", &mut command, folder);
        let port = eventually("the driver is ready", START_LIMIT, async || {
            assert!(driver.is_running(), "the driver has ended");
            let output = driver.output();
            let port = output.split_once(READY).and_then(|(_, rest)| {
                let (port, _) = rest.split_once('.')?;
                port.parse::<u16>().ok()
            });
            port.ok_or(output)
        })
        .await;
        let mut browser = Self {
            http: foundation.http().clone(),
            session: format!("http://127.0.0.1:{port}/session"),
            _driver: driver,
        };
        let options = json!({
            "args": [
                "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                "--hide-scrollbars", "--window-size=1280,900", "--remote-debugging-pipe",
            ],
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome", "acceptInsecureCerts": true, "goog:chromeOptions": options,
        } } });
        let begun = browser.ask(Method::POST, "", Some(&wanted)).await;
        let id = begun["sessionId"].as_str().expect("a session has an id");
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    /// Ends it. The driver removes its files.
    pub async fn close(self) {
        self.ask(Method::DELETE, "", None).await;
    }

    pub async fn open(&self, url: &str) {
        self.ask(Method::POST, "/url", Some(&json!({ "url": url })))
            .await;
    }

    pub async fn address(&self) -> String {
        let address = self.ask(Method::GET, "/url", None).await;
        address.as_str().unwrap_or_default().to_owned()
    }

    /// The text that is visible at a selector, if there is such an element.
    pub async fn text_at(&self, selector: &str) -> Option<String> {
        let element = self.element(selector).await?;
        let path = format!("/element/{element}/text");
        // It may have been replaced since.
        let text = self.try_to(Method::GET, &path, None).await.ok()?;
        text.as_str().map(str::to_owned)
    }

    /// Waits until the text at a selector satisfies a condition.
    pub async fn shows(&self, selector: &str, what: &str, within: Duration) -> String {
        eventually(
            &format!("`{selector}` shows `{what}`"),
            within,
            async || {
                let text = self.text_at(selector).await.ok_or("no such element")?;
                if text.contains(what) {
                    Ok(text)
                } else {
                    Err(text)
                }
            },
        )
        .await
    }

    pub async fn click(&self, selector: &str) {
        let element = self.required(selector).await;
        let path = format!("/element/{element}/click");
        self.ask(Method::POST, &path, Some(&json!({}))).await;
    }

    pub async fn enter(&self, selector: &str, text: &str) {
        let element = self.required(selector).await;
        let path = format!("/element/{element}/value");
        self.ask(Method::POST, &path, Some(&json!({ "text": text })))
            .await;
    }

    /// Presses a key wherever the focus is.
    pub async fn press(&self, key: BrowserKey) {
        let key = key.value();
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": [
            { "type": "keyDown", "value": key }, { "type": "keyUp", "value": key },
        ] }] });
        self.ask(Method::POST, "/actions", Some(&actions)).await;
    }

    /// Runs a script in the page, which returns a value.
    pub async fn run(&self, script: &str) -> Value {
        let order = json!({ "script": script, "args": [] });
        self.ask(Method::POST, "/execute/sync", Some(&order)).await
    }

    /// Runs a script whose last argument takes the value.
    pub async fn run_to_the_end(&self, script: &str) -> Value {
        let order = json!({ "script": script, "args": [] });
        self.ask(Method::POST, "/execute/async", Some(&order)).await
    }

    /// A command of the `DevTools` protocol.
    pub async fn command(&self, command: &str, parameters: &Value) -> Value {
        let order = json!({ "cmd": command, "params": parameters });
        self.ask(Method::POST, "/goog/cdp/execute", Some(&order))
            .await
    }

    pub async fn prefers(&self, color_scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": color_scheme });
        let media = json!({ "features": [feature] });
        self.command("Emulation.setEmulatedMedia", &media).await;
    }

    /// A PNG of the complete page.
    pub async fn screenshot(&self) -> Vec<u8> {
        let whole = json!({ "captureBeyondViewport": true });
        let shot = self.command("Page.captureScreenshot", &whole).await;
        let data = shot["data"].as_str().expect("a screenshot has data");
        BASE64_STANDARD.decode(data).expect("the data is Base64")
    }

    async fn required(&self, selector: &str) -> String {
        let found = self.element(selector).await;
        match found {
            Some(element) => element,
            None => panic!("there is no `{selector}` on {}", self.address().await),
        }
    }

    async fn element(&self, selector: &str) -> Option<String> {
        let order = json!({ "using": "css selector", "value": selector });
        let found = self.try_to(Method::POST, "/element", Some(&order)).await;
        found.ok()?[ELEMENT].as_str().map(str::to_owned)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = self.try_to(method.clone(), path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    async fn try_to(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let mut request = self.http.request(method, format!("{}{path}", self.session));
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let answer = request.send().await.expect("the driver answers");
        let is_fine = answer.status().is_success();
        let text = answer
            .text()
            .await
            .expect("the driver's answer is complete");
        let mut answer: Value = serde_json::from_str(&text).map_err(|_| text)?;
        let value = answer["value"].take();
        if is_fine {
            Ok(value)
        } else {
            Err(value["message"].to_string())
        }
    }
}
