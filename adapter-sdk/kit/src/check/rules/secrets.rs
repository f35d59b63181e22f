//! Secrets that the broker stores, and values at wrong locations.

rules! {
    SECRET_CHANGED: Error "K-01" "a secret changes with an update or upgrade that changes nothing",
        why: "applications that are bound with the old value are locked out, or the service restarts with an unknown password",
        remedy: "keep the reference, or the value, of the previous manifest; on upgrade no previous secrets come, so do not compare there",
        section: "What an author must do";

    PLACEHOLDER_WITHOUT_ENTRY: Error "K-02" "a placeholder `((odb_secret:NAME))` has no entry in `secrets`",
        why: "the placeholder stays, and the Director fails the deployment with a syntax error",
        remedy: "return the value under the same name, or keep the reference of the previous manifest",
        section: "Secrets going out (ODB-managed)";

    ENTRY_WITHOUT_PLACEHOLDER: Warning "K-03" "an entry in `secrets` has no placeholder in the manifest",
        why: "the broker ignores it without a message",
        remedy: "write `((odb_secret:NAME))` where the value belongs, or return no entry",
        section: "Secrets going out (ODB-managed)";

    WRONG_ENTRY: Error "K-04" "a value in `secrets` is neither a string nor an object",
        why: "the broker fails with an unknown credential type",
        remedy: "return strings, or objects for structured secrets",
        section: "stdout";

    SECRET_IN_MANIFEST: Error "K-05" "the manifest has a secret in plain text",
        why: "manifests are stored permanently, and every user with access to the deployment can read them",
        remedy: "write a placeholder `((odb_secret:NAME))` and return the value in `secrets`; leave references of the previous manifest as they are",
        section: "What an author must do";

    WRONG_SECRET_NAME: Error "K-06" "the name in a placeholder has characters that no reference may have",
        why: "the broker makes a path of it, which CredHub or the Director refuse",
        remedy: "use letters, digits, `_` and `-`",
        section: "Secrets going out (ODB-managed)";

    REUSED_SECRET_NAME: Warning "K-07" "a secret's new value is returned under the name of the old one",
        why: "secrets are written before the deployment: if that fails, CredHub has a value that the running service does not use",
        remedy: "give a new value a new name, with a random or content-derived suffix",
        section: "What an author must do";

    GENERATED_IN_MANIFEST: Warning "K-08" "the manifest has a value in plain text that looks like a generated secret",
        why: "manifests are stored permanently, and every user with access to the deployment can read them",
        remedy: "let the Director generate it (`variables`) or the broker keep it (`((odb_secret:NAME))`); list the location under `plain_secrets` in the check's inputs if it is not a secret or must be plain",
        section: "What an author must do";
}
