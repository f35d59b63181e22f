//! Values that YAML makes something else of, versions without quotes, and older forms of properties.

use odb_adapter_sdk::yaml;
use odb_stories::release::{Rendered, render_all};
use serde_json::{Value, json};

use super::samples::{Machine, broker, errand, smallest};

/// Texts with another meaning in YAML, ERB, a shell, or as a variable of BOSH.
const TEXTS: &[&str] = &[
    "yes",
    "no",
    "on",
    "y",
    "~",
    "null",
    "true",
    "1.10",
    "1e3",
    "0o17",
    "017",
    "12:30:45",
    "0x1f",
    "1_000",
    ".inf",
    "2026-11-22",
    "=",
    "<<",
    "-",
    "- a",
    "a: b",
    "a #b",
    "#",
    "?",
    "[a",
    "{a",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "'",
    "\"",
    "it's \"quoted\" `twice`",
    "\\n",
    "\\",
    "a\nb\n",
    "\n",
    "\ta",
    " a ",
    "((secret))",
    "((!secret))",
    "<%= p('port') %>",
    "%>",
    "#{1 + 1}",
    "$HOME",
    "$(id)",
    "`id`",
    "!important",
    "schön",
    "日本語",
    "😀",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}x",
    "a\r\nb",
    "Aa1!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
];

fn only(outcome: Result<Rendered, odb_stories::release::Rejection>) -> Rendered {
    outcome.unwrap_or_else(|rejection| panic!("{rejection}"))
}

#[test]
fn every_text_comes_out_as_it_was_given() {
    let mut properties = smallest();
    properties["service_catalog"]["global_properties"] = json!({
        "texts": TEXTS,
        "keys": TEXTS.iter().map(|text| ((*text).to_owned(), json!(1))).collect::<serde_json::Map<_, _>>(),
        "others": [null, true, 0, -1, 1.5, 1e300, 9_007_199_254_740_993_i64, {}, [], { "null": null }],
    });
    let renderings = TEXTS.iter().flat_map(|text| {
        let mut properties = smallest();
        properties["username"] = json!(text);
        properties["password"] = json!(text);
        properties["service_catalog"]["service_description"] = json!(text);
        let errand = errand(
            "orphan-deployments",
            json!({ "broker_uri": text }),
            &properties,
        );
        [broker(properties), errand]
    });
    let renderings = renderings.chain([broker(properties.clone())]);
    let mut rendered = render_all(renderings).into_iter().map(only);
    for text in TEXTS {
        let (broker, errand) = (rendered.next(), rendered.next());
        let (broker, errand) = (
            broker.expect("it was rendered"),
            errand.expect("it was rendered"),
        );
        let document = broker.document("config/broker.yml");
        assert_eq!(document["broker"]["username"], *text);
        assert_eq!(document["broker"]["password"], *text);
        assert_eq!(document["service_catalog"]["service_description"], *text);
        let api = &errand.document("config/config.yml")["broker_api"];
        assert_eq!(api["url"], *text);
        assert_eq!(api["authentication"]["basic"]["password"], *text);
    }
    let document = rendered
        .next()
        .expect("it was rendered")
        .document("config/broker.yml");
    let (given, found) = (&properties["service_catalog"], &document["service_catalog"]);
    assert_eq!(found["global_properties"], given["global_properties"]);
}

/// The operator forgot the quotes: what is left of a version is a text again, and no number.
#[test]
fn versions_are_texts() {
    let mut properties = smallest();
    properties["service_deployment"]["releases"][0]["version"] = json!(1.1);
    properties["service_deployment"]["stemcells"][0]["version"] = json!(621);
    let rendered = only(broker(properties).render());
    let software = &rendered.document("config/broker.yml")["service_deployment"];
    assert_eq!(software["releases"][0]["version"], "1.1");
    assert_eq!(software["stemcells"][0]["version"], "621");
}

