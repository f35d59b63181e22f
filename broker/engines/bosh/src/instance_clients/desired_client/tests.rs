use serde_json::json;

use super::*;

const SPACE_GUID: &str = "5e1f";

fn definition() -> ClientDefinition {
    ClientDefinition {
        scopes: list(&["openid", "cloud.ODB_SPACE_GUID.read"]),
        authorities: list(&["svc.ODB_SPACE_GUID"]),
        authorized_grant_types: list(&["client_credentials"]),
        resource_ids: list(&["res-ODB_SPACE_GUID"]),
        name: None,
        allow_public: false,
    }
}

fn list(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn instance() -> InstanceId {
    InstanceId::try_from("i-1".to_owned()).unwrap()
}

fn here() -> CfContext {
    CfContext {
        space: Some(SPACE_GUID.to_owned()),
        name: Some("cache".to_owned()),
    }
}

fn made(
    definition: &ClientDefinition,
    location: &CfContext,
) -> Result<ClientRegistration, ClientError> {
    desired_client(definition).new_client(&instance(), location, "op-1".to_owned())
}

/// As the operation leaves a client that made it, once that has succeeded.
fn settled(mut client: ClientRegistration) -> ClientRegistration {
    let ownership = Ownership {
        made_by: None,
        ..Ownership::of(&client)
    };
    client.additional.extend(ownership.into_members());
    client
}

fn renewed(
    definition: &ClientDefinition,
    found: &ClientRegistration,
    location: &CfContext,
) -> ClientRegistration {
    desired_client(definition).renewed(found, location, None)
}

fn desired_client(definition: &ClientDefinition) -> DesiredClient<'_> {
    static OFFERING: std::sync::LazyLock<OfferingId> =
        std::sync::LazyLock::new(|| "offering".to_owned().into());
    DesiredClient {
        definition,
        offering: &OFFERING,
    }
}

#[test]
fn the_space_is_filled_in_wherever_it_is_mentioned() {
    let client = made(&definition(), &here()).unwrap();

    assert_eq!(client.scope, ["openid", "cloud.5e1f.read"]);
    assert_eq!(client.authorities, ["svc.5e1f"]);
    assert_eq!(client.resource_ids, ["res-5e1f"]);
    assert_eq!(client.name.as_deref(), Some("cache"));
    assert_eq!(client.client_id.as_str(), "i-1");
    assert_eq!(Ownership::of(&client).made_by.as_deref(), Some("op-1"));
}

#[test]
fn a_client_is_created_for_an_unknown_space_only_if_the_space_does_not_matter() {
    let nowhere = CfContext::default();
    assert!(matches!(
        made(&definition(), &nowhere),
        Err(ClientError::SpaceUnknown)
    ));
    let anywhere = ClientDefinition {
        scopes: list(&["openid"]),
        authorities: Vec::new(),
        resource_ids: Vec::new(),
        ..definition()
    };
    let client = made(&anywhere, &nowhere).unwrap();
    assert_eq!(client.name, None);
}

#[test]
fn an_address_is_needed_from_the_beginning_for_two_grants_only() {
    for (grants, addresses) in [
        (&["client_credentials"][..], &[][..]),
        (&["implicit"], &["https://placeholder.example.com"]),
        (
            &["refresh_token", "authorization_code"],
            &["https://placeholder.example.com"],
        ),
    ] {
        let definition = ClientDefinition {
            authorized_grant_types: list(grants),
            ..definition()
        };
        assert_eq!(made(&definition, &here()).unwrap().redirect_uri, addresses);
    }
}

#[test]
fn the_operators_name_goes_before_that_of_the_instance() {
    let named = ClientDefinition {
        name: Some("dashboard".to_owned()),
        ..definition()
    };
    let client = made(&named, &here()).unwrap();
    assert_eq!(client.name.as_deref(), Some("dashboard"));
    let client = made(&definition(), &here()).unwrap();
    assert_eq!(
        renewed(&named, &client, &here()).name.as_deref(),
        Some("dashboard")
    );
}

