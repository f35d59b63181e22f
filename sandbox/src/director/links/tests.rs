use serde_json::{Value, json};

use super::{
    AddressQuery, DeleteError, DeployedConsumer, DeployedLinks, DeployedProvider, DnsNames,
    ExternalLink, Health, LinkError, Links, Owner, SettledLinks, deployed::ProviderKey,
};
use crate::{director::ids::DeploymentName, store::Store};

const DEPLOYMENT: &str = "service-instance_d4";

fn links() -> Links {
    Links::open(&Store::in_memory()).unwrap()
}

fn name(text: &str) -> DeploymentName {
    text.to_owned().into()
}

fn provider(dns: DnsNames) -> DeployedProvider {
    DeployedProvider {
        group: "srv".to_owned().into(),
        job: "tiny".to_owned().into(),
        original_name: "tiny-conn".to_owned(),
        name: "tiny-conn".to_owned(),
        kind: "tiny".to_owned(),
        shared: true,
        networks: vec!["default".to_owned(), "second".to_owned()],
        content: json!({}),
        dns,
    }
}

/// A deploy that succeeds, of one job that provides a link and consumes its own.
fn deploy(links: &Links, dns: DnsNames, port: u16) {
    let settled = begin_deploy(links, dns, port);
    links.remove_unsettled(&name(DEPLOYMENT), &settled);
}

/// A deploy that has settled its links and goes no further.
fn begin_deploy(links: &Links, dns: DnsNames, port: u16) -> SettledLinks {
    let key = ProviderKey {
        deployment: name(DEPLOYMENT),
        group: "srv".to_owned().into(),
        job: "tiny".to_owned().into(),
        original_name: "tiny-conn".to_owned(),
    };
    let consumer = DeployedConsumer {
        owner: Owner::Job("srv".to_owned().into(), "tiny".to_owned().into()),
        name: "peer".to_owned(),
        kind: "tiny".to_owned(),
        optional: true,
        provider: Some((key, json!({"port": port}))),
    };
    let found = DeployedLinks {
        providers: vec![DeployedProvider {
            content: json!({"port": port}),
            ..provider(dns)
        }],
        consumers: vec![consumer],
    };
    links.settle(&name(DEPLOYMENT), found)
}

fn ids(links: &Links) -> Vec<String> {
    links.links(&name(DEPLOYMENT)).iter().map(id_of).collect()
}

fn external(links: &Links, consumer: &str, network: Option<&str>) -> Result<Value, LinkError> {
    let provider = links.providers(&name(DEPLOYMENT))[0]["id"].clone();
    links.create(ExternalLink {
        provider: provider.as_str().unwrap().parse().unwrap(),
        consumer: consumer.to_owned(),
        network: network.map(str::to_owned),
    })
}

fn id_of(link: &Value) -> String {
    link["id"].as_str().unwrap().to_owned()
}

#[test]
fn ids_stay_over_deploys_but_that_of_a_link_whose_content_changes() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let binding = id_of(&external(&links, "binding", None).unwrap());
    let before = (
        links.providers(&name(DEPLOYMENT)),
        links.consumers(&name(DEPLOYMENT)),
    );
    let link = id_of(&links.links(&name(DEPLOYMENT))[0]);

    deploy(&links, DnsNames::Long, 5000);
    assert_eq!(id_of(&links.links(&name(DEPLOYMENT))[0]), link);
    deploy(&links, DnsNames::Long, 5001);

    let after = (
        links.providers(&name(DEPLOYMENT)),
        links.consumers(&name(DEPLOYMENT)),
    );
    assert_eq!(after, before);
    let now = ids(&links);
    assert!(!now.contains(&link) && now.contains(&binding), "{now:?}");
}

#[test]
fn a_deploy_that_fails_leaves_the_previous_links_beside_its_own() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let previous = ids(&links);

    begin_deploy(&links, DnsNames::Long, 5001);
    let both = ids(&links);
    assert_eq!((both.len(), &both[..1]), (2, &previous[..]));

    deploy(&links, DnsNames::Long, 5001);
    assert_eq!(ids(&links), both[1..]);
}

