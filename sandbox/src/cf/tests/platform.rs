//! A Cloud Controller and UAA with prepared answers, which record their requests.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use clap::Parser;
use serde_json::{Value, json};
use url::Url;

use super::super::output::Screen;
use super::super::{CfArgs, execute, report};

/// The address that links carry; nothing listens there.
pub(super) const EXTERNAL: &str = "https://api.external.example";

/// The platform of one test.
pub(super) struct Platform {
    folder: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// One request, without the log-in.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `METHOD path?query`, the query decoded.
    pub(super) call: String,
    pub(super) body: Value,
    pub(super) token: String,
}

/// One answer; with a body, or with a `Location`.
#[derive(Clone)]
pub(super) struct Response {
    status: StatusCode,
    location: Option<String>,
    body: Option<Value>,
}

pub(super) fn ok(body: Value) -> Response {
    Response {
        status: StatusCode::OK,
        location: None,
        body: Some(body),
    }
}

pub(super) fn accepted(job: &str) -> Response {
    let location = Some(format!("{EXTERNAL}/v3/jobs/{job}"));
    Response {
        status: StatusCode::ACCEPTED,
        location,
        body: None,
    }
}

pub(super) fn refused(status: u16, code: i64, title: &str, detail: &str) -> Response {
    let body = json!({"errors": [{"code": code, "title": title, "detail": detail}]});
    Response {
        status: StatusCode::from_u16(status).unwrap(),
        location: None,
        body: Some(body),
    }
}

pub(super) fn page(resources: &Value) -> Response {
    ok(
        json!({"pagination": {"total_results": 1, "total_pages": 1, "next": null}, "resources": resources}),
    )
}

pub(super) fn job(operation: &str, state: &str, link: (&str, &str), errors: &Value) -> Response {
    let (kind, path) = link;
    ok(json!({
        "guid": "job", "operation": operation, "state": state, "errors": errors, "warnings": [],
        "links": {"self": {"href": format!("{EXTERNAL}/v3/jobs/job")}, kind: {"href": format!("{EXTERNAL}{path}")}}
    }))
}

/// `METHOD path` and what it answers, one after the other; the last answer stays.
pub(super) type Route = (&'static str, Vec<Response>);

struct Routes(Mutex<HashMap<&'static str, std::collections::VecDeque<Response>>>);

impl Routes {
    fn next(&self, call: &str) -> Option<Response> {
        let mut routes = self.0.lock().unwrap();
        let answers = routes.get_mut(call)?;
        if answers.len() > 1 {
            answers.pop_front()
        } else {
            answers.front().cloned()
        }
    }
}

impl Platform {
    pub(super) fn start(routes: impl IntoIterator<Item = Route>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let routes = web::Data::new(Routes(Mutex::new(
            routes
                .into_iter()
                .map(|(call, answers)| (call, answers.into()))
                .collect(),
        )));
        let record = web::Data::new(Arc::clone(&asked));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(routes.clone())
                .app_data(record.clone())
                .default_service(web::to(answer))
        })
        .workers(1)
        .disable_signals()
        .bind_rustls_0_23(("127.0.0.1", 0), tls(folder.path()))
        .unwrap();
        let url = format!("https://{}", server.addrs()[0]);
        tokio::spawn(server.run());
        let foundation = json!({
            "net": "127.0.0.0", "control": "http://127.0.0.1:1", "ca_certificate": "ca.pem",
            "cloud_controller": {
                "url": url, "uaa_url": url,
                "admin_user": {"name": "admin", "password": "adminsecret"},
                "user": {"name": "developer", "password": "developersecret"},
                "space": {"name": "dev", "guid": "space-1"}
            }
        });
        std::fs::write(
            folder.path().join("foundation.json"),
            foundation.to_string(),
        )
        .unwrap();
        Self { folder, asked }
    }

    /// Runs one command line.
    pub(super) async fn cf<const N: usize>(&self, arguments: [&str; N]) -> Seen {
        let foundation = self.foundation();
        let fixed = ["cf", "--foundation", foundation.to_str().unwrap()];
        let line = CommandLine::parse_from(fixed.into_iter().chain(arguments));
        let (data, stderr) = (Sink::default(), Sink::default());
        let mut screen = Screen::of(data.clone(), stderr.clone());
        let ended = execute(line.cf, &mut screen).await;
        let succeeded = ended.is_ok();
        report(ended, &mut screen).unwrap();
        Seen {
            succeeded,
            data: data.text(),
            stderr: stderr.text(),
        }
    }

    pub(super) fn foundation(&self) -> PathBuf {
        self.folder.path().join("foundation.json")
    }

    /// The requests so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The calls so far, without their bodies.
    pub(super) fn calls(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.call).collect()
    }

    /// The body of the only call that starts like this.
    pub(super) fn body_of(&self, call: &str) -> Value {
        let asked = self.asked();
        let mut with = asked.iter().filter(|asked| asked.call.starts_with(call));
        let body = with
            .next()
            .unwrap_or_else(|| panic!("no {call} in {asked:?}"))
            .body
            .clone();
        assert!(with.next().is_none(), "more than one {call}");
        body
    }

    /// A file that the command can be pointed to.
    pub(super) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    cf: CfArgs,
}