#[test]
fn what_uaa_makes_of_a_client_needs_no_change() {
    let definition = ClientDefinition {
        authorities: Vec::new(),
        authorized_grant_types: list(&["authorization_code"]),
        ..definition()
    };
    let mut shown = settled(made(&definition, &here()).unwrap());
    shown.scope.reverse();
    shown.authorities = list(&["uaa.none"]);
    shown.resource_ids = list(&["none"]);
    shown.authorized_grant_types = list(&["refresh_token", "authorization_code"]);
    shown.additional.insert("lastModified".to_owned(), json!(1));

    let wanted = renewed(&definition, &shown, &here());
    assert!(DesiredClient::is_met_by(&wanted, &shown), "{wanted:?}");

    // A grant that UAA adds is required once it is defined.
    shown.authorized_grant_types = list(&["authorization_code"]);
    let asking = ClientDefinition {
        authorized_grant_types: list(&["authorization_code", "refresh_token"]),
        ..definition
    };
    let wanted = renewed(&asking, &shown, &here());
    assert!(!DesiredClient::is_met_by(&wanted, &shown));
}

#[test]
fn a_request_that_does_not_report_where_the_instance_is_leaves_name_and_space_as_they_are() {
    let client = settled(made(&definition(), &here()).unwrap());

    let wanted = renewed(&definition(), &client, &CfContext::default());

    assert_eq!(wanted.name.as_deref(), Some("cache"));
    assert_eq!(wanted.scope, client.scope);
    assert!(DesiredClient::is_met_by(&wanted, &client));
}

#[test]
fn a_client_of_the_go_broker_keeps_what_cannot_be_reported_without_its_space() {
    let mut client = made(&definition(), &here()).unwrap();
    client.additional.clear();
    client.scope = list(&["cloud.old.read"]);
    let fewer = ClientDefinition {
        authorities: Vec::new(),
        ..definition()
    };

    let wanted = renewed(&fewer, &client, &CfContext::default());

    assert_eq!(wanted.scope, ["cloud.old.read"]);
    assert_eq!(wanted.authorities, ["uaa.none"], "rights are taken away");
    let ownership = Ownership::of(&wanted);
    assert_eq!(ownership.offering.as_deref(), Some("offering"));
    assert_eq!(ownership.made_by, None, "its secret is where it belongs");
}

#[test]
fn a_client_is_restored_to_what_it_was_with_its_marks() {
    let mut before = made(&definition(), &here()).unwrap();
    before.name = None;
    before.authorities = Vec::new();
    before
        .additional
        .insert("lastModified".to_owned(), json!(1));

    let restored = as_it_was(&before);

    assert_eq!(restored.name.as_deref(), Some(""));
    assert_eq!(restored.authorities, ["uaa.none"]);
    assert_eq!(restored.scope, before.scope);
    assert_eq!(Ownership::of(&restored), Ownership::of(&before));
    assert!(!restored.additional.contains_key("lastModified"));
}

#[test]
fn space_and_name_are_read_wherever_platforms_put_them() {
    let cf_context = |body: serde_json::Value| {
        CfContext::of(&RequestParameters::from_json(&body.to_string()).unwrap())
    };
    let reported = cf_context(json!({
        "space_guid": "old", "context": { "space_guid": SPACE_GUID, "instance_name": "cache" },
    }));
    assert_eq!(reported, here());
    let reported = cf_context(json!({ "space_guid": SPACE_GUID, "context": null }));
    assert_eq!(reported.space.as_deref(), Some(SPACE_GUID));
    for untold in [
        json!({}),
        json!({ "context": { "space_guid": "", "instance_name": 7 } }),
        json!({ "context": [] }),
    ] {
        assert_eq!(cf_context(untold), CfContext::default());
    }
}

#[test]
fn a_client_without_metadata_is_own_only_under_an_id_of_the_cloud_controller() {
    let offering: OfferingId = "ours".to_owned().into();
    let belong = |instance: &str, offering_mark: Option<&str>| {
        let ownership = Ownership {
            offering: offering_mark.map(str::to_owned),
            ..Ownership::default()
        };
        let instance = InstanceId::try_from(instance.to_owned()).unwrap();
        ownership.belong_to(&instance, &offering)
    };
    let guid = "b1f2c3d4-0f0c-4c55-8a5b-6f1f6a9c2d21";
    assert!(belong(guid, None));
    assert!(belong("my-instance", Some("ours")));
    assert!(!belong("cf", None));
    assert!(!belong(guid, Some("theirs")));
}
