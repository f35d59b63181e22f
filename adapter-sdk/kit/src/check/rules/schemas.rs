//! Plan schemas.

rules! {
    SCHEMA_MISSING: Error "J-01" "a plan schema is missing or is not marked as draft 4",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "answer with all three schemas, each with `\"$schema\": \"http://json-schema.org/draft-04/schema#\"`",
        section: "Plan schemas";

    SCHEMA_INVALID: Error "J-02" "a plan schema is not a valid JSON Schema of draft 4",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "fix the schema; `exclusiveMinimum` is a boolean in draft 4, and there is no `const`",
        section: "Plan schemas";

    SCHEMA_TOO_STRICT: Error "J-03" "a plan schema refuses parameters that are valid",
        why: "the broker turns users away from what the adapter offers",
        remedy: "make one from the other, or test both with the same documents",
        section: "What an author must do";

    SCHEMA_TOO_LAX: Error "J-04" "a plan schema accepts parameters that the adapter refuses",
        why: "marketplaces show a form for something that cannot be ordered",
        remedy: "leave out of the schema what the adapter does not take, and write `additionalProperties: false`",
        section: "What an author must do";

    SCHEMAS_FAIL: Error "J-05" "`generate-plan-schemas` fails",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "fix what stderr reports; an adapter without schemas exits with 10",
        section: "Plan schemas";
}
