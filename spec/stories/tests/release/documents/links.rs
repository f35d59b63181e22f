//! Every link between documents leads somewhere.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use odb_stories::Document;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_location_in_it() {
    let documents = Document::all();
    let mut anchors: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let (mut followed, mut broken) = (0, Vec::new());
    for document in &documents {
        for link in document.links() {
            if link.target.starts_with("https://") {
                continue;
            }
            followed += 1;
            let (path, location) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let linked = linked(&document.path, path);
            let is_there = Path::new(PROJECT).join(&linked).exists();
            let leads_somewhere = is_there
                && (location.is_empty()
                    || anchors
                        .entry(linked.clone())
                        .or_insert_with(|| Document::open(&linked.display().to_string()).anchors())
                        .iter()
                        .any(|anchor| anchor == location));
            if !leads_somewhere {
                broken.push(format!("{}:{}: {}", document.path, link.line, link.target));
            }
        }
    }
    assert!(followed > 100, "the links are not found");
    assert!(
        broken.is_empty(),
        "these lead nowhere:\n{}",
        broken.join("\n")
    );
}

/// Where a link of a document leads, as a path in the project.
fn linked(document: &str, path: &str) -> PathBuf {
    if path.is_empty() {
        return PathBuf::from(document);
    }
    let folder = Path::new(document).parent().expect("it is a file");
    let mut whole = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}
