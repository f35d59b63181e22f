//! Documents to try writers and readers on.

use proptest::prelude::*;
use serde_json::Value;

/// Any document that JSON and YAML have in common, with strings that like to be misread.
pub(crate) fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6).prop_map(|members| members
                .into_iter()
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

/// Texts of all kinds: arbitrary characters, and few characters that mean much in YAML.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+0-9._:,eExXob a-f~<>=|?#&*!%@`'\"{}\\[\\]\n\t]{0,12}",
        "[ \n\t]{0,3}[a-z:# \n-]{0,20}[ \n\t]{0,3}",
        "(yes|No|ON|off|y|N|true|FALSE|null|Null|~|\\.inf|\\.NaN|<<|=|---|\\.\\.\\.)",
        "\\(\\([a-z/_.:-]{1,12}\\)\\)",
    ]
}
