//! Each upstream is broken in turn: only the right one is reported, with a remedy.

use std::fmt::Write as _;

use odb_stories::{Foundation, StandIn, client_definition};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

use super::{Ran, everything, examined};

const DIRECTOR_CLIENT: &str = "/bosh/authentication/uaa/client_credentials";
const PLATFORM_CLIENT: &str = "/cf/uaa/authentication/client_credentials";
const CREDHUB_CLIENT: &str = "/bosh_credhub/authentication/uaa/client_credentials";
/// No server listens there.
const UNREACHABLE: &str = "https://127.0.0.1:9";

/// A broken configuration, and the expected finding.
struct Case {
    what: &'static str,
    faults: Vec<Value>,
    changes: Vec<(&'static str, Value)>,
    /// Upstream, probe and code of each finding.
    blamed: Vec<(&'static str, &'static str, &'static str)>,
    /// Texts that the findings must contain.
    reported: Vec<String>,
    /// Whether the broker cannot work so.
    status: i32,
}

impl Case {
    fn of(what: &'static str) -> Self {
        Self {
            what,
            faults: Vec::new(),
            changes: Vec::new(),
            blamed: Vec::new(),
            reported: Vec::new(),
            status: 1,
        }
    }

    fn fault(self, server: &str, effect: Value) -> Self {
        self.error_at(server, "/**", effect)
    }

    fn error_at(mut self, server: &str, path: &str, effect: Value) -> Self {
        let mut fault = json!({ "server": server });
        // Certificates are chosen before there is a request.
        if effect["kind"] != "certificate" {
            fault["requests"] = json!({ "path": path });
        }
        fault["effect"] = effect;
        self.faults.push(fault);
        self
    }

    fn with(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.changes.push((pointer, value.into()));
        self
    }

    fn blames(mut self, upstream: &'static str, probe: &'static str, code: &'static str) -> Self {
        self.blamed.push((upstream, probe, code));
        self
    }

    fn reports(mut self, texts: &[&str]) -> Self {
        self.reported
            .extend(texts.iter().map(|text| (*text).to_owned()));
        self
    }

    fn warns(mut self) -> Self {
        self.status = 0;
        self
    }

    async fn run(&self, foundation: &Foundation) -> Ran {
        let control = foundation.control();
        for fault in &self.faults {
            control.set_fault(fault).await;
        }
        let mut configuration = everything(foundation);
        for (pointer, value) in &self.changes {
            configuration = configuration.with(pointer, value.clone());
        }
        let ran = examined(configuration).await;
        control.clear_faults().await;
        ran
    }

    /// The errors of a report, if there are any.
    fn errors(&self, ran: &Ran) -> String {
        let mut errors = String::new();
        let mut blamed: Vec<_> = self
            .blamed
            .iter()
            .map(|(upstream, probe, code)| {
                (
                    (*upstream).to_owned(),
                    (*probe).to_owned(),
                    (*code).to_owned(),
                )
            })
            .collect();
        blamed.sort();
        let found = ran.blamed();
        if found != blamed {
            let _ = writeln!(
                errors,
                "{}: blamed are {found:?}, not {blamed:?}",
                self.what
            );
        }
        if ran.status != self.status {
            let _ = writeln!(errors, "{}: status {}", self.what, ran.status);
        }
        let report = ran.report();
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let said: Vec<&str> = findings
            .iter()
            .flat_map(|finding| ["tried", "came", "remedy"].map(|part| &finding[part]))
            .filter_map(Value::as_str)
            .collect();
        let said = said.join("\n");
        for reported in &self.reported {
            if !said.contains(reported) {
                let _ = writeln!(
                    errors,
                    "{}: `{reported}` is not reported: {said}",
                    self.what
                );
            }
        }
        for finding in &findings {
            for part in ["tried", "came", "remedy"] {
                if finding[part].as_str().is_none_or(str::is_empty) {
                    let _ = writeln!(errors, "{}: no `{part}`: {finding}", self.what);
                }
            }
        }
        errors
    }
}

fn certificate(flaw: &str) -> Value {
    json!({ "kind": "certificate", "flaw": flaw })
}

fn hold() -> Value {
    json!({ "kind": "hold" })
}

fn answer(status: u16, body: &Value) -> Value {
    let headers = json!({ "Content-Type": "application/json" });
    json!({ "kind": "answer", "status": status, "headers": headers, "body": body.to_string() })
}

/// The answer of a server with another clock.
fn answer_at(body: &Value, date: &str) -> Value {
    let mut answer = answer(200, body);
    answer["headers"]["Date"] = date.into();
    answer
}

fn client(id: &str, secret: &str) -> Value {
    json!({ "client_id": id, "client_secret": secret })
}

/// The certificate of an authority that has signed no server here.
fn another_authority() -> String {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters
        .distinguished_name
        .push(DnType::CommonName, "another owner");
    let key = KeyPair::generate().unwrap();
    parameters.self_signed(&key).unwrap().pem()
}

async fn run_all(foundation: &Foundation, cases: Vec<Case>) {
    let secrets = foundation.secrets().await;
    let mut errors = String::new();
    for case in cases {
        let ran = case.run(foundation).await;
        errors += &case.errors(&ran);
        secrets.expect_none_in(case.what, &ran.output);
        assert!(!ran.output.contains("not-the-secret"), "{}", ran.output);
    }
    assert!(errors.is_empty(), "{errors}");
}

#[tokio::test]
async fn an_upstream_that_cannot_be_called_is_named_with_the_key_to_look_at() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let silent = StandIn::silent().await;
    let silent_tls = format!("https://127.0.0.1:{}", silent.port());
    let hello = StandIn::answering(200, "hello").await;
    let cases = vec![
        Case::of("Director down")
            .with("/bosh/url", UNREACHABLE)
            .blames("director", "connection", "ODB-1101")
            .reports(&["127.0.0.1:9", "`bosh.url`", "refused"]),
        Case::of("Director's name unknown")
            .with("/bosh/url", "https://director.invalid:25555")
            .blames("director", "name", "ODB-1101")
            .reports(&["`director.invalid`", "`bosh.url`", "name servers"]),
        Case::of("no TLS where the Director should be")
            .with("/bosh/url", hello.url())
            .blames("director", "certificate", "ODB-1101")
            .reports(&["TLS handshake", "`bosh.url`"]),
        Case::of("a port that accepts connections and sends nothing")
            .with("/bosh/url", silent_tls)
            .blames("director", "certificate", "ODB-1101")
            .reports(&["no TLS handshake came about within 1s"]),
        Case::of("Director hangs")
            .fault("director", hold())
            .blames("director", "answer", "ODB-1101")
            .reports(&["`GET /info`", "takes connections and does not answer"]),
        Case::of("Director's UAA hangs")
            .fault("bosh-uaa", hold())
            .blames("director-uaa", "answer", "ODB-1101")
            .reports(&["`GET /info`"]),
        Case::of("no Director at all")
            .with(
                "/bosh/url",
                foundation.description().cloud_controller.url.as_str(),
            )
            .blames("director", "answer", "ODB-1101")
            .reports(&["see whether a Director is there", "`bosh.url`"]),
        Case::of("Director ill")
            .fault("director", json!({ "kind": "answer", "status": 500 }))
            .blames("director", "answer", "ODB-1101")
            .reports(&["status 500", "log of the Director"]),
        Case::of("Cloud Controller down")
            .with("/cf/url", UNREACHABLE)
            .blames("cloud-controller", "connection", "ODB-1103")
            .reports(&["`cf.url`"]),
        Case::of("Cloud Controller hangs")
            .fault("cloud-controller", hold())
            .blames("cloud-controller", "answer", "ODB-1103"),
        Case::of("its UAA down")
            .with("/cf/uaa/url", UNREACHABLE)
            .blames("cloud-controller-uaa", "connection", "ODB-1103")
            .reports(&["`cf.uaa.url`"]),
        Case::of("Director's CredHub down")
            .with("/bosh_credhub/url", UNREACHABLE)
            .blames("director-credhub", "connection", "ODB-1117")
            .reports(&["`bosh_credhub.url`"]),
        Case::of("Director's CredHub hangs")
            .fault("credhub", hold())
            .blames("director-credhub", "answer", "ODB-1117"),
        Case::of("runtime CredHub down")
            .with("/credhub/api_url", UNREACHABLE)
            .blames("runtime-credhub", "connection", "ODB-1120")
            .reports(&["`credhub.api_url`"]),
        Case::of("two at once")
            .with("/bosh/url", UNREACHABLE)
            .with("/cf/url", UNREACHABLE)
            .blames("director", "connection", "ODB-1101")
            .blames("cloud-controller", "connection", "ODB-1103"),
    ];
    run_all(&foundation, cases).await;
}

#[tokio::test]
async fn a_certificate_is_reported_with_what_is_wrong_with_it_and_the_key_of_its_authority() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let other = another_authority();
    let mut cases = vec![
        Case::of("another authority for the Director")
            .with("/bosh/root_ca_cert", other.clone())
            .blames("director", "certificate", "ODB-1101")
            .reports(&["`CN=another owner`", "`bosh.root_ca_cert`", "issued by"]),
        Case::of("no authority for the Cloud Controller")
            .with("/cf/root_ca_cert", Value::Null)
            .blames("cloud-controller", "certificate", "ODB-1103")
            .blames("cloud-controller-uaa", "certificate", "ODB-1103")
            .reports(&["the operating system's authorities", "by `cf.root_ca_cert`"]),
        Case::of("no verification")
            .with("/cf/disable_ssl_cert_verification", true)
            .blames("cloud-controller", "certificate", "ODB-1115")
            .blames("cloud-controller-uaa", "certificate", "ODB-1115")
            .reports(&["it is not verified", "with `cf.root_ca_cert`"])
            .warns(),
    ];
    for (flaw, reported) in [
        (
            "expired",
            &["expired on", "renew the server's certificate"][..],
        ),
        ("other-host", &["the certificate is for", "not for `127."]),
        (
            "unknown-authority",
            &["has an authority of that name, and it is another one"],
        ),
    ] {
        for (server, upstream, code) in [
            ("director", "director", "ODB-1101"),
            ("bosh-uaa", "director-uaa", "ODB-1101"),
            ("credhub", "director-credhub", "ODB-1117"),
            ("cloud-controller", "cloud-controller", "ODB-1103"),
            ("cf-uaa", "cloud-controller-uaa", "ODB-1103"),
            ("runtime-credhub", "runtime-credhub", "ODB-1120"),
        ] {
            let case = Case::of(flaw)
                .fault(server, certificate(flaw))
                .blames(upstream, "certificate", code)
                .reports(reported);
            cases.push(case);
        }
    }
    run_all(&foundation, cases).await;
}

