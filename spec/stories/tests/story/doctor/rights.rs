//! The rights in `docs/operators/permissions.md` are sufficient, the doctor notices each missing one, and its remedies
//! grant what is missing and revoke nothing.

use std::{collections::BTreeSet, fmt::Write as _};

use odb_stories::{BrokerConfiguration, Foundation, fences};
use serde_json::{Value, json};

use super::{everything, examined};

const GUIDE: &str = include_str!("../../../../../docs/operators/permissions.md");
const SECRET: &str = "of-the-operators-choice";
/// The team of the guide's client.
const TEAM: &str = "on-demand-broker";
/// The name of the sandbox's Director.
const DIRECTOR: &str = "sandbox-director";
/// A client of the Director's UAA that administers the others.
const ADMINISTRATOR: &str = "uaa-administrator";

/// A UAA of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Director,
    Platform,
}

/// A client that the guide has made.
#[derive(Clone, Debug)]
struct GuidedClient {
    side: Side,
    id: String,
    authorities: Vec<String>,
    /// Its permission in the CredHub of its side: the path and the operations.
    permitted: Option<(String, Vec<String>)>,
    /// The same of the variables of deployments.
    variables: Option<(String, Vec<String>)>,
}

impl GuidedClient {
    fn is_of_credhub(&self) -> bool {
        self.permitted.is_some()
    }

    /// The same one without a right.
    fn without(&self, right: &str) -> Self {
        let mut lacking = self.clone();
        lacking.id = format!("{}-without-{}", self.id, right.replace('.', "-"));
        lacking.authorities.retain(|authority| authority != right);
        if lacking.authorities.is_empty() {
            lacking.authorities.push("uaa.none".to_owned());
        }
        if let Some((_, operations)) = &mut lacking.permitted {
            operations.retain(|operation| operation != right);
        }
        lacking
    }

    fn rights(&self) -> Vec<String> {
        let operations = self.permitted.iter().flat_map(|(_, operations)| operations);
        self.authorities.iter().chain(operations).cloned().collect()
    }

    /// How the doctor names a right: which team it is to be, it cannot know.
    fn named(right: &str) -> String {
        if right.starts_with("bosh.teams.") {
            "`bosh.teams.TEAM.admin`".to_owned()
        } else {
            format!("`{right}`")
        }
    }

    /// A broker that is this client where the guide has it.
    fn used_by<'f>(&self, configuration: BrokerConfiguration<'f>) -> BrokerConfiguration<'f> {
        let credentials = json!({ "client_id": self.id, "client_secret": SECRET });
        match (self.side, self.is_of_credhub()) {
            (Side::Director, false) => {
                configuration.with("/bosh/authentication/uaa/client_credentials", credentials)
            }
            (Side::Director, true) => configuration.with(
                "/bosh_credhub/authentication/uaa/client_credentials",
                credentials,
            ),
            (Side::Platform, false) => {
                configuration.with("/cf/uaa/authentication/client_credentials", credentials)
            }
            (Side::Platform, true) => configuration
                .with("/credhub/client_id", self.id.clone().into())
                .with("/credhub/client_secret", SECRET.into()),
        }
    }

    /// The subject of the finding when a right is missing, and its code.
    fn blamed(&self, right: &str) -> (&'static str, &'static str) {
        match (self.side, self.is_of_credhub()) {
            (Side::Director, false) => ("director", "ODB-1124"),
            (Side::Director, true) => ("director-credhub", "ODB-1118"),
            (Side::Platform, false) if right.starts_with("clients.") => {
                ("cloud-controller-uaa", "ODB-1119")
            }
            (Side::Platform, false) => ("cloud-controller", "ODB-1110"),
            (Side::Platform, true) => ("runtime-credhub", "ODB-1121"),
        }
    }
}

/// The value behind a flag.
fn flag<'w>(words: &[&'w str], name: &str) -> &'w str {
    let at = words.iter().position(|word| *word == name);
    at.and_then(|at| words.get(at + 1))
        .unwrap_or_else(|| panic!("`{name}` is missing: {words:?}"))
        .trim_matches('\'')
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

