//! The schema to which every line of a broker's log is held.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let text = include_str!("../../schemas/log.schema.json");
    let schema = serde_json::from_str(text).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema is a schema")
});

/// Fails for lines that do not fit the schema.
pub(crate) fn expect_valid<'l>(lines: impl IntoIterator<Item = &'l Value>) {
    for line in lines {
        let errors: Vec<_> = SCHEMA.iter_errors(line).map(|e| e.to_string()).collect();
        assert!(
            errors.is_empty(),
            "a line of the broker's log does not fit spec/schemas/log.schema.json: {errors:?}: {line}"
        );
    }
}
