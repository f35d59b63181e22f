//! Two foundations on one machine.

use std::collections::BTreeSet;

use odb_sandbox::{
    faults::{Effect, Fault, Moment, ServerName},
    foundation::{Foundation, Persistence},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    client::{chain, send},
    foundation::Sandbox,
};

/// All addresses of a description.
fn addresses(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.contains("127.") && !text.starts_with('/') => {
            found.insert(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|value| addresses(value, found)),
        Value::Object(all) => all.values().for_each(|value| addresses(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn two_foundations_share_no_address_no_secret_and_no_authority() {
    let (one, other) = (Sandbox::kept().await, Sandbox::kept().await);

    let of = |sandbox: &Sandbox| {
        let mut found = BTreeSet::new();
        addresses(&json!(sandbox.description()), &mut found);
        found
    };
    let (of_one, of_other) = (of(&one), of(&other));
    assert!(of_one.len() > 5, "{of_one:?}");
    assert!(of_one.is_disjoint(&of_other), "{of_one:?} {of_other:?}");
    let unauthenticated_client = one.client().get(&other.director("/info")).await;
    let error = unauthenticated_client
        .err()
        .expect("their authority is another one");
    assert!(format!("{error:?}").contains("BadSignature"), "{error:?}");
    assert!(other.client().get(&other.director("/info")).await.is_ok());
}

#[tokio::test]
async fn a_token_of_one_foundation_opens_nothing_in_the_other() {
    let (one, other) = (Sandbox::start().await, Sandbox::start().await);
    let token = one.client().token(&one.description().director).await;

    let at = async |sandbox: &Sandbox| {
        let client = sandbox.client();
        let request = client.request(Method::GET, &sandbox.director("/deployments"));
        send(request.bearer_auth(&token)).await.unwrap().status
    };

    assert_eq!(at(&one).await, StatusCode::OK);
    assert_eq!(at(&other).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_fault_in_one_foundation_does_not_affect_the_other() {
    let (one, other) = (Sandbox::start().await, Sandbox::start().await);
    let drop = Effect::Drop {
        moment: Moment::Before,
    };
    let faults = one.foundation().faults();
    faults.add(Fault::new(ServerName::Director, drop)).unwrap();

    assert!(one.client().get(&one.director("/info")).await.is_err());
    assert!(other.client().get(&other.director("/info")).await.is_ok());
    assert!(other.foundation().faults().list().is_empty());
}

#[tokio::test]
async fn a_net_that_another_sandbox_has_is_not_taken() {
    let one = Sandbox::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut options = crate::foundation::options(folder.path());
    options.net = Some(one.description().net.parse().unwrap());
    options.persistence = Persistence::Kept;

    let refused = Foundation::start(crate::foundation::settings(), options).await;

    let error = refused.err().expect("the net is taken");
    let net = &one.description().net;
    assert_eq!(
        chain(&error),
        format!("could not claim a loopback net: the net `{net}` is taken by another sandbox")
    );
    assert!(
        one.client().get(&one.director("/info")).await.is_ok(),
        "the one that was first is not disturbed"
    );
}
