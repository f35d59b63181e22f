//! The state of a foundation with a state folder.

use odb_sandbox::foundation::{Foundation, wipe};
use serde_json::json;

use crate::{
    client::{Client, chain},
    foundation::{Sandbox, options, settings},
};

#[tokio::test]
async fn a_restarted_foundation_is_the_same_one() {
    let sandbox = Sandbox::kept().await;
    let (before, authority) = (json!(sandbox.description()), sandbox.authority());
    let token = sandbox
        .client()
        .token(&sandbox.description().director)
        .await;

    let sandbox = sandbox.restart().await;

    assert_eq!(json!(sandbox.description()), before);
    assert_eq!(sandbox.authority(), authority);
    let client = Client::new(&sandbox.description().ca_certificate);
    let again = client.token(&sandbox.description().director).await;
    assert_ne!(again, token, "its secrets open it as before");
}

#[tokio::test]
async fn a_foundation_that_forgets_is_another_one_every_time() {
    let sandbox = Sandbox::start().await;
    let (secret, authority) = (sandbox.secret().to_owned(), sandbox.authority());

    let sandbox = sandbox.restart().await;

    assert_ne!(sandbox.secret(), secret);
    assert_ne!(sandbox.authority(), authority);
}

#[tokio::test]
async fn a_wiped_folder_makes_a_fresh_foundation_and_keeps_what_is_not_the_sandboxs() {
    let sandbox = Sandbox::kept().await;
    let (secret, authority) = (sandbox.secret().to_owned(), sandbox.authority());
    let folder = sandbox.stop().await;
    let mine = folder.path().join("notes.txt");
    std::fs::write(&mine, "mine").unwrap();
    let mine_below = folder.path().join("disks/backup.tar");
    std::fs::create_dir_all(mine_below.parent().unwrap()).unwrap();
    std::fs::write(&mine_below, "mine").unwrap();

    wipe(folder.path()).unwrap();

    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let sandbox = Sandbox::kept_in(folder).await;
    assert!(mine.exists() && mine_below.exists());
    assert_ne!(sandbox.secret(), secret);
    assert_ne!(sandbox.authority(), authority);
}

#[tokio::test]
async fn the_state_of_a_running_foundation_is_exclusive() {
    let sandbox = Sandbox::kept().await;

    let second = Foundation::start(settings(), sandbox.options()).await;

    let error = second.err().expect("the folder is in use");
    assert!(
        chain(&error).starts_with("could not read the state folder"),
        "{}",
        chain(&error)
    );
    assert!(
        sandbox
            .client()
            .get(&sandbox.director("/info"))
            .await
            .is_ok(),
        "the one that was first is not disturbed"
    );
    assert!(sandbox.foundation().description_file().exists());
}

#[tokio::test]
async fn a_state_stays_on_its_net() {
    let sandbox = Sandbox::kept().await;
    let net = sandbox.description().net.clone();
    let folder = sandbox.stop().await;
    let mut elsewhere = options(folder.path());
    elsewhere.persistence = odb_sandbox::foundation::Persistence::Kept;
    elsewhere.net = Some("127.65.0.0".parse().unwrap());

    let moved = Foundation::start(settings(), elsewhere).await;

    let error = moved.err().expect("its addresses are elsewhere");
    assert_eq!(
        error.to_string(),
        format!("the state folder is that of a foundation on the net `{net}`, not `127.65.0.0`")
    );
}
