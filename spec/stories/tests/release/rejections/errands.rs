//! The errors of the errands' jobs.

use odb_stories::release::render_all;
use serde_json::{Value, json};

use super::{
    super::samples::{errand, smallest},
    plan,
};

#[test]
fn jobs_of_errands_refuse_what_the_go_release_refuses() {
    let plans = |access: Value| {
        let mut broker = smallest();
        let plan = plan(&mut broker).as_object_mut().expect("a plan is a map");
        plan.extend(access.as_object().cloned().expect("access is a map"));
        broker
    };
    let named = json!({ "broker_name": "lumen" });
    let fine = smallest();
    let upgrade = "upgrade-all-service-instances";
    let recreate = "recreate-all-service-instances";
    let purge = "delete-all-service-instances-and-deregister-broker";
    let cases = [
        (
            "register-broker",
            json!({}),
            fine.clone(),
            "Can't find property '[\"broker_name\"]'",
        ),
        (
            "deregister-broker",
            json!({}),
            fine.clone(),
            "Can't find property '[\"broker_name\"]'",
        ),
        (
            purge,
            json!({}),
            fine.clone(),
            "Can't find property '[\"broker_name\"]'",
        ),
        (
            "register-broker",
            named.clone(),
            plans(json!({ "cf_service_access": "sometimes" })),
            "Unsupported value 'sometimes' for cf_service_access.",
        ),
        (
            "register-broker",
            named.clone(),
            plans(json!({ "service_access_org": "payments" })),
            "Plan single has a service_access_org, which requires cf_service_access org-restricted",
        ),
        (
            "register-broker",
            named.clone(),
            plans(json!({ "cf_service_access": "org-restricted" })),
            "Plan single has cf_service_access org-restricted, but no service_access_org",
        ),
        (
            upgrade,
            json!({ "attempt_limit": 0 }),
            fine.clone(),
            "Invalid upgrade-all-service-instances config - attempt_limit",
        ),
        (
            upgrade,
            json!({ "max_in_flight": 0 }),
            fine.clone(),
            "Invalid upgrade-all-service-instances config - max_in_flight",
        ),
        (
            upgrade,
            json!({ "canaries": -1 }),
            fine.clone(),
            "Invalid upgrade-all-service-instances config - canaries",
        ),
        (
            recreate,
            json!({ "attempt_limit": 0 }),
            fine.clone(),
            "Invalid recreate-all-service-instances config - attempt_limit",
        ),
        (
            recreate,
            json!({ "max_in_flight": -1 }),
            fine,
            "Invalid recreate-all-service-instances config - max_in_flight",
        ),
    ];
    let renderings = cases
        .iter()
        .map(|(job, properties, broker, _)| errand(job, properties.clone(), broker));
    for ((job, _, _, text), outcome) in cases.iter().zip(render_all(renderings)) {
        let rejection = outcome
            .err()
            .unwrap_or_else(|| panic!("`{job}` does not say `{text}`"));
        assert!(rejection.texts()[0].starts_with(text), "{rejection}");
    }
}

/// It is optional for the broker.
#[test]
fn recreations_do_without_an_authority_of_the_director() {
    let job = "recreate-all-service-instances";
    let rendered = errand(job, json!({}), &smallest()).render();
    let rendered = rendered.unwrap_or_else(|rejection| panic!("{rejection}"));
    let director = &rendered.document("config/config.yml")["bosh"];
    assert_eq!(*director, json!({ "url": "https://10.0.0.6:25555" }));
}

/// A variable that is empty says nothing.
#[test]
fn an_empty_name_is_none() {
    let jobs = [
        "register-broker",
        "deregister-broker",
        "delete-all-service-instances-and-deregister-broker",
    ];
    let nameless = json!({ "broker_name": "" });
    let renderings = jobs.map(|job| errand(job, nameless.clone(), &smallest()));
    for (job, outcome) in jobs.into_iter().zip(render_all(renderings)) {
        let rejection = outcome.expect_err(job);
        let text = format!("Invalid {job} config - must specify broker_name");
        assert_eq!(rejection.texts()[0], text);
    }
}
