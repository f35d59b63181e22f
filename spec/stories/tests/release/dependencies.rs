//! The operator's programs have no server among their dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

const LOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");

/// Programs that send requests and answer none.
const CLIENTS: [&str; 2] = ["odb", "odb-errand"];

/// What answers requests, and what runs inside the broker alone.
const SERVERS: [&str; 4] = ["actix-web", "actix-http", "on-demand-broker", "odb-core"];

/// The packages of the lock file by name, each with the names of its dependencies.
fn packages(lock: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut packages = BTreeMap::<_, Vec<_>>::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package
            .lines()
            .find_map(|line| line.strip_prefix("name = "))
            .unwrap_or_default()
            .trim_matches('"');
        let (_, list) = package.split_once("dependencies = [").unwrap_or_default();
        let quoted = list.split('"').skip(1).step_by(2);
        // A version follows where several are in the tree.
        let names = quoted.filter_map(|entry| entry.split(' ').next());
        packages.entry(name).or_default().extend(names);
    }
    packages
}

#[test]
fn the_programs_of_operators_have_no_server_in_their_dependency_trees() {
    let lock = fs::read_to_string(LOCK).unwrap();
    let packages = packages(&lock);
    for client in CLIENTS {
        let (mut tree, mut next) = (BTreeSet::new(), vec![client]);
        while let Some(name) = next.pop() {
            if tree.insert(name) {
                next.extend(&packages[name]);
            }
        }
        assert!(
            tree.contains("reqwest"),
            "the tree of {client} is not found"
        );
        let servers: Vec<_> = SERVERS
            .iter()
            .filter(|name| tree.contains(**name))
            .collect();
        assert!(servers.is_empty(), "{client}: {servers:?}");
    }
}