#[tokio::test]
async fn rejected_credentials_are_reported_with_the_uaa_that_was_called() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let at = |url: &str| {
        format!(
            "`{}`",
            url.trim_start_matches("https://").trim_end_matches('/')
        )
    };
    let director_uaa = at(&foundation.description().director.uaa_url);
    let platform_uaa = at(&foundation.description().cloud_controller.uaa_url);
    let cases = vec![
        Case::of("wrong client of the Director's UAA")
            .with(DIRECTOR_CLIENT, client("nobody", "not-the-secret"))
            .blames("director-uaa", "credentials", "ODB-1102")
            .reports(&["`nobody`", &director_uaa, "uaac client get nobody"]),
        Case::of("wrong secret at the Director's UAA")
            .with(DIRECTOR_CLIENT, client("odb", "not-the-secret"))
            .blames("director-uaa", "credentials", "ODB-1102")
            .reports(&["client `odb`", "`bosh.authentication.uaa.client_credentials`"]),
        Case::of("basic credentials at a Director with a UAA")
            .with("/bosh/authentication", json!({ "basic": { "username": "a", "password": "not-the-secret" } }))
            .blames("director", "answer", "ODB-1102")
            .reports(&["`bosh.authentication.uaa.client_credentials`"]),
        Case::of("wrong secret at the Cloud Controller's UAA")
            .with(PLATFORM_CLIENT, client("odb", "not-the-secret"))
            .blames("cloud-controller-uaa", "credentials", "ODB-1110")
            .reports(&[&platform_uaa, "`cf.uaa.authentication.client_credentials`"]),
        Case::of("wrong user of the platform")
            .with("/cf/uaa/client_definition", Value::Null)
            .with("/cf/uaa/authentication", json!({ "user_credentials": { "username": "nobody", "password": "not-the-secret" } }))
            .blames("cloud-controller-uaa", "credentials", "ODB-1110")
            .reports(&["user `nobody`", "`cf.uaa.authentication.user_credentials`"]),
        Case::of("wrong secret for the Director's CredHub")
            .with(CREDHUB_CLIENT, client("odb-credhub", "not-the-secret"))
            .blames("director-credhub", "credentials", "ODB-1118")
            .reports(&[&director_uaa, "`bosh_credhub.authentication.uaa.client_credentials`"]),
        Case::of("wrong secret for the runtime CredHub")
            .with("/credhub/client_secret", "not-the-secret")
            .blames("runtime-credhub", "credentials", "ODB-1121")
            .reports(&[&platform_uaa, "`credhub.client_secret`"]),
        Case::of("Director's UAA in the place of the platform's")
            .with("/cf/uaa/url", foundation.description().director.uaa_url.as_str())
            .blames("cloud-controller-uaa", "credentials", "ODB-1110")
            .blames("cloud-controller-uaa", "foundation", "ODB-1123")
            .reports(&["is the Director's", "by `cf.uaa.url`"]),
        Case::of("CredHub of applications in the place of the Director's")
            .with("/bosh_credhub/url", foundation.description().cloud_controller.credhub.url.as_str())
            .blames("director-credhub", "credentials", "ODB-1118")
            .blames("director-credhub", "foundation", "ODB-1123")
            .reports(&["it is the CredHub of applications", "`bosh_credhub.url`"]),
        Case::of("Director's CredHub in the place of that of applications")
            .with("/credhub/api_url", foundation.description().director.credhub.url.as_str())
            .blames("runtime-credhub", "credentials", "ODB-1121")
            .blames("runtime-credhub", "foundation", "ODB-1123")
            .reports(&["applications do not read from it", "`credhub.api_url`"]),
    ];
    run_all(&foundation, cases).await;
}