/// The clients of the guide, in its order.
fn guided() -> Vec<GuidedClient> {
    let service = service_id();
    let second = GUIDE
        .lines()
        .position(|line| line == "## At Cloud Foundry's UAA")
        .unwrap();
    let mut clients: Vec<GuidedClient> = Vec::new();
    for fence in fences(GUIDE) {
        let side = if fence.line < second {
            Side::Director
        } else {
            Side::Platform
        };
        for line in fence.text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match (fence.information.as_str(), words.as_slice()) {
                ("sh uaac", ["uaac", "client", "add", id, ..]) => {
                    assert_eq!(
                        flag(&words, "--authorized_grant_types"),
                        "client_credentials"
                    );
                    clients.push(GuidedClient {
                        side,
                        id: (*id).to_owned(),
                        authorities: list(flag(&words, "--authorities")),
                        permitted: None,
                        variables: None,
                    });
                }
                ("sh credhub", ["credhub", "set-permission", ..]) => {
                    let actor = flag(&words, "-a");
                    let path = flag(&words, "-p").replace("SERVICE-ID", &service);
                    let client = clients.last_mut().expect("its client comes first");
                    assert_eq!(actor, format!("uaa-client:{}", client.id));
                    let operations = list(flag(&words, "-o"));
                    if path.contains("DIRECTOR-NAME") {
                        let path = path.replace("DIRECTOR-NAME", DIRECTOR);
                        client.variables = Some((path, operations));
                    } else {
                        client.permitted = Some((path, operations));
                    }
                }
                _ => panic!("no rule handles `{line}`"),
            }
        }
    }
    assert_eq!(clients.len(), 4, "{clients:?}");
    clients
}

fn service_id() -> String {
    let manifest = include_str!("../../../../../manifests/sandbox/redis-broker.yml");
    let (_, rest) = manifest
        .split_once("service_catalog:\n  id: ")
        .expect("there is a catalog");
    rest.lines().next().expect("it has an id").trim().to_owned()
}

/// A foundation with these clients and no others that could be taken for them.
async fn foundation_of(clients: &[GuidedClient]) -> Foundation {
    let described = |id: &str, authorities: &[String]| json!({ "id": id, "secret": SECRET, "authorities": authorities });
    let of = |side: Side| -> Vec<Value> {
        let clients = clients.iter().filter(|client| client.side == side);
        clients
            .map(|client| described(&client.id, &client.authorities))
            .collect()
    };
    let mut of_director = of(Side::Director);
    of_director.push(described(ADMINISTRATOR, &list("uaa.admin")));
    let permissions = |side: Side| -> Value {
        let clients = clients.iter().filter(|client| client.side == side);
        clients
            .flat_map(|client| {
                let actor = format!("uaa-client:{}", client.id);
                let all = client.permitted.iter().chain(&client.variables);
                all.map(move |(path, operations)| {
                    json!({ "path": path, "actor": actor, "operations": operations })
                })
            })
            .collect()
    };
    Foundation::bare()
        .with_director_admin()
        .with_clients(of_director.into(), of(Side::Platform).into())
        .with_permissions(permissions(Side::Director), permissions(Side::Platform))
        .start()
        .await
}

fn with_all<'f>(foundation: &'f Foundation, clients: &[GuidedClient]) -> BrokerConfiguration<'f> {
    clients
        .iter()
        .fold(everything(foundation), |configuration, client| {
            client.used_by(configuration)
        })
}

/// Does what the remedy of a finding has an administrator do.
async fn follow(foundation: &Foundation, finding: &Value) {
    let remedy = finding["remedy"].as_str().expect("there is one");
    let side = match finding["upstream"].as_str() {
        Some("director" | "director-credhub") => Side::Director,
        _ => Side::Platform,
    };
    let commands = remedy.split('`').map(|part| part.split(' ').collect());
    let commands: Vec<Vec<&str>> = commands
        .filter(|words: &Vec<&str>| ["uaac", "credhub"].contains(&words[0]))
        .collect();
    let [command] = commands.as_slice() else {
        panic!("not one command: {remedy}");
    };
    match command.as_slice() {
        ["uaac", "client", "update", id, "--authorities", authorities] => {
            let authorities = authorities.replace("TEAM", TEAM);
            let authorities: Vec<_> = authorities.split(',').collect();
            let clients = match side {
                Side::Director => foundation.director_uaa_clients(ADMINISTRATOR, SECRET),
                Side::Platform => foundation.uaa_clients(),
            };
            clients.replace_authorities(id, &authorities).await;
        }
        [
            "credhub",
            "set-permission",
            "-p",
            path,
            "-a",
            actor,
            "-o",
            operations,
        ] => {
            let credhub = match side {
                Side::Director => foundation.bosh_credhub(),
                Side::Platform => foundation.runtime_credhub(),
            };
            let operations: Vec<_> = operations.split(',').collect();
            let path = path.trim_matches('\'');
            credhub.replace_permission(path, actor, &operations).await;
        }
        _ => panic!("no rule handles `{command:?}`"),
    }
}

