//! Plan schemas.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &SCHEMA_MISSING,
    &SCHEMA_INVALID,
    &SCHEMA_TOO_STRICT,
    &SCHEMA_TOO_LAX,
    &SCHEMAS_FAIL,
];

/// J-01: a plan schema is missing or is not marked as draft 4.
pub const SCHEMA_MISSING: Rule = Rule {
    id: "J-01",
    severity: Severity::Error,
    fault: "a plan schema is missing or is not marked as draft 4",
    why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
    remedy: "answer with all three schemas, each with `\"$schema\": \"http://json-schema.org/draft-04/schema#\"`",
    section: "Plan schemas",
};

/// J-02: a plan schema is not a valid JSON Schema of draft 4.
pub const SCHEMA_INVALID: Rule = Rule {
    id: "J-02",
    severity: Severity::Error,
    fault: "a plan schema is not a valid JSON Schema of draft 4",
    why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
    remedy: "mend the schema; `exclusiveMinimum` is a boolean in draft 4, and there is no `const`",
    section: "Plan schemas",
};

/// J-03: a plan schema refuses parameters that are valid.
pub const SCHEMA_TOO_STRICT: Rule = Rule {
    id: "J-03",
    severity: Severity::Error,
    fault: "a plan schema refuses parameters that are valid",
    why: "the broker turns users away from what the adapter offers",
    remedy: "make one from the other, or test both with the same documents",
    section: "What an author must do",
};

/// J-04: a plan schema accepts parameters that the adapter refuses.
pub const SCHEMA_TOO_LAX: Rule = Rule {
    id: "J-04",
    severity: Severity::Error,
    fault: "a plan schema accepts parameters that the adapter refuses",
    why: "marketplaces show a form for something that cannot be ordered",
    remedy: "leave out of the schema what the adapter does not take, and write `additionalProperties: false`",
    section: "What an author must do",
};

/// J-05: plan schemas cannot be asked for.
pub const SCHEMAS_FAIL: Rule = Rule {
    id: "J-05",
    severity: Severity::Error,
    fault: "`generate-plan-schemas` fails",
    why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
    remedy: "mend what stderr says; an adapter without schemas ends with exit code 10",
    section: "Plan schemas",
};
