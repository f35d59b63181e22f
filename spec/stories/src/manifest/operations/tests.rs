use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FileError, OperationErrorKind, OpsFile};

const DOCUMENT: &str = "
key: 1
key2: {nested: {super_nested: 2}, other: 3}
array: [4, 5, 6]
items: [{name: item7}, {name: item8}, {name: item8}]
";

fn after(operations: &str) -> Result<Value, OperationErrorKind> {
    let mut document = yaml::from_str(DOCUMENT).unwrap();
    let file = OpsFile::parse("ops.yml", operations).unwrap();
    file.apply(&mut document)
        .map_err(|error| error.kind().clone())?;
    Ok(document)
}

fn replaced(path: &str) -> Result<Value, OperationErrorKind> {
    after(&format!("[{{type: replace, path: '{path}', value: 10}}]"))
}

fn removed(path: &str) -> Result<Value, OperationErrorKind> {
    after(&format!("[{{type: remove, path: '{path}'}}]"))
}

/// The document with a value at a JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut document: Value = yaml::from_str(DOCUMENT).unwrap();
    *document.pointer_mut(pointer).unwrap() = value;
    document
}

#[test]
fn keys_are_replaced_and_made_only_where_that_is_said() {
    assert_eq!(replaced("/key").unwrap(), with("/key", json!(10)));
    assert_eq!(replaced("/new?").unwrap()["new"], json!(10));
    let error = replaced("/key2/new").unwrap_err();
    let expected = "there is no `/key2/new`, only `nested`, `other`; a `?` behind it makes it";
    assert_eq!(error.to_string(), expected);
    let made = replaced("/key2/nested?/another/deep").unwrap();
    let expected = json!({"super_nested": 2, "another": {"deep": 10}});
    assert_eq!(made["key2"]["nested"], expected);
    assert_eq!(replaced("").unwrap(), json!(10));
}

#[test]
fn items_of_lists_are_replaced_put_between_and_appended() {
    for (path, expected) in [
        ("/array/0", json!([10, 5, 6])),
        ("/array/-1", json!([4, 5, 10])),
        ("/array/-", json!([4, 5, 6, 10])),
        ("/array/1:prev", json!([10, 5, 6])),
        ("/array/0:next", json!([4, 10, 6])),
        ("/array/0:before", json!([10, 4, 5, 6])),
        ("/array/0:after", json!([4, 10, 5, 6])),
        ("/array/2:after", json!([4, 5, 6, 10])),
        ("/array/0:next:before", json!([4, 10, 5, 6])),
    ] {
        assert_eq!(replaced(path).unwrap()["array"], expected, "{path}");
    }
    assert_eq!(replaced("/list?/-").unwrap()["list"], json!([10]));
    let kind = |path| replaced(path).unwrap_err().to_string();
    assert_eq!(
        kind("/array/3"),
        "`/array/3` is not in the list, which has 3 items"
    );
    assert_eq!(
        kind("/array/0:prev"),
        "`/array/0` is not in the list, which has 3 items"
    );
    assert_eq!(kind("/key/-"), "`/key` is a number, not a list");
    assert_eq!(kind("/array/x"), "`/array` is a list, not a map");
}

#[test]
fn items_are_found_by_a_key() {
    let items = |path| replaced(path).map(|document| document["items"].clone());
    let expected = json!([{"name": "item7", "count": 10}, {"name": "item8"}, {"name": "item8"}]);
    assert_eq!(items("/items/name=item7/count?").unwrap(), expected);
    let expected = json!([10, {"name": "item7"}, {"name": "item8"}, {"name": "item8"}]);
    assert_eq!(items("/items/name=item7:before").unwrap(), expected);
    let made = items("/items/name=item9?/count").unwrap();
    assert_eq!(made[3], json!({"name": "item9", "count": 10}));
    assert_eq!(
        replaced("/others?/name=a/b").unwrap()["others"],
        json!([{"name": "a", "b": 10}])
    );
    let kind = |path| items(path).unwrap_err().to_string();
    assert_eq!(
        kind("/items/name=item8/count?"),
        "`/items/name=item8` matches 2 items, not one"
    );
    assert_eq!(
        kind("/items/name=item9/count?"),
        "`/items/name=item9` matches 0 items, not one"
    );
}

