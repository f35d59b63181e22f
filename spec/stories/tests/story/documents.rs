//! The statements of the documents about the code are correct.

use std::{collections::BTreeSet, fs, path::Path};

use odb_stories::{ApiDocument, ProjectTests};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The points of `spec/contracts/broker-behaviour.md` §9.
const POINTS: usize = 46;

/// Reasons for points without a test.
const ELSEWHERE: [&str; 2] = ["**later", "**declined"];

#[test]
fn every_difference_from_the_go_broker_is_reported_once_with_a_test_that_exists() {
    let document = read(&Path::new(PROJECT).join("spec/coverage/differences.md"));
    let tests = ProjectTests::find();

    let rows: Vec<(usize, &str)> = document.lines().filter_map(numbered).collect();
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=POINTS).collect::<Vec<_>>());
    for (number, row) in rows {
        let named: Vec<&str> = code(row).filter(|word| is_test_name(word)).collect();
        let has_reason = !named.is_empty() || ELSEWHERE.iter().any(|word| row.contains(word));
        assert!(has_reason, "point {number} has neither a test nor a reason");
    }
    // Names also occur in the text around the tables.
    expect_tests_to_exist(&document, &tests);
}

#[test]
fn every_test_that_the_guide_to_deletions_names_exists() {
    let document = read(&Path::new(PROJECT).join("spec/coverage/deletions.md"));
    let tests = ProjectTests::find();
    expect_tests_to_exist(&document, &tests);
}

#[test]
fn every_attack_that_security_mentions_is_tried_by_a_test_that_exists() {
    let document = read(&Path::new(PROJECT).join("docs/contributing/security.md"));
    let tests = ProjectTests::find();
    expect_tests_to_exist(&document, &tests);
    expect_to_be_reported(&document, &tests, "hostile_");
}

#[test]
fn every_way_out_of_a_stuck_state_is_shown_by_a_test_that_exists() {
    let document = read(&Path::new(PROJECT).join("spec/coverage/stuck.md"));
    let tests = ProjectTests::find();
    expect_tests_to_exist(&document, &tests);
    expect_to_be_reported(&document, &tests, "stuck::");
}

#[test]
fn every_promise_of_the_guide_to_migrating_is_shown_by_a_test_that_exists() {
    let document = read(&Path::new(PROJECT).join("spec/coverage/migrating.md"));
    let tests = ProjectTests::find();
    expect_tests_to_exist(&document, &tests);
    expect_to_be_reported(&document, &tests, "migrating::");
}

/// Every test that a document names is one.
fn expect_tests_to_exist(document: &str, tests: &ProjectTests) {
    let named = document.lines().flat_map(code);
    let unknown: Vec<&str> = named
        .filter(|word| is_test_name(word) && !tests.contains(word))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new(), "there are no such tests");
}

/// Every test whose name begins so is named by a document.
fn expect_to_be_reported(document: &str, tests: &ProjectTests, beginning: &str) {
    let reported: BTreeSet<&str> = document.lines().flat_map(code).collect();
    let untold: Vec<&String> = tests
        .names()
        .filter(|test| test.starts_with(beginning) && !reported.contains(test.as_str()))
        .collect();
    assert_eq!(
        untold,
        Vec::<&String>::new(),
        "the document does not list them"
    );
}

/// A rule is shown by the public suite, by a story, or the row says why by neither.
#[test]
fn every_rule_of_the_api_is_reported_once_with_a_check_or_a_test_that_exists_or_a_reason() {
    let project = Path::new(PROJECT);
    let (document, rules) = (
        read(&project.join("spec/coverage/osb-api.md")),
        read(&project.join("spec/contracts/osb-api.md")),
    );
    let checks: BTreeSet<&str> = odb_conformance::rules().map(|rule| rule.id).collect();
    let tests = ProjectTests::find();
    let demanded: Vec<&str> = rules.lines().filter_map(rule).map(|(id, _)| id).collect();
    assert!(demanded.len() > 100, "the rules are not found");

    let rows: Vec<(&str, &str)> = document.lines().filter_map(rule).collect();
    let reported: Vec<&str> = rows.iter().map(|(id, _)| *id).collect();
    assert_eq!(reported, demanded);
    for (id, row) in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (check, shown) = (cells[2], cells[3]);
        assert_eq!(check == "✓", checks.contains(id), "{id}: is there a check?");
        let is_shown = check == "✓" || code(shown).any(is_test_name) || shown.len() > 40;
        assert!(is_shown, "{id} has neither a test nor a reason");
    }
    expect_tests_to_exist(&document, &tests);
}

