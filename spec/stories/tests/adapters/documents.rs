//! The authors' documents on the protocol are correct (`docs/authors/`).

use std::{collections::BTreeSet, error::Error, fs, path::Path};

use jsonschema::{Retrieve, Uri};
use odb_adapter_sdk::protocol::{
    AdapterInput, Binding, BoshVms, Call, DashboardUrl, DnsAddresses, GeneratedManifest, Plan,
    PlanSchemas, RequestParameters, Secrets, ServiceDeployment, Subcommand, UaaClient,
};
use odb_stories::{Fence, Reader, fences};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

const AUTHORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/authors");
const SCHEMAS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/adapter");

#[test]
fn every_example_of_the_protocol_is_what_it_says_it_is() {
    let document = document("protocol.md");
    let examples: Vec<Fence> = fences(&document)
        .into_iter()
        .filter(|fence| fence.information.starts_with("json"))
        .collect();
    assert!(examples.len() > 10, "the examples are not found");

    for Fence {
        information,
        line,
        text,
        ..
    } in &examples
    {
        let kind = information
            .strip_prefix("json ")
            .expect("it has a description");
        let location = format!("line {line}, {kind}");
        match kind {
            "input generate-manifest" => {
                let call = AdapterInput::read(text, Subcommand::GenerateManifest);
                let call = call.unwrap_or_else(|error| panic!("{location}: {error}"));
                assert!(matches!(call, Call::GenerateManifest(_)));
            }
            "input dashboard-url" => {
                let call = AdapterInput::read(text, Subcommand::DashboardUrl);
                let call = call.unwrap_or_else(|error| panic!("{location}: {error}"));
                assert!(matches!(call, Call::DashboardUrl(_)));
            }
            "generated-manifest" => keeps::<GeneratedManifest>(&location, text),
            "binding" => keeps::<Binding>(&location, text),
            "dashboard-url" => keeps::<DashboardUrl>(&location, text),
            "plan-schemas" => keeps::<PlanSchemas>(&location, text),
            "service-deployment" => keeps::<ServiceDeployment>(&location, text),
            "plan" => keeps_members::<Plan>(&location, text),
            "request-parameters" => {
                let request = RequestParameters::from_json(text);
                let request = request.unwrap_or_else(|error| panic!("{location}: {error}"));
                assert_eq!(request.platform(), Some("cloudfoundry"));
                assert!(!request.arbitrary().is_empty());
            }
            "secrets" => keeps::<Secrets>(&location, text),
            "uaa-client" => keeps::<UaaClient>(&location, text),
            "bosh-vms" => keeps::<BoshVms>(&location, text),
            "dns-addresses" => keeps::<DnsAddresses>(&location, text),
            other => panic!("line {line}: `{other}` is unknown"),
        }
        let schema = match kind {
            "input generate-manifest" | "input dashboard-url" => "input",
            "secrets" => "previous-secrets",
            kind => kind,
        };
        holds(schema, &location, text);
    }
}

/// Every rule lists existing findings, and every finding belongs to a rule.
#[test]
fn the_guide_to_good_adapters_names_every_finding_of_the_check_and_no_other() {
    let (guide, check) = (document("good-adapter.md"), document("check.md"));
    let known = findings(&check);
    assert!(known.len() > 30, "the findings are not found");

    assert_eq!(with_ranges(&guide), known);
}

#[test]
fn the_guide_to_good_adapters_has_the_rules_of_the_protocol() {
    let guide = document("good-adapter.md");
    let numbers: Vec<usize> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_the_guide_to_good_adapters_suggests_works_in_an_adapter_of_templates() {
    let mut reader = Reader::new();
    let begin = "odb-adapter new my-cache --lang templates; cd my-cache/adapter";
    follow(&mut reader, begin, "good-adapter.md").await;
}

#[tokio::test]
async fn what_is_suggested_for_adapters_in_go_works_for_any_executable() {
    let mut reader = Reader::new();
    let begin = "odb-adapter new my-cache --lang templates\nmkdir path path/to\nmv my-cache/broker.yml .\n\
        printf '#!/bin/sh\\nexec template-service-adapter %s \"$@\"\\n' \"$PWD/my-cache/adapter\" >path/to/service-adapter\n\
        chmod +x path/to/service-adapter";
    follow(&mut reader, begin, "from-go.md").await;
}

/// Begins, and types what the document says.
async fn follow(reader: &mut Reader, begin: &str, name: &str) {
    let beginning = Fence {
        information: "sh".to_owned(),
        line: 0,
        text: begin.to_owned(),
        run_by: Vec::new(),
        output: None,
    };
    reader.follow(&beginning).await;
    let commands = fences(&document(name));
    assert!(!commands.is_empty(), "the commands are not found");
    for fence in &commands {
        reader.follow(fence).await;
    }
}

fn document(name: &str) -> String {
    let path = Path::new(AUTHORS).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Read and written again, the document is the same.
fn keeps<T: DeserializeOwned + Serialize>(location: &str, text: &str) {
    let document: Value = serde_json::from_str(text).expect("examples are JSON");
    assert_eq!(again::<T>(location, text), document, "{location}");
}

/// The same, but for what is written in another way: members with defaults.
fn keeps_members<T: DeserializeOwned + Serialize>(location: &str, text: &str) {
    let document: Value = serde_json::from_str(text).expect("examples are JSON");
    let again = again::<T>(location, text);
    for (key, member) in document.as_object().expect("it is an object") {
        assert_eq!(&again[key], member, "{location}: {key}");
    }
}

fn again<T: DeserializeOwned + Serialize>(location: &str, text: &str) -> Value {
    let read: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{location}: {error}"));
    serde_json::to_value(&read).expect("it is written as it was read")
}

/// The schema of that name takes it.
fn holds(schema: &str, location: &str, text: &str) {
    let schema = read_schema(&format!("{schema}.schema.json")).expect("there is such a schema");
    let document: Value = serde_json::from_str(text).expect("examples are JSON");
    let validator = jsonschema::options()
        .with_base_uri("https://project.invalid/")
        .with_retriever(OtherSchemas)
        .build(&schema)
        .expect("it is a schema");
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{location}");
}

/// Schemas refer to others of their folder.
struct OtherSchemas;

impl Retrieve for OtherSchemas {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let file = uri.path().as_str().trim_start_matches('/');
        read_schema(file)
    }
}

fn read_schema(file: &str) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let text = fs::read_to_string(Path::new(SCHEMAS).join(file))?;
    Ok(serde_json::from_str(&text)?)
}

/// Ids such as `K-01`.
fn findings(text: &str) -> BTreeSet<String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .filter(|word| {
            let bytes = word.as_bytes();
            bytes.len() == 4
                && bytes[0].is_ascii_uppercase()
                && bytes[1] == b'-'
                && bytes[2..].iter().all(u8::is_ascii_digit)
        })
        .map(str::to_owned)
        .collect()
}

/// `C-01 to C-04` includes the findings between them.
fn with_ranges(text: &str) -> BTreeSet<String> {
    let mut found = findings(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    for window in words.windows(3) {
        let [first, "to", last] = window else {
            continue;
        };
        let ends: Vec<String> = [first, last]
            .iter()
            .flat_map(|word| findings(word))
            .collect();
        if let [first, last] = ends.as_slice() {
            let number = |id: &String| id[2..].parse::<usize>().expect("ids end in digits");
            let between = number(first)..=number(last);
            found.extend(between.map(|number| format!("{}{number:02}", &first[..2])));
        }
    }
    found
}