/// The output that the user of a command sees.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) succeeded: bool,
    pub(super) data: String,
    pub(super) stderr: String,
}

impl Seen {
    /// Stderr without the times.
    pub(super) fn steps(&self) -> Vec<&str> {
        let timed = |line: &str| {
            line.trim_start()
                .starts_with(|first: char| first.is_ascii_digit())
        };
        self.stderr
            .lines()
            .map(|line| {
                if timed(line) {
                    line.split_once("s  ").map_or(line, |(_, step)| step)
                } else {
                    line
                }
            })
            .collect()
    }
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn answer(
    request: HttpRequest,
    body: web::Bytes,
    routes: web::Data<Routes>,
    asked: web::Data<Arc<Mutex<Vec<Asked>>>>,
) -> HttpResponse {
    if request.path() == "/oauth/token" {
        return log_in(&body);
    }
    asked.lock().unwrap().push(Asked {
        call: decoded(&request),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        token: request
            .headers()
            .get("authorization")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
    });
    let Some(answer) = routes.next(&format!("{} {}", request.method(), request.path())) else {
        return HttpResponse::NotFound()
            .json(json!({"errors": [{"code": 10000, "title": "CF-NotFound", "detail": "Unknown request"}]}));
    };
    let mut response = HttpResponse::build(answer.status);
    if let Some(location) = answer.location {
        response.insert_header(("Location", location));
    }
    match answer.body {
        Some(body) => response
            .content_type("application/json; charset=utf-8")
            .body(body.to_string()),
        None => response.finish(),
    }
}

/// A token that names the user, for the right password.
fn log_in(form: &[u8]) -> HttpResponse {
    let form: HashMap<_, _> = url::form_urlencoded::parse(form).into_owned().collect();
    if form["grant_type"] != "password" || form["password"] != format!("{}secret", form["username"])
    {
        return HttpResponse::Unauthorized()
            .json(json!({"error": "invalid_client", "error_description": "Bad credentials"}));
    }
    HttpResponse::Ok().json(json!({
        "access_token": format!("token-of-{}", form["username"]), "token_type": "bearer",
        "refresh_token": "r", "expires_in": 599, "scope": "cloud_controller.read", "jti": "0"
    }))
}

fn decoded(request: &HttpRequest) -> String {
    let url = Url::parse(&format!("http://any{}", request.uri())).unwrap();
    let query: Vec<_> = url
        .query_pairs()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!(
        "{} {}{mark}{}",
        request.method(),
        request.path(),
        query.join("&")
    )
}

/// A certificate for 127.0.0.1; what it is to be trusted by goes into the folder.
fn tls(folder: &std::path::Path) -> rustls::ServerConfig {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.join("ca.pem"), made.cert.pem()).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    rustls::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap()
}