#[tokio::test]
async fn what_is_too_old_or_of_another_time_or_not_fit_is_reported() {
    let setup = Foundation::bare().with_director_admin();
    let (foundation, broker) = setup.start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    cf.run(&["create-service", "redis", "small", "cache", "--wait"])
        .await
        .succeeded();
    let info = foundation.director().info().await;
    let with = |key: &str, value: Value| {
        let mut info = info.clone();
        info[key] = value;
        info
    };
    let mut without_credhub = info.clone();
    without_credhub["features"]["config_server"]["status"] = false.into();
    let old_api =
        json!({ "links": { "cloud_controller_v3": { "meta": { "version": "3.94.0" } } } });
    let script = foundation.folder().join("script");
    std::fs::write(&script, "#!/nowhere/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let failing = foundation
        .adapters()
        .script("echo 'no plans here' >&2; exit 1");
    let garbage = foundation.folder().join("garbage.pem");
    std::fs::write(&garbage, "this is no certificate").unwrap();
    let cases = vec![
        Case::of("Director too old")
            .error_at("director", "/info", answer(200, &with("version", "260.5.0 (00000000)".into())))
            .blames("director", "version", "ODB-1111")
            .reports(&["260.5.0", "261", "lifecycle errands"]),
        Case::of("Director without a CredHub")
            .error_at("director", "/info", answer(200, &without_credhub))
            .blames("director", "features", "ODB-1125")
            .reports(&["`features.config_server`", "`broker.enable_secure_manifests`"]),
        Case::of("Cloud Controller too old")
            .error_at("cloud-controller", "/", answer(200, &old_api))
            .blames("cloud-controller", "version", "ODB-1104")
            .reports(&["3.94.0", "3.95"]),
        Case::of("Director's clock")
            .error_at("director", "/info", answer_at(&info, "Thu, 01 Jan 2026 00:00:00 GMT"))
            .blames("director", "clock", "ODB-1122")
            .reports(&["s behind this machine", "set the clock of the Director"])
            .warns(),
        Case::of("an adapter whose interpreter is missing")
            .with("/service_adapter/path", script.display().to_string())
            .blames("service-adapter", "executable", "ODB-3001")
            .reports(&["`/nowhere/interpreter`"]),
        Case::of("an adapter that fails")
            .with("/service_adapter/path", failing.display().to_string())
            .blames("service-adapter", "schemas", "ODB-1109")
            .blames("service-adapter", "schemas", "ODB-1109")
            .reports(&["`small`", "`large`", "`odb-adapter check`"]),
        Case::of("a certificate of our own that is none")
            .with("/broker/tls/cert_file", garbage.display().to_string())
            .blames("own-certificate", "certificate", "ODB-1106")
            .reports(&["garbage.pem", "`broker.tls`"]),
        Case::of("a Cloud Controller that does not take the token")
            .error_at(
                "cloud-controller",
                "/v3/**",
                answer(401, &json!({ "errors": [{ "code": 1000, "title": "CF-InvalidAuthToken", "detail": "Invalid Auth Token" }] })),
            )
            .blames("cloud-controller", "plans", "ODB-1110")
            .reports(&["does not take the tokens of `cf.uaa.url`"]),
        Case::of("a plan in use that is gone")
            .with("/service_catalog/plans/0/plan_id", "another-plan")
            .blames("cloud-controller", "plans", "ODB-1105")
            .reports(&["1 service instances"]),
    ];
    run_all(&foundation, cases).await;
}

#[tokio::test]
async fn when_all_upstreams_agree_on_another_time_it_is_this_machines_clock() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let control = foundation.control();
    let date = "Thu, 01 Jan 2026 00:00:00 GMT";
    let director = foundation.director().info().await;
    let api = json!({ "links": { "cloud_controller_v3": { "meta": { "version": "3.200.0" } } } });
    for (server, path, body) in [
        ("director", "/info", director),
        ("bosh-uaa", "/info", json!({ "app": { "version": "77" } })),
        ("cf-uaa", "/info", json!({ "app": { "version": "77" } })),
        ("cloud-controller", "/", api),
    ] {
        let fault = json!({ "server": server, "requests": { "path": path }, "effect": answer_at(&body, date) });
        control.set_fault(&fault).await;
    }

    let ran = examined(
        foundation
            .broker()
            .with_client_definition(client_definition()),
    )
    .await;

    let own = ("this-machine", "clock", "ODB-1122");
    let own = (own.0.to_owned(), own.1.to_owned(), own.2.to_owned());
    assert_eq!(ran.blamed(), [own], "{}", ran.output);
    assert_eq!(ran.status, 0);
    assert!(
        ran.output.contains("set the clock of this machine"),
        "{}",
        ran.output
    );
}

#[tokio::test]
async fn a_service_instances_api_that_does_not_know_us_is_reported() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let api = StandIn::answering(401, r#"{"description":"who are you?"}"#).await;
    let with = |url: &str| foundation.broker().with_instances_api(url).without_quotas();

    let ran = examined(with(api.url())).await;
    assert_eq!(ran.status, 1, "{}", ran.output);
    let of_api = |probe: &str| {
        (
            "service-instances-api".to_owned(),
            probe.to_owned(),
            "ODB-4005".to_owned(),
        )
    };
    assert_eq!(ran.blamed(), [of_api("list")]);
    assert!(
        ran.output
            .contains("`service_instances_api.authentication.basic`"),
        "{}",
        ran.output
    );

    let ran = examined(with("http://127.0.0.1:9")).await;
    assert_eq!(ran.blamed(), [of_api("connection")]);
    assert!(
        ran.output.contains("`service_instances_api.url`"),
        "{}",
        ran.output
    );
}
