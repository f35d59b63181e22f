//! One address for a job property, to write it and to find it again.

use odb_adapter_sdk::manifest::{JobProperty, Manifest, ManifestBuilder};
use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::calls::create;
use crate::documents::document;

#[test]
fn a_property_is_found_where_the_director_finds_it() {
    let manifest: Manifest = serde_json::from_value(json!({
        "name": "a",
        "properties": {"shared": {"deep": 1}, "group": "global", "own": 1},
        "instance_groups": [{
            "name": "g", "instances": 1,
            "properties": {"group": "group"},
            "jobs": [{"name": "bare"}, {"name": "own", "properties": {"list": [{"a": 1}], "none": null, "a/b~c": 2}}],
        }],
    }))
    .unwrap();
    let at = |job: &str, pointer: &str| manifest.job_property("g", job, pointer).cloned();
    assert_eq!(at("bare", "/group"), Some(Value::from("group")));
    assert_eq!(at("bare", "/shared/deep"), Some(Value::from(1)));
    assert_eq!(at("own", "/list/0/a"), Some(Value::from(1)));
    assert_eq!(at("own", "/a~1b~0c"), Some(Value::from(2)));
    for absent in [
        "/group",
        "/none",
        "/list/1",
        "/list/x",
        "/list/0/a/b",
        "",
        "list",
    ] {
        assert_eq!(at("own", absent), None, "{absent}");
    }
    assert_eq!(manifest.job_property("g", "other", "/group"), None);
    assert_eq!(manifest.job_property("other", "own", "/list"), None);
}

proptest! {
    #[test]
    fn what_is_set_at_an_address_is_found_there(
        path in prop::collection::vec("[a-z~/0-9]{0,6}", 1..4),
        value in document().prop_filter("null counts as absent", |value| !value.is_null()),
    ) {
        let escaped = path.iter().map(|name| name.replace('~', "~0").replace('/', "~1"));
        let pointer = format!("/{}", escaped.collect::<Vec<_>>().join("/"));
        let property = JobProperty::new("server", "server", &pointer);
        let call = create();
        let manifest = ManifestBuilder::new(&call)
            .instance_group("server", ["server"])
            .property(property, value.clone())
            .build()
            .unwrap();
        prop_assert_eq!(manifest.property(property), Some(&value));
        let reread: Manifest = yaml::from_str(&yaml::to_string(&manifest).unwrap()).unwrap();
        prop_assert_eq!(reread.property(property), Some(&value));
    }
}
