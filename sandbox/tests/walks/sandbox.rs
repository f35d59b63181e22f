//! A sandbox as its user runs it, with the requests of an operator.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use reqwest::{Certificate, Client, Method, StatusCode, redirect::Policy};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

const TIMEOUT: Duration = Duration::from_mins(1);
const UNFINISHED: &str = "/tasks?state=queued,processing,cancelling&verbose=2";

/// A running sandbox with a folder for its state.
pub(crate) struct Sandbox {
    child: Child,
    connection: Connection,
    folder: TempDir,
}

struct Connection {
    http: Client,
    control: String,
    director: String,
    token: String,
}

impl Sandbox {
    /// A sandbox with nothing deployed.
    pub(crate) async fn start() -> Self {
        // Every test of this process may be the first.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        fs::write(folder.path().join("foundation.yml"), settings()).unwrap();
        let (child, connection) = up(folder.path()).await;
        Self {
            child,
            connection,
            folder,
        }
    }

    /// Stops it in good order and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.end(Signal::TERM).await;
        (self.child, self.connection) = up(self.folder.path()).await;
    }

    /// Kills it and starts it again.
    pub(crate) async fn crash(&mut self) {
        self.end(Signal::KILL).await;
        (self.child, self.connection) = up(self.folder.path()).await;
    }

    /// Stops it in good order.
    pub(crate) async fn stop(mut self) {
        self.end(Signal::TERM).await;
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let body = self.call(Method::GET, path, None, String::new()).await;
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }

    pub(crate) async fn post(&self, path: &str, kind: &str, body: String) {
        self.call(Method::POST, path, Some(kind), body).await;
    }

    pub(crate) async fn put(&self, path: &str, kind: &str) {
        self.call(Method::PUT, path, Some(kind), String::new())
            .await;
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.call(Method::DELETE, path, None, String::new()).await;
    }

    /// Asks something of the sandbox itself, which has to do it unless what it is about is gone.
    pub(crate) async fn control(&self, method: Method, path: &str, body: Option<Value>) {
        self.connection.control(method, path, body).await;
    }

    pub(crate) async fn all_tasks(&self) -> Vec<Value> {
        array(self.get("/tasks?verbose=2&limit=1000").await)
    }

    pub(crate) async fn unfinished_tasks(&self) -> Vec<Value> {
        array(self.get(UNFINISHED).await)
    }

    /// The cids of the VMs of all deployments.
    pub(crate) async fn vms(&self) -> BTreeSet<String> {
        let mut cids = BTreeSet::new();
        for deployment in array(self.get("/deployments?exclude_lock=true").await) {
            let path = format!("/deployments/{}/vms", deployment["name"].as_str().unwrap());
            // A deployment that was deleted in between has none.
            let vms = self.get(&path).await;
            let vms = vms.as_array().into_iter().flatten();
            cids.extend(vms.filter_map(|vm| vm["cid"].as_str().map(str::to_owned)));
        }
        cids
    }

    /// The cids of the VMs that have a folder.
    pub(crate) fn vm_folders(&self) -> BTreeSet<String> {
        let Ok(folders) = fs::read_dir(self.vms_folder()) else {
            return BTreeSet::new();
        };
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        names.collect()
    }

    /// The processes of VMs: pid ⇒ cid of the VM.
    pub(crate) fn processes(&self) -> BTreeMap<i32, String> {
        let vms = self.vms_folder();
        let mut found = BTreeMap::new();
        for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let pid = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            // Processes come and go; one that cannot be read is gone.
            let Some((pid, folder)) = pid.zip(fs::read_link(entry.path().join("cwd")).ok()) else {
                continue;
            };
            let below = folder.strip_prefix(&vms).ok();
            let vm = below.and_then(|path| path.components().next());
            if let Some(vm) = vm {
                let vm = vm.as_os_str().to_string_lossy();
                found.insert(pid, vm.trim_end_matches(" (deleted)").to_owned());
            }
        }
        found
    }

    /// Waits until a task has ended, and returns its state.
    pub(crate) async fn ended(&self, task: u64) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.get(&format!("/tasks/{task}")).await;
            let state = seen["state"].as_str().unwrap();
            if !["queued", "processing", "cancelling"].contains(&state) {
                return state.to_owned();
            }
            assert!(Instant::now() < deadline, "the task does not end: {seen}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The seconds of a task's first and last step, if it has any.
    pub(crate) async fn working_time(&self, task: u64) -> Option<(i64, i64)> {
        let path = format!("/tasks/{task}/output?type=event");
        let events = self.call(Method::GET, &path, None, String::new()).await;
        let times = events.lines().filter_map(|line| {
            let event: Value = serde_json::from_str(line).ok()?;
            event.get("stage")?;
            event["time"].as_i64()
        });
        let times: Vec<i64> = times.collect();
        Some((*times.first()?, *times.last()?))
    }

    /// Waits until every task has ended.
    pub(crate) async fn settle(&self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let unfinished = self.unfinished_tasks().await;
            if unfinished.is_empty() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "tasks do not end: {unfinished:?}"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Deletes all deployments, as often as it takes: a dead worker's lock fails the first attempts.
    pub(crate) async fn delete_everything(&self) {
        self.control(Method::DELETE, "/task-faults", None).await;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let deployments = array(self.get("/deployments").await);
            if deployments.is_empty() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "deployments stay: {deployments:?}"
            );
            for deployment in deployments {
                let name = deployment["name"].as_str().unwrap();
                self.delete(&format!("/deployments/{name}?force=true"))
                    .await;
            }
            self.settle().await;
        }
    }

    async fn end(&mut self, signal: Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        timeout(TIMEOUT, self.child.wait()).await.unwrap().unwrap();
    }

    fn vms_folder(&self) -> PathBuf {
        self.folder.path().join("state/vms")
    }

    async fn call(&self, method: Method, path: &str, kind: Option<&str>, body: String) -> String {
        let Connection {
            http,
            director,
            token,
            control: _,
        } = &self.connection;
        let mut request = http
            .request(method, format!("{director}{path}"))
            .bearer_auth(token)
            .body(body);
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body = answer.text().await.unwrap();
        assert!(!status.is_server_error(), "{path}: {status} {body}");
        body
    }
}

