//! The input of indicators and metric collectors.

use odb_stories::release::{Rejection, Rendered};
use serde_json::{Value, json};

use super::samples::{broker, smallest};

fn rendered(properties: Value) -> Rendered {
    broker(properties)
        .render()
        .unwrap_or_else(|rejection| panic!("{rejection}"))
}

fn scraped(mut properties: Value, of_scraper: Value) -> Result<Rendered, Rejection> {
    properties["metrics"]["prom_scraper"] = of_scraper;
    properties["metrics"]["prom_scraper"]["enabled"] = json!(true);
    broker(properties).render()
}

fn indicators(rendered: &Rendered) -> Vec<Value> {
    let document = rendered.document("config/indicators.yml");
    let indicators = document["spec"]["indicators"].as_array();
    indicators.cloned().expect("a document has indicators")
}

#[test]
fn instances_are_watched_against_their_limits() {
    let mut properties = smallest();
    let catalog = &mut properties["service_catalog"];
    catalog["service_name"] = json!("lumen.cache v-2");
    catalog["global_quotas"] = json!({ "service_instance_limit": 9 });
    let plan = catalog["plans"][0].clone();
    catalog["plans"] = json!([plan, null, plan]);
    catalog["plans"][0]["name"] = json!("3 nodes, in-memory");
    catalog["plans"][0]["quotas"] = json!({ "service_instance_limit": 7 });
    catalog["plans"][2]["plan_id"] = json!("id-of-another");
    let rendered = rendered(properties);

    let document = rendered.document("config/indicators.yml");
    assert_eq!(document["apiVersion"], "indicatorprotocol.io/v1");
    assert_eq!(document["kind"], "IndicatorDocument");
    let labels = json!({ "deployment": "lumen-broker", "source_id": "lumen-broker" });
    assert_eq!(document["metadata"]["labels"], labels);
    assert_eq!(document["spec"]["product"]["name"], "lumen-broker");

    let found = indicators(&rendered);
    let names: Vec<&Value> = found.iter().map(|indicator| &indicator["name"]).collect();
    let expected = [
        "global_total_instances",
        "_3_nodes__in_memory_total_instances",
        "single_total_instances",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        document["spec"]["layout"]["sections"][0]["indicators"],
        json!(expected)
    );
    let labels = "{deployment=\"$deployment\",source_id=\"$source_id\"}";
    let queries = [
        "_on_demand_broker_lumen_cache_v_2_total_instances",
        "_on_demand_broker_lumen_cache_v_2_3_nodes__in_memory_total_instances",
        "_on_demand_broker_lumen_cache_v_2_single_total_instances",
    ];
    for (indicator, query) in found.iter().zip(queries) {
        assert_eq!(indicator["promql"], format!("{query}{labels}"));
    }
    let thresholds = |critical: u64, warning: u64| {
        json!([
            { "level": "critical", "operator": "gte", "value": critical },
            { "level": "warning", "operator": "gte", "value": warning },
        ])
    };
    assert_eq!(found[0]["thresholds"], thresholds(9, 7));
    assert_eq!(found[1]["thresholds"], thresholds(7, 5));
    assert_eq!(found[2]["thresholds"], json!([]), "nothing limits it");
}

/// A file without a port is passed over.
#[test]
fn the_metrics_of_the_broker_are_collected_only_when_configured() {
    let rendered = rendered(smallest());
    assert_eq!(
        rendered.document("config/prom_scraper_config.yml"),
        json!({})
    );
    let own = indicators(&rendered);
    assert!(
        own.iter()
            .all(|it| !it["promql"].to_string().contains("odb_"))
    );
}

#[test]
fn a_collector_that_is_asked_to_has_all_that_it_needs() {
    let plain = scraped(smallest(), json!({ "scrape_interval": "60s" }));
    let plain = plain.unwrap_or_else(|rejection| panic!("{rejection}"));
    assert_eq!(
        plain.document("config/prom_scraper_config.yml"),
        json!({
            "port": 8080,
            "scheme": "http",
            "path": "/metrics",
            // `broker:of-the-broker`
            "headers": { "Authorization": "Basic YnJva2VyOm9mLXRoZS1icm9rZXI=" },
            "source_id": "lumen-broker",
            "instance_id": "id-of-broker-0",
            "scrape_interval": "60s",
        })
    );
    let own = indicators(&plain);
    let quota = own
        .iter()
        .find(|it| it["name"] == "quota_used")
        .expect("quotas are watched");
    assert_eq!(
        quota["promql"],
        "odb_quota_used{source_id=\"$source_id\"} / odb_quota_limit{source_id=\"$source_id\"}"
    );

    let mut secured = smallest();
    secured["tls"] = json!({ "certificate": "CERTIFICATE", "private_key": "KEY" });
    let rejection = scraped(secured.clone(), json!({})).expect_err("the name to verify is missing");
    assert!(
        rejection.texts()[0]
            .starts_with("Invalid metrics.prom_scraper config - must specify server_name")
    );
    let secured = scraped(
        secured,
        json!({ "server_name": "broker.example.org", "ca_cert": "AUTHORITY" }),
    );
    let secured = secured.unwrap_or_else(|rejection| panic!("{rejection}"));
    let document = secured.document("config/prom_scraper_config.yml");
    assert_eq!(document["scheme"], "https");
    assert_eq!(document["server_name"], "broker.example.org");
    assert_eq!(
        document["ca_path"],
        "/var/vcap/jobs/broker/certs/metrics_ca.crt"
    );
    assert_eq!(secured.file("certs/metrics_ca.crt").trim(), "AUTHORITY");
}