#[test]
fn older_forms_become_the_newer_ones() {
    let mut properties = smallest();
    let older = yaml::from_str::<Value>(
        "
cf:
  url: https://api.sys.example.org
  authentication:
    url: https://uaa.older.example.org
    client_credentials: {client_id: older, secret: of-old}
service_deployment:
  releases: [{name: lumen, version: '7.4.2', jobs: [lumen-server]}]
  stemcell: {os: ubuntu-jammy, version: '1.860'}
",
    );
    let older = older.expect("it is YAML");
    for section in ["cf", "service_deployment"] {
        properties[section] = older[section].clone();
    }
    let catalog = &mut properties["service_catalog"];
    catalog["global_quotas"] =
        json!({ "resource_limits": { "ips": 9 }, "resources": { "memory": { "limit": 1 } } });
    let plan = catalog["plans"][0].clone();
    catalog["plans"] = json!([null, plan]);
    let plan = &mut catalog["plans"][1];
    plan["quotas"] = json!({
        "resource_limits": { "ips": 4 },
        "resources": { "ips": { "limit": 1, "cost": 7 }, "memory": { "cost": 3 } },
    });
    plan["resource_costs"] = json!({ "ips": 2, "disks": 5 });

    let machine = Machine::new();
    let rendered = only(broker(properties.clone()).render());
    machine.put(&rendered);
    machine.expect_no_findings();
    let document = rendered.document("config/broker.yml");
    let uaa = json!({
        "url": "https://uaa.older.example.org",
        "authentication": { "client_credentials": { "client_id": "older", "client_secret": "of-old" } },
    });
    assert_eq!(document["cf"]["uaa"], uaa);
    assert_eq!(
        document["service_deployment"]["stemcells"],
        json!([{ "os": "ubuntu-jammy", "version": "1.860" }])
    );
    let catalog = &document["service_catalog"];
    assert_eq!(
        catalog["global_quotas"],
        json!({ "resources": { "ips": { "limit": 9 } } })
    );
    assert_eq!(catalog["plans"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        catalog["plans"][0]["quotas"]["resources"],
        json!({ "ips": { "limit": 4, "cost": 2 }, "memory": { "cost": 3 }, "disks": { "cost": 5 } })
    );
    assert!(catalog["plans"][0].get("resource_costs").is_none());

    let errands = [
        "register-broker",
        "upgrade-all-service-instances",
        "delete-all-service-instances",
    ];
    let renderings = errands.map(|job| errand(job, json!({ "broker_name": "lumen" }), &properties));
    for rendered in render_all(renderings) {
        assert_eq!(
            only(rendered).document("config/config.yml")["cf"]["uaa"],
            uaa
        );
    }
}

/// It vanishes with the Go release.
#[test]
fn a_description_of_the_maintenance_info_stays_without_a_version() {
    let mut properties = smallest();
    properties["service_catalog"]["maintenance_info"] = json!({ "description": "Server 7" });
    let rendered = only(broker(properties).render());
    let found = &rendered.document("config/broker.yml")["service_catalog"]["maintenance_info"];
    assert_eq!(*found, json!({ "description": "Server 7" }));
}

#[test]
fn what_is_not_configured_is_not_in_the_file() {
    let mut properties = smallest();
    properties["cf"] = Value::Null;
    properties["disable_cf_startup_checks"] = json!(true);
    properties["service_instances_api"] =
        json!({ "authentication": { "basic": { "username": "a" } } });
    let rendered = only(broker(properties).render());
    let document = rendered.document("config/broker.yml");
    for section in ["cf", "credhub", "bosh_credhub", "service_instances_api"] {
        assert!(document.get(section).is_none(), "{section}");
    }
    for section in [
        "maintenance_info",
        "global_quotas",
        "dashboard_client",
        "global_properties",
    ] {
        assert!(
            document["service_catalog"].get(section).is_none(),
            "{section}"
        );
    }
    let upgrade = errand(
        "upgrade-all-service-instances",
        json!({}),
        &json!({
            "username": "broker", "password": "of-the-broker", "service_catalog": { "plans": [{ "name": "single" }] },
        }),
    );
    let document = only(upgrade.render()).document("config/config.yml");
    assert!(document.get("cf").is_none());
    assert_eq!(document["maintenance_info_present"], false);
    assert_eq!(document["broker_api"]["url"], "http://10.0.16.4:8080");
}

#[test]
fn the_platform_upgrades_where_all_plans_have_a_version() {
    let versioned = |global: Value, plans: Value| {
        let mut broker = smallest();
        broker["service_catalog"]["maintenance_info"] = global;
        broker["service_catalog"]["plans"] = plans;
        errand("upgrade-all-service-instances", json!({}), &broker)
    };
    let own = json!({ "name": "a", "maintenance_info": { "version": "1.0.0" } });
    let none = json!({ "name": "b" });
    let cases = [
        (json!({ "version": "1.0.0" }), json!([none]), true),
        (json!({ "description": "only" }), json!([none]), false),
        (Value::Null, json!([own, null]), true),
        (Value::Null, json!([own, none]), false),
    ];
    let renderings = cases
        .iter()
        .map(|(global, plans, _)| versioned(global.clone(), plans.clone()));
    for ((_, _, expected), outcome) in cases.iter().zip(render_all(renderings)) {
        assert_eq!(
            only(outcome).document("config/config.yml")["maintenance_info_present"],
            *expected
        );
    }
}

/// The errand does not change plans that it does not get.
#[test]
fn plans_that_are_settled_by_hand_are_not_asked_to_the_registration() {
    let mut broker = smallest();
    broker["service_catalog"]["plans"] = json!([
        null,
        { "name": "open" },
        { "name": "by-hand", "cf_service_access": "manual" },
        { "name": "closed", "cf_service_access": "disable" },
        { "name": "for-some", "cf_service_access": "org-restricted", "service_access_org": "a", "service_access_orgs": ["b"] },
    ]);
    let rendered = errand(
        "register-broker",
        json!({ "broker_name": "lumen" }),
        &broker,
    )
    .render();
    let plans = &only(rendered).document("config/config.yml")["plans"];
    assert_eq!(
        *plans,
        json!([
            { "name": "open", "cf_service_access": "enable" },
            { "name": "closed", "cf_service_access": "disable" },
            { "name": "for-some", "cf_service_access": "org-restricted", "service_access_org": "a", "service_access_orgs": ["b"] },
        ])
    );
}

/// An ops file or a variable leaves it empty.
#[test]
fn an_empty_text_is_no_property_of_an_errand() {
    let jobs = [
        "upgrade-all-service-instances",
        "recreate-all-service-instances",
        "orphan-deployments",
        "service-metrics-adapter",
        "register-broker",
        "delete-all-service-instances",
    ];
    let fine = smallest();
    let renderings = jobs.iter().flat_map(|job| {
        let name = if *job == "register-broker" { "lumen" } else { "" };
        let given = json!({
            "broker_name": name, "broker_uri": "", "tls": { "ca_cert": "" }, "run": { "max_failures": "" }, "max_in_flight": 2,
            "give_up_after_seconds": "",
        });
        let absent = json!({ "broker_name": name, "max_in_flight": 2 });
        [given, absent].map(|properties| {
            let properties = match name {
                "" => properties,
                _ => json!({ "broker_name": name, "broker_uri": properties["broker_uri"] }),
            };
            errand(job, properties, &fine)
        })
    });
    let rendered: Vec<Rendered> = render_all(renderings).into_iter().map(only).collect();
    for (job, pair) in jobs.iter().zip(rendered.chunks(2)) {
        let files = |one: &Rendered| -> Vec<(String, String)> {
            let files = one.files();
            files
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .collect()
        };
        let (given, mut absent) = (files(&pair[0]), files(&pair[1]));
        if *job == "delete-all-service-instances" {
            // No name is no argument, and not an empty one.
            absent.retain(|(path, _)| path != "config/bpm.yml");
            let arguments = &pair[0].document("config/bpm.yml")["processes"][0]["args"];
            assert_eq!(arguments.as_array().map(Vec::len), Some(3), "{arguments}");
        }
        for file in absent {
            assert!(given.contains(&file), "{job}: {given:#?}");
        }
    }
}

/// As of the list of plans with the Go release.
#[test]
fn what_is_null_in_a_list_counts_for_nothing() {
    let mut properties = smallest();
    let plan = &mut properties["service_catalog"]["plans"][0];
    plan["binding_with_dns"] =
        json!([{ "name": "a", "link_provider": "b", "instance_group": "lumen-server" }]);
    plan["lifecycle_errands"] =
        json!({ "post_deploy": [{ "name": "check" }], "pre_delete": [{ "name": "clean" }] });
    let without = only(broker(properties.clone()).render());

    let with_null = |list: &mut Value| {
        list.as_array_mut()
            .expect("it is a list")
            .insert(0, Value::Null);
    };
    let plan = &mut properties["service_catalog"]["plans"][0];
    for name in ["binding_with_dns", "instance_groups"] {
        with_null(&mut plan[name]);
    }
    for kind in ["post_deploy", "pre_delete"] {
        with_null(&mut plan["lifecycle_errands"][kind]);
    }
    for name in ["releases", "stemcells"] {
        with_null(&mut properties["service_deployment"][name]);
    }
    let with = only(broker(properties).render());
    let file = "config/broker.yml";
    assert_eq!(with.document(file), without.document(file));
}
