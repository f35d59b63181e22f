//! Every fenced block is of a kind that a test runs.

use std::{fs, path::Path};

use odb_stories::{Document, Fence, ProjectTests};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Kinds that tests beside this one try in every document.
const EVERYWHERE: [&str; 11] = [
    "sh",
    "sh bosh",
    "sh cf",
    "json",
    "yaml broker.yml",
    "yaml cloud-config",
    "yaml director",
    "yaml manifest",
    "yaml ops",
    "yaml prometheus",
    "yaml variables",
];

/// The same for kinds that begin so.
const EVERYWHERE_WITH_MORE: [&str; 2] = ["yaml job ", "sh fails: "];

/// At these there is nothing to try.
const SHOWN: [&str; 1] = ["text"];

/// Blocks of these documents are tried by tests of their own, which read the document.
const BY_A_TEST: [(&str, &[&str], &str); 14] = [
    (
        "docs/operators/permissions.md",
        &["sh uaac", "sh credhub"],
        "story::doctor::rights::the_clients_of_the_guide_are_enough_and_each_of_their_rights_is_missed",
    ),
    ("docs/operators/install.md", &["sh", "sh cf"], GUIDE_WALK),
    ("docs/operators/monitor.md", &["sh", "sh cf"], GUIDE_WALK),
    (
        "docs/operators/troubleshoot.md",
        &["sh", "sh cf"],
        GUIDE_WALK,
    ),
    ("docs/operators/upgrade.md", &["sh", "sh cf"], GUIDE_WALK),
    (
        "docs/authors/tutorial.md",
        &["sh", "sh up", "sh edit", "sh fails: "],
        "story::tutorial::templates_lead_from_nothing_to_a_bound_service_and_to_a_change_of_it",
    ),
    (
        "docs/authors/charts.md",
        &["sh", "sh fails: "],
        "adapters::offers::the_guide_leads_from_a_chart_to_its_manifests",
    ),
    (
        "docs/authors/good-adapter.md",
        &["sh"],
        "adapters::documents::what_the_guide_to_good_adapters_suggests_works_in_an_adapter_of_templates",
    ),
    (
        "docs/authors/from-go.md",
        &["sh"],
        "adapters::documents::what_is_suggested_for_adapters_in_go_works_for_any_executable",
    ),
    (
        "docs/authors/protocol.md",
        &["json "],
        "adapters::documents::every_example_of_the_protocol_is_what_it_says_it_is",
    ),
    (
        "docs/authors/templates.md",
        &[
            "yaml adapter.yml",
            "json schemas/create.json schemas/update.json",
            "yaml manifest.yml.tera",
            "json binding.json.tera",
            "text dashboard.tera",
            "yaml manifest",
            "yaml errand-group",
            "text error",
        ],
        "folder::documentation::the_documented_folder_makes_the_documented_manifest",
    ),
    (
        "docs/authors/check.md",
        &["sh", "yaml"],
        "adapters::check::the_document_is_true_to_the_letter",
    ),
    (
        "docs/authors/sandbox.md",
        &["sh author", "sh order"],
        "story::author::beginning::what_the_guide_shows_authors_works",
    ),
    (
        "docs/authors/sandbox.md",
        &["sh", "sh up"],
        "control::guide::what_the_guide_suggests_works_in_its_order",
    ),
];

/// A test works through these chapters, one after the other.
const GUIDE_WALK: &str =
    "story::guide::walk::the_commands_of_the_chapters_do_what_the_chapters_say";

#[test]
fn every_fenced_block_is_of_a_kind_that_a_test_runs() {
    let (mut seen, mut untried) = (0, Vec::new());
    for document in Document::all() {
        for fence in document.fences() {
            seen += 1;
            if !is_tried(&document, &fence) {
                let information = &fence.information;
                untried.push(format!("{}:{}: `{information}`", document.path, fence.line));
            }
        }
    }
    assert!(seen > 80, "the blocks are not found");
    assert!(
        untried.is_empty(),
        "no test runs these blocks; give them a kind, or name their test above them:\n{}",
        untried.join("\n")
    );
}

/// The test that a block names runs the document's text: that test, or one beside it, reads the document. Files that a
/// block names contain each of its lines.
#[test]
fn a_block_is_run_by_the_user_named_above_it() {
    let tests = ProjectTests::find();
    let mut idle = Vec::new();
    for document in Document::all() {
        for fence in document.fences() {
            let (files, named): (Vec<&String>, Vec<&String>) =
                fence.run_by.iter().partition(|name| name.contains('/'));
            let location = format!("{}:{}", document.path, fence.line);
            let unknown = named.iter().filter(|name| !reads(&tests, name, &document));
            idle.extend(unknown.map(|name| format!("{location}: {name}")));
            if let Some(line) = missing_line(&files, &fence) {
                idle.push(format!("{location}: `{line}` in none of {files:?}"));
            }
        }
    }
    for (path, _, name) in BY_A_TEST {
        if !reads(&tests, name, &Document::open(path)) {
            idle.push(format!("{path}: {name}"));
        }
    }
    assert!(
        idle.is_empty(),
        "these run nothing of the kind:\n{}",
        idle.join("\n")
    );
}

/// Whether desks leave a block to another owner.
pub(super) fn is_of_others(document: &Document, fence: &Fence) -> bool {
    !fence.run_by.is_empty()
        || BY_A_TEST.iter().any(|(path, kinds, _)| {
            *path == document.path && kinds.iter().any(|kind| is_kind(fence, kind))
        })
}

fn is_tried(document: &Document, fence: &Fence) -> bool {
    let information = fence.information.as_str();
    is_of_others(document, fence)
        || SHOWN.contains(&information)
        || EVERYWHERE.contains(&information)
        || EVERYWHERE_WITH_MORE
            .iter()
            .any(|beginning| information.starts_with(beginning))
}

/// Kinds that end in a blank name what follows.
fn is_kind(fence: &Fence, kind: &str) -> bool {
    fence.information == kind || (kind.ends_with(' ') && fence.information.starts_with(kind))
}

/// Whether there is such a test, and its code names the document.
fn reads(tests: &ProjectTests, test: &str, document: &Document) -> bool {
    let file_name = document.path.rsplit('/').next().unwrap_or(&document.path);
    let sources = tests.sources_of(test);
    let stem = format!("\"{}\"", file_name.trim_end_matches(".md"));
    sources.is_some_and(|sources| sources.contains(file_name) || sources.contains(&stem))
}

/// A line of a block, comments aside, that no file of the project has of those that are named. Numbers at the end of a
/// command may be others there.
fn missing_line(files: &[&String], fence: &Fence) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let texts: String = files
        .iter()
        .filter_map(|path| fs::read_to_string(Path::new(PROJECT).join(path)).ok())
        .collect();
    let texts = texts.replace("@NAME@", "my-adapter");
    let commands = fence.text.lines().map(|line| {
        let command = line.split(" #").next().unwrap_or(line).trim();
        command.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ' ')
    });
    let mut missing = commands.filter(|command| !texts.contains(command));
    missing.next().map(str::to_owned)
}