#[test]
fn an_outsider_gets_another_link_once_the_provider_has_changed_and_keeps_the_previous() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let previous = id_of(&external(&links, "binding", None).unwrap());

    deploy(&links, DnsNames::Long, 5001);
    let next = id_of(&external(&links, "binding", None).unwrap());

    assert_ne!(next, previous);
    let now = ids(&links);
    assert!(now.contains(&previous) && now.contains(&next), "{now:?}");
    let consumers = links.consumers(&name(DEPLOYMENT));
    assert_eq!(consumers.len(), 2, "one of them is the job: {consumers:?}");
}

#[test]
fn an_outsiders_link_is_shown_under_the_providers_alias() {
    let links = links();
    let found = DeployedLinks {
        providers: vec![DeployedProvider {
            name: "public".to_owned(),
            ..provider(DnsNames::Long)
        }],
        consumers: Vec::new(),
    };
    links.settle(&name(DEPLOYMENT), found);

    let link = external(&links, "binding", None).unwrap();

    assert_eq!(link["name"], "tiny-conn");
    let consumer = &links.consumers(&name(DEPLOYMENT))[0];
    assert_eq!(consumer["name"], "public");
    assert_eq!(
        consumer["link_consumer_definition"],
        json!({"name": "tiny-conn", "type": "tiny"})
    );
}

#[test]
fn an_outsider_gets_the_same_link_again_until_it_is_deleted() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let first = external(&links, "binding", None).unwrap();

    assert_eq!(external(&links, "binding", None).unwrap(), first);
    assert_ne!(external(&links, "other", None).unwrap(), first);
    let id = id_of(&first);
    assert_eq!(links.delete(&id), Ok(()));
    assert_eq!(links.delete(&id), Err(DeleteError::NoSuchLink(id)));
    let internal = id_of(&links.links(&name(DEPLOYMENT))[0]);
    assert_eq!(links.delete(&internal), Err(DeleteError::NotExternal));
}

#[test]
fn a_link_is_refused_to_what_is_not_shared_and_on_a_network_that_is_not_there() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let refused = external(&links, "binding", Some("nope")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Can't resolve network: `nope` in provider id: 1 for `binding`"
    );

    let private = DeployedProvider {
        shared: false,
        ..provider(DnsNames::Long)
    };
    let found = DeployedLinks {
        providers: vec![private],
        consumers: Vec::new(),
    };
    links.settle(&name(DEPLOYMENT), found);
    assert_eq!(external(&links, "binding", None), Err(LinkError::NotShared));
}

#[test]
fn an_address_spells_names_out_or_numbers_them_as_the_deployment_wants() {
    let cases = [
        (DnsNames::Long, "q-a1s3.srv.second.service-instance-d4.bosh"),
        (DnsNames::Short, "q-a1n2s3.q-g1.bosh"),
        (DnsNames::PerLink, "q-a1n2s3.q-g2.bosh"),
    ];
    for (dns, expected) in cases {
        let links = links();
        links.number_azs(["z1".to_owned(), "z2".to_owned()]);
        deploy(&links, dns, 5000);
        let link = id_of(&external(&links, "binding", Some("second")).unwrap());
        let query = AddressQuery {
            azs: vec!["z1".to_owned()],
            health: Health::Healthy,
        };
        assert_eq!(links.address(&link, &query).unwrap(), expected);
    }
}

#[test]
fn nothing_is_left_of_a_deleted_deployment() {
    let links = links();
    deploy(&links, DnsNames::Long, 5000);
    let link = id_of(&external(&links, "binding", None).unwrap());

    links.forget(&name(DEPLOYMENT));

    assert!(links.providers(&name(DEPLOYMENT)).is_empty());
    assert!(links.consumers(&name(DEPLOYMENT)).is_empty());
    assert!(links.links(&name(DEPLOYMENT)).is_empty());
    assert!(links.address(&link, &AddressQuery::default()).is_err());
}
