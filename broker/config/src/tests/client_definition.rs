use super::*;

/// With a client definition, in YAML's flow style.
fn with_client_definition(definition: &str) -> String {
    minimal().replace(
        "    url: https://uaa.example\n",
        &format!("    url: https://uaa.example\n    client_definition: {definition}\n"),
    )
}

fn warnings(source: &str) -> Vec<String> {
    let loaded = parse(source).unwrap();
    loaded.warnings.iter().map(ToString::to_string).collect()
}

fn client_definition(source: &str) -> Option<ClientDefinition> {
    let config = parse(source).unwrap().config;
    config.cloud_foundry.unwrap().client_definition
}

#[test]
fn a_client_definition_has_lists_in_text() {
    let source = with_client_definition(
        "{scopes: 'openid, a.ODB_SPACE_GUID', authorities: uaa.resource, authorized_grant_types: authorization_code, \
         resource_ids: none, name: dashboard, allowpublic: true}",
    );
    assert_eq!(
        client_definition(&source),
        Some(ClientDefinition {
            scopes: vec!["openid".to_owned(), "a.ODB_SPACE_GUID".to_owned()],
            authorities: vec!["uaa.resource".to_owned()],
            authorized_grant_types: vec!["authorization_code".to_owned()],
            resource_ids: vec!["none".to_owned()],
            name: Some("dashboard".to_owned()),
            allow_public: true,
        })
    );
}

#[test]
fn an_empty_client_definition_is_none_and_one_that_means_nothing_is_warned_about() {
    for empty in ["null", "{}", "{scopes: '', allowpublic: false, name: null}"] {
        let source = with_client_definition(empty);
        assert_eq!(client_definition(&source), None);
        assert_eq!(warnings(&source), minimal_warnings(), "{empty}");
    }
    let source = with_client_definition("{name: dashboard}");
    assert_eq!(client_definition(&source), None);
    assert!(warnings(&source).iter().any(|warning| {
        warning.contains("`cf.uaa.client_definition` has neither `authorized_grant_types` nor")
    }));
}

fn minimal_warnings() -> Vec<String> {
    warnings(&minimal())
}

#[test]
fn a_client_definition_that_no_uaa_takes_is_refused_with_its_location() {
    for (definition, rejection) in [
        (
            "{scopes: openid}",
            "`cf.uaa.client_definition.authorized_grant_types` is missing",
        ),
        (
            "{authorized_grant_types: 'implicit,client_credentials'}",
            "`cf.uaa.client_definition.authorized_grant_types` has `implicit`",
        ),
        (
            "{scopes: [openid], authorized_grant_types: implicit}",
            "`cf.uaa.client_definition.scopes` is a list; it must be text",
        ),
    ] {
        let findings = findings(&with_client_definition(definition));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("broker.yml:15:"), "{findings:?}");
        assert!(findings[0].contains(rejection), "{findings:?}");
    }
}

#[test]
fn findings_about_a_client_definition_are_reported() {
    for (definition, warning) in [
        (
            "{authorized_grant_types: client_credential}",
            "is `client_credentials` meant?",
        ),
        (
            "{authorized_grant_types: client_credentials, allowpublic: true}",
            "the secret of a public client is known",
        ),
        (
            "{authorized_grant_types: client_credentials, scope: openid}",
            "`cf.uaa.client_definition.scope` is not known and ignored; is `scopes` meant?",
        ),
    ] {
        let warnings = warnings(&with_client_definition(definition));
        assert!(
            warnings.iter().any(|found| found.contains(warning)),
            "{warning}: {warnings:?}"
        );
    }
}

#[test]
fn clients_of_which_adapters_are_not_reported_are_warned_about() {
    let source = with_client_definition("{authorized_grant_types: client_credentials}")
        .replace("broker:\n", "broker:\n  use_stdin: false\n");
    let said = "gives each instance a UAA client that its adapter does not receive";
    let warnings = warnings(&source);
    assert!(
        warnings.iter().any(|warning| warning.contains(said)),
        "{warnings:?}"
    );
}

#[test]
fn a_client_definition_that_is_not_used_is_warned_about() {
    let definition = "{authorized_grant_types: client_credentials}";
    let defined = with_client_definition(definition);
    let as_user = defined.replace(
        "client_credentials: {client_id: odb, client_secret: hunter2-cf}",
        "user_credentials: {username: admin, password: hunter2-cf}",
    );
    assert_ne!(as_user, defined);
    let incomplete = defined
        .replace("  url: https://api.example\n", "")
        .replace("broker:\n", "broker:\n  disable_cf_startup_checks: true\n");
    for source in [as_user, incomplete] {
        let loaded = parse(&source).unwrap();
        let cf = loaded.config.cloud_foundry;
        assert!(cf.is_none_or(|cf| cf.client_definition.is_none()));
        let said = "`cf.uaa.client_definition` is not used, no service instance gets a UAA client";
        let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert!(
            warnings.iter().any(|warning| warning.contains(said)),
            "{warnings:?}"
        );
    }
}