/// Every status and every path that there is a document for is one of the document, and every rule that it cites is
/// one.
#[test]
fn the_document_of_the_api_has_ten_operations_and_cites_rules_that_exist() {
    let document = ApiDocument::osb();
    let rules = read(&Path::new(PROJECT).join("spec/contracts/osb-api.md"));
    let known: BTreeSet<&str> = rules.lines().filter_map(rule).map(|(id, _)| id).collect();
    let text = read(&Path::new(PROJECT).join("spec/openapi/osb.yaml"));

    assert_eq!(document.operations().count(), 10);
    for (method, path, operation) in document.operations() {
        for status in ["400", "401", "412", "413", "429", "503"] {
            let response = &operation["responses"][status];
            assert!(response.is_object(), "{method} {path} lacks {status}");
            assert!(document.resolve(response)["description"].is_string());
        }
    }
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let cited: BTreeSet<&str> = words.filter(|word| is_rule(word)).collect();
    assert!(cited.len() > 40, "{cited:?}");
    let unknown: Vec<&&str> = cited.difference(&known).collect();
    assert_eq!(unknown, Vec::<&&str>::new(), "there are no such rules");
}

/// Each route is documented.
#[test]
fn the_document_of_the_management_api_has_every_route_and_no_other() {
    let document = ApiDocument::management();
    let routes = read(&Path::new(PROJECT).join("broker/src/api/management/mod.rs"));
    let without_names = |path: &str| {
        let segments = path.split('/');
        let segments = segments.map(|one| if one.starts_with('{') { "{}" } else { one });
        segments.collect::<Vec<_>>().join("/")
    };

    let served: BTreeSet<String> = routes
        .split(" resource(")
        .skip(1)
        .filter_map(|rest| rest.split('"').nth(1))
        .map(|path| without_names(&format!("/mgmt{path}")))
        .collect();
    let documented: BTreeSet<String> = document
        .operations()
        .map(|(_, path, _)| without_names(path))
        .collect();

    assert!(served.len() > 3, "the routes are not found");
    assert_eq!(documented, served);
    for (method, path, operation) in document.operations() {
        for status in ["401", "408", "413", "414", "417", "431", "500", "503"] {
            let response = &operation["responses"][status];
            assert!(response.is_object(), "{method} {path} lacks {status}");
            assert!(document.resolve(response)["description"].is_string());
        }
    }
}

/// Packages come from the reader's registry, in the versions of the lock file.
#[test]
fn the_lock_of_the_python_tools_has_packages_with_digests_and_no_location_of_a_machine() {
    let folder = Path::new(PROJECT).join("spec/stories/schemathesis");
    let lock = read(&folder.join("requirements.txt"));
    let of_pip: Vec<&str> = lock.lines().filter(|line| line.starts_with('-')).collect();
    assert_eq!(
        of_pip,
        Vec::<&str>::new(),
        "these are options, not packages"
    );
    let packages: Vec<&str> = lock.split("\n    --hash=").collect();
    for wanted in read(&folder.join("requirements.in")).lines() {
        let is_locked = packages.iter().any(|text| text.contains(wanted));
        assert!(wanted.starts_with('#') || is_locked, "`{wanted}`");
    }
}

/// A row of a table that begins with the id of a rule.
fn rule(line: &str) -> Option<(&str, &str)> {
    let id = line.strip_prefix("| ")?.split(" |").next()?;
    is_rule(id).then_some((id, line))
}

/// `P-01`.
fn is_rule(word: &str) -> bool {
    word.split_once('-').is_some_and(|(group, number)| {
        matches!(group.len(), 1 | 2)
            && group.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.len() == 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A row of a table that begins with a number.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let number = line.strip_prefix("| ")?.split(" | ").next()?;
    Some((number.trim().parse().ok()?, line))
}

/// The code between back-ticks.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// `module::a_sentence`, as the test runner prints it.
fn is_test_name(word: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:".contains(&byte);
    word.contains("::") && word.bytes().all(allowed)
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