#[tokio::test]
async fn the_clients_of_the_guide_are_enough_and_each_of_their_rights_is_missed() {
    let clients = guided();
    let mut all = clients.clone();
    let mut lacking = Vec::new();
    for client in &clients {
        for right in client.rights() {
            let one = client.without(&right);
            all.push(one.clone());
            lacking.push((one, right));
        }
    }
    let foundation = foundation_of(&all).await;

    let ran = examined(with_all(&foundation, &clients)).await;
    assert_eq!(ran.status, 0, "{}", ran.output);
    assert!(ran.findings().is_empty(), "{}", ran.output);
    let report = ran.report();
    let warnings = report["findings"].as_array().expect("there is a list");
    assert_eq!(warnings.len(), 1, "a team cancels no tasks: {report}");
    let broker = with_all(&foundation, &clients).start().await;
    broker.platform().catalog().await.expect_status(200);

    let mut errors = String::new();
    for (client, right) in lacking {
        let examine = || examined(client.used_by(with_all(&foundation, &clients)));
        let ran = examine().await;
        let blamed: BTreeSet<_> = ran
            .blamed()
            .into_iter()
            .map(|(upstream, probe, code)| format!("{upstream} {probe} {code}"))
            .collect();
        let (upstream, code) = client.blamed(&right);
        let expected = BTreeSet::from([format!("{upstream} rights {code}")]);
        let findings = ran.findings();
        let finding = findings.first().unwrap_or(&Value::Null);
        let came = finding["came"].as_str().unwrap_or_default();
        // A client that may not read permissions sees none, and may have all.
        let (severity, status) = if right == "read_acl" {
            ("warning", 0)
        } else {
            ("error", 1)
        };
        let is_reported = came.contains(&GuidedClient::named(&right));
        if blamed != expected
            || !is_reported
            || finding["severity"] != severity
            || ran.status != status
        {
            let _ = writeln!(
                errors,
                "without `{right}`: status {}, {blamed:?}: {finding}",
                ran.status
            );
            continue;
        }
        follow(&foundation, finding).await;
        let ran = examine().await;
        if ran.status != 0 || !ran.findings().is_empty() {
            let _ = writeln!(
                errors,
                "after the remedy for `{right}`: {finding}: {}",
                ran.output
            );
        }
    }
    assert!(errors.is_empty(), "{errors}");
}

#[tokio::test]
async fn variables_of_deployments_that_cannot_be_read_are_warned_of() {
    let clients = guided();
    let of_credhub = |client: &&GuidedClient| client.variables.is_some();
    let client = clients.iter().find(of_credhub).expect("the guide has one");
    let lacking = [("none", None), ("write", Some("write,read_acl"))].map(|(id, operations)| {
        let path = format!("/{DIRECTOR}/*");
        GuidedClient {
            id: format!("{}-{id}", client.id),
            variables: operations.map(|operations| (path, list(operations))),
            ..client.clone()
        }
    });
    let all: Vec<_> = clients.iter().chain(&lacking).cloned().collect();
    let foundation = foundation_of(&all).await;

    for (client, reported) in lacking
        .iter()
        .zip(["no permission can be seen", "it lacks `read`"])
    {
        let examine = || examined(client.used_by(with_all(&foundation, &clients)));
        let ran = examine().await;
        let blamed = ran.blamed();
        let expected: (String, String, String) = ["director-credhub", "rights", "ODB-1118"]
            .map(str::to_owned)
            .into();
        assert_eq!(blamed, [expected], "{}", ran.output);
        assert_eq!(ran.status, 0, "{}", ran.output);
        let findings = ran.findings();
        let finding = findings.first().unwrap_or(&Value::Null);
        assert_eq!(finding["severity"], "warning", "{finding}");
        assert!(
            finding["came"].as_str().unwrap().contains(reported),
            "{finding}"
        );

        follow(&foundation, finding).await;
        let ran = examine().await;
        assert!(ran.findings().is_empty(), "{}", ran.output);
    }
}

