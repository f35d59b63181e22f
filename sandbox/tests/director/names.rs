//! Names of BOSH DNS resolve to the addresses of VMs.

use serde_json::{Value, json};

use crate::foundation::{Foundation, redis};

fn addresses(foundation: &Foundation, name: &str) -> Vec<String> {
    let addresses = foundation.director().resolve(name).unwrap().into_iter();
    addresses.map(|address| address.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_are_found_by_query_and_by_id() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("service-instance_D4");
    manifest["instance_groups"][0]["instances"] = json!(2);
    bosh.deployed(&manifest).await;
    bosh.deployed(&redis("another")).await;
    let vms = bosh
        .get("/deployments/service-instance_D4/vms")
        .await
        .json();
    let address = |vm: &Value| vm["ips"][0].as_str().unwrap().to_owned();
    let (one, other) = (&vms[0], &vms[1]);
    let location = "redis-server.default.service-instance-d4.bosh";

    let mut all = [address(one), address(other)];
    all.sort();
    assert_eq!(addresses(&foundation, &format!("q-s0.{location}")), all);
    let id = one["id"].as_str().unwrap();
    assert_eq!(
        addresses(&foundation, &format!("{id}.{location}")),
        [address(one)]
    );
    let index = one["index"].to_string();
    let query = format!("q-i{index}s3.{location}");
    assert_eq!(addresses(&foundation, &query), [address(one)]);
    assert_eq!(addresses(&foundation, &format!("q-s1.{location}")), [""; 0]);
    let nowhere = "q-s0.redis-server.other.service-instance-d4.bosh";
    assert_eq!(addresses(&foundation, nowhere), [""; 0]);

    let lost = foundation.cpi().vms();
    for vm in lost {
        let cid = vm.to_string();
        if one["cid"] == cid.as_str() {
            foundation.cpi().kill_vm(&vm).await.unwrap();
        }
    }
    assert_eq!(
        addresses(&foundation, &format!("q-s0.{location}")),
        [address(other)]
    );
    assert_eq!(
        addresses(&foundation, &format!("q-s1.{location}")),
        [address(one)]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_a_link_is_a_name_that_is_answered() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let providers = bosh.get("/link_providers?deployment=d").await.json();
    let shared = providers.as_array().unwrap().iter();
    let provider = shared.clone().find(|one| one["shared"] == true).unwrap();
    let order = json!({
        "link_provider_id": provider["id"],
        "link_consumer": {"owner_object": {"name": "app", "type": "external"}},
    });
    let link = bosh.post_json("/links", &order).await.json();
    let id = link["id"].as_str().unwrap();

    for query in ["", "&azs[]=z1", "&azs[]=z1&status=healthy"] {
        let path = format!("/link_address?link_id={id}{query}");
        let name = bosh.get(&path).await.json()["address"].clone();
        let expected = bosh.address("d", "redis-server").await;
        let name = name.as_str().unwrap();
        assert_eq!(addresses(&foundation, name), [expected], "{name}");
    }
}