#[test]
fn what_is_removed_has_to_be_there_unless_that_is_said() {
    assert_eq!(
        removed("/key2/nested").unwrap(),
        with("/key2", json!({"other": 3}))
    );
    assert_eq!(removed("/array/1").unwrap(), with("/array", json!([4, 6])));
    assert_eq!(
        removed("/array/0:next").unwrap(),
        with("/array", json!([4, 6]))
    );
    let expected = json!([{"name": "item8"}, {"name": "item8"}]);
    assert_eq!(
        removed("/items/name=item7").unwrap(),
        with("/items", expected)
    );
    for path in [
        "/nowhere?",
        "/nowhere?/at/all",
        "/items/name=item9?",
        "/items/name=item9?/x",
    ] {
        assert_eq!(
            removed(path).unwrap(),
            yaml::from_str::<Value>(DOCUMENT).unwrap(),
            "{path}"
        );
    }
    for path in [
        "/nowhere",
        "/array/9",
        "/items/name=item9",
        "",
        "/array/-",
        "/array/0:after",
    ] {
        assert!(removed(path).is_err(), "{path}");
    }
}

#[test]
fn an_error_names_file_operation_and_path() {
    let mut document = json!({"a": 1});
    let text = "[{type: replace, path: /a, value: 2}, {type: remove, path: /b}]";
    let error = OpsFile::parse("ops.yml", text).unwrap();
    let error = error.apply(&mut document).unwrap_err();
    let expected = "operation 2 of `ops.yml` at `/b` cannot be carried out";
    assert_eq!(error.to_string(), expected);
    // Operations before the failed one are applied.
    assert_eq!(document, json!({"a": 2}));
}

#[test]
fn an_operation_may_bring_its_own_words() {
    let text = "[{type: remove, path: /b, error: Take b.yml as well}]";
    assert_eq!(
        after(text).unwrap_err(),
        OperationErrorKind::Reported("Take b.yml as well".to_owned())
    );
}

#[test]
fn what_is_no_operation_is_refused() {
    for (operation, expected) in [
        (
            "{type: copy, path: /a}",
            "`copy` is no type of operation: there are `replace` and `remove`",
        ),
        ("{type: replace, path: /a}", "`replace` has a `value`"),
        (
            "{type: replace, path: /a, value: null}",
            "`replace` has a `value`",
        ),
        (
            "{type: remove, path: /a, value: 1}",
            "`remove` has no `value`",
        ),
        ("{type: remove}", "an operation has a `path`"),
        (
            "{type: remove, path: a}",
            "the path means nothing: a path begins with `/`",
        ),
    ] {
        let error = OpsFile::parse("ops.yml", &format!("[{operation}]")).unwrap_err();
        let FileError::Operation { source, .. } = error else {
            panic!("{operation}: {error:?}");
        };
        assert_eq!(source.kind().to_string(), expected, "{operation}");
    }
    assert!(OpsFile::parse("empty.yml", "--- \n").is_ok());
}

proptest! {
    #[test]
    fn what_is_appended_can_be_removed_again(items in prop::collection::vec(0..9, 0..5), item in 0..9) {
        let before = json!({"list": items});
        let mut document = before.clone();
        let text = format!(
            "[{{type: replace, path: /list/-, value: {item}}}, {{type: remove, path: /list/-1}}]"
        );
        OpsFile::parse("ops.yml", &text).unwrap().apply(&mut document).unwrap();
        prop_assert_eq!(document, before);
    }

    #[test]
    fn what_is_replaced_is_what_a_json_pointer_finds(keys in prop::collection::vec("[a-z/~?=:]{1,4}", 1..5)) {
        let mut document = json!({});
        let escape = |key: &String| {
            let key = key.replace('~', "~0").replace('/', "~1");
            key.replace('?', "~2").replace('=', "~3").replace(':', "~7")
        };
        let path = keys.iter().fold(String::new(), |path, key| path + "/" + &escape(key) + "?");
        let file = json!([{"type": "replace", "path": path, "value": "x"}]).to_string();
        OpsFile::parse("ops.yml", &file).unwrap().apply(&mut document).unwrap();
        let found = keys.iter().fold(&document, |value, key| &value[key]);
        prop_assert_eq!(found, "x");
    }
}