#[tokio::test]
async fn remedies_for_one_client_undo_neither_each_other_nor_what_it_had() {
    let service = service_id();
    let client = |side, id: &str, authorities, path| GuidedClient {
        side,
        id: id.to_owned(),
        authorities: list(authorities),
        permitted: Some((format!("{path}/{service}/*"), list("read,read_acl"))),
        variables: Some((format!("/{DIRECTOR}/*"), list("read,read_acl"))),
    };
    let clients = [
        client(
            Side::Director,
            "both",
            "bosh.read,scim.read,credhub.write",
            "/odb",
        ),
        client(Side::Platform, "all", "scim.read,credhub.read", "/c"),
    ];
    let foundation = foundation_of(&clients).await;
    let examine = || {
        let configuration = with_all(&foundation, &clients);
        let same = clients.iter().map(|client| GuidedClient {
            permitted: None,
            variables: None,
            ..client.clone()
        });
        examined(same.fold(configuration, |configuration, client| {
            client.used_by(configuration)
        }))
    };
    let rights = |reported: &[(&str, &str)]| -> Vec<_> {
        let reported = reported.iter();
        reported
            .map(|(who, code)| ((*who).to_owned(), "rights".to_owned(), (*code).to_owned()))
            .collect()
    };

    let ran = examine().await;
    let scopes = [
        ("cloud-controller", "ODB-1110"),
        ("cloud-controller-uaa", "ODB-1119"),
        ("director", "ODB-1124"),
        ("director-credhub", "ODB-1118"),
        ("runtime-credhub", "ODB-1121"),
    ];
    assert_eq!(ran.blamed(), rights(&scopes), "{}", ran.output);
    for finding in &ran.findings() {
        follow(&foundation, finding).await;
    }

    // CredHub, once it lets them in, permits too little.
    let ran = examine().await;
    let permissions = [
        ("director-credhub", "ODB-1118"),
        ("runtime-credhub", "ODB-1121"),
    ];
    assert_eq!(ran.blamed(), rights(&permissions), "{}", ran.output);
    for finding in &ran.findings() {
        follow(&foundation, finding).await;
    }

    let ran = examine().await;
    assert!(ran.findings().is_empty(), "{}", ran.output);
    let of_director = foundation.director_uaa_clients(ADMINISTRATOR, SECRET);
    for (id, known) in [("both", of_director), ("all", foundation.uaa_clients())] {
        let authorities = known.client(id).await["authorities"].clone();
        let had = json!("scim.read");
        assert!(
            authorities.as_array().unwrap().contains(&had),
            "{authorities}"
        );
    }
}

#[tokio::test]
async fn less_is_enough_where_less_is_switched_on() {
    let director = |id: &str, authorities: &[&str]| json!({ "id": id, "secret": SECRET, "authorities": authorities });
    let foundation = Foundation::bare().with_director_admin()
        .with("/director/credhub/acls", "disabled")
        .with("/cloud_controller/other_users", json!([
            { "name": "looker", "password": SECRET, "groups": ["cloud_controller.admin_read_only"] },
            { "name": "without-rights", "password": SECRET },
        ]))
        .with_clients(
            json!([director("chief", &["bosh.admin"])]),
            json!([
                director("looker", &["cloud_controller.admin_read_only"]),
                director("auditor", &["cloud_controller.global_auditor"]),
                director("reader", &["cloud_controller.read"]),
                director("writer", &["cloud_controller.admin", "clients.read", "clients.write"]),
            ]),
        )
        .start()
        .await;
    let client =
        |id: &str| json!({ "client_credentials": { "client_id": id, "client_secret": SECRET } });
    let user = |name: &str| json!({ "user_credentials": { "username": name, "password": SECRET } });
    let base = || foundation.broker().without_quotas();
    let modest = json!({ "authorized_grant_types": "client_credentials", "resource_ids": "none" });

    for (what, configuration, code) in [
        (
            "a client that looks",
            base().with("/cf/uaa/authentication", client("looker")),
            None,
        ),
        (
            "an auditor",
            base().with("/cf/uaa/authentication", client("auditor")),
            None,
        ),
        (
            "a user that looks",
            base().with("/cf/uaa/authentication", user("looker")),
            None,
        ),
        (
            "a user of no group",
            base().with("/cf/uaa/authentication", user("without-rights")),
            Some("ODB-2051"),
        ),
        (
            "a client that reads, and quotas",
            base()
                .with_plan_limit(3)
                .with("/cf/uaa/authentication", client("reader")),
            Some("ODB-1113"),
        ),
        (
            "modest clients of instances",
            base()
                .with("/cf/uaa/authentication", client("writer"))
                .with_client_definition(modest),
            None,
        ),
        (
            "an admin of everything at the Director",
            base().with("/bosh/authentication", json!({ "uaa": client("chief") })),
            None,
        ),
        (
            "a CredHub without permissions",
            base().with_secure_manifests(),
            None,
        ),
    ] {
        let ran = examined(configuration).await;
        let codes: Vec<_> = ran.blamed().into_iter().map(|(_, _, code)| code).collect();
        let expected: Vec<_> = code.into_iter().map(str::to_owned).collect();
        assert_eq!(codes, expected, "{what}: {}", ran.output);
        assert_eq!(ran.status, 0, "{what}: {}", ran.output);
    }
}