async fn up(folder: &Path) -> (Child, Connection) {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/sandbox/jobs");
    let mut child = Command::new(env!("CARGO_BIN_EXE_odb-sandbox"))
        .arg("up")
        .args([
            "--config".as_ref(),
            folder.join("foundation.yml").as_os_str(),
        ])
        .args(["--state".as_ref(), folder.join("state").as_os_str()])
        .args(["--jobs".as_ref(), jobs.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut reported = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = timeout(TIMEOUT, reported.next_line())
        .await
        .unwrap()
        .unwrap();
    let Some(file) = line.as_deref().and_then(|line| line.strip_prefix("ready ")) else {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        panic!("the sandbox is not ready: {log}");
    };
    let description: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let connection = Connection::open(&description).await;
    let timeout = json!({"call": "200ms", "state": "200ms"});
    connection
        .control(Method::PUT, "/behaviour/agents", Some(timeout))
        .await;
    (child, connection)
}

impl Connection {
    async fn control(&self, method: Method, path: &str, body: Option<Value>) {
        let mut request = self.http.request(method, format!("{}{path}", self.control));
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let done = answer.status().is_success() || answer.status() == StatusCode::NOT_FOUND;
        assert!(done, "{path}: {answer:?}");
    }

    async fn open(foundation: &Value) -> Self {
        let authority = fs::read(foundation["ca_certificate"].as_str().unwrap()).unwrap();
        let http = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .tls_certs_only([Certificate::from_pem(&authority).unwrap()])
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let director = &foundation["director"];
        let client = &director["admin_client"];
        let (id, secret) = (&client["id"], &client["secret"]);
        let answer = http
            .post(format!(
                "{}/oauth/token",
                director["uaa_url"].as_str().unwrap()
            ))
            .basic_auth(id.as_str().unwrap(), secret.as_str())
            .header("content-type", "application/x-www-form-urlencoded")
            .body("grant_type=client_credentials")
            .send()
            .await
            .unwrap();
        let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        Self {
            http,
            control: foundation["control"].as_str().unwrap().to_owned(),
            director: director["url"].as_str().unwrap().to_owned(),
            token: answer["access_token"].as_str().unwrap().to_owned(),
        }
    }
}

fn array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        other => panic!("this is not a list: {other}"),
    }
}

/// The foundation that the sandbox is delivered with, but quick.
fn settings() -> String {
    let delivered =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/sandbox/foundation.yml");
    let text = fs::read_to_string(delivered).unwrap();
    let mut settings: Value = odb_adapter_sdk::yaml::from_str(&text).unwrap();
    settings["director"]["durations"] = json!({
        "lock_wait": "200ms",
        "step": "1ms",
        "checkpoint_interval": "50ms",
        "checkpoint_timeout": "300ms",
        "lock_lease": "300ms",
    });
    settings.to_string()
}
