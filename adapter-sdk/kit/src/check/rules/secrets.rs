//! Secrets that the broker stores, and values that have no business where they stand.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &SECRET_CHANGED,
    &PLACEHOLDER_WITHOUT_ENTRY,
    &ENTRY_WITHOUT_PLACEHOLDER,
    &WRONG_ENTRY,
    &SECRET_IN_MANIFEST,
    &WRONG_SECRET_NAME,
    &REUSED_SECRET_NAME,
    &GENERATED_IN_MANIFEST,
];

/// K-01: a secret changes with an update or upgrade that changes nothing.
pub const SECRET_CHANGED: Rule = Rule {
    id: "K-01",
    severity: Severity::Error,
    fault: "a secret changes with an update or upgrade that changes nothing",
    why: "applications that are bound with the old value are locked out, or the service restarts with a password that nobody knows",
    remedy: "keep the reference, or the value, of the previous manifest; on upgrade no previous secrets come, so do not compare there",
    section: "What an author must do",
};

/// K-02: a placeholder `((odb_secret:NAME))` has no entry in `secrets`.
pub const PLACEHOLDER_WITHOUT_ENTRY: Rule = Rule {
    id: "K-02",
    severity: Severity::Error,
    fault: "a placeholder `((odb_secret:NAME))` has no entry in `secrets`",
    why: "the placeholder stays, and the Director fails the deployment with a syntax error",
    remedy: "return the value under the same name, or keep the reference of the previous manifest",
    section: "Secrets going out (ODB-managed)",
};

/// K-03: an entry in `secrets` has no placeholder in the manifest.
pub const ENTRY_WITHOUT_PLACEHOLDER: Rule = Rule {
    id: "K-03",
    severity: Severity::Warning,
    fault: "an entry in `secrets` has no placeholder in the manifest",
    why: "the broker drops it silently, so whatever needed it does not get it",
    remedy: "write `((odb_secret:NAME))` where the value belongs, or return no entry",
    section: "Secrets going out (ODB-managed)",
};

/// K-04: a value in `secrets` is neither a string nor an object.
pub const WRONG_ENTRY: Rule = Rule {
    id: "K-04",
    severity: Severity::Error,
    fault: "a value in `secrets` is neither a string nor an object",
    why: "the broker fails with an unknown credential type",
    remedy: "return strings, or objects for structured secrets",
    section: "stdout",
};

/// K-05: a secret stands in the manifest in plain.
pub const SECRET_IN_MANIFEST: Rule = Rule {
    id: "K-05",
    severity: Severity::Error,
    fault: "a secret stands in the manifest in plain",
    why: "manifests are kept for ever and can be read by everybody who may look at the deployment",
    remedy: "write a placeholder `((odb_secret:NAME))` and return the value in `secrets`; leave references of the previous manifest as they are",
    section: "What an author must do",
};

/// K-06: the name in a placeholder has characters that no reference may have.
pub const WRONG_SECRET_NAME: Rule = Rule {
    id: "K-06",
    severity: Severity::Error,
    fault: "the name in a placeholder has characters that no reference may have",
    why: "the broker makes a path of it, which CredHub or the Director refuse",
    remedy: "use letters, digits, `_` and `-`",
    section: "Secrets going out (ODB-managed)",
};

/// K-07: a secret's new value is returned under the name of the old one.
pub const REUSED_SECRET_NAME: Rule = Rule {
    id: "K-07",
    severity: Severity::Warning,
    fault: "a secret's new value is returned under the name of the old one",
    why: "secrets are written before the deployment: if that fails, the running service is left with a value that it does not have",
    remedy: "give a new value a new name, with a random or content-derived suffix",
    section: "What an author must do",
};

/// K-08: what looks like a generated secret stands in the manifest in plain.
pub const GENERATED_IN_MANIFEST: Rule = Rule {
    id: "K-08",
    severity: Severity::Warning,
    fault: "what looks like a generated secret stands in the manifest in plain",
    why: "manifests are kept for ever and can be read by everybody who may look at the deployment",
    remedy: "let the Director generate it (`variables`) or the broker keep it (`((odb_secret:NAME))`); name the place under `plain_secrets` in the check's inputs if it is no secret or cannot be otherwise",
    section: "What an author must do",
};
