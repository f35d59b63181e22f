//! Secrets in files and environment variables in place of the configuration file.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use odb_stories::{Binaries, Errand, ErrandConfiguration, Foundation, new_id};
use serde_json::{Value, json};

use crate::{
    TIMEOUT,
    start_up::{everything, expect_no_secrets},
    tls::serve,
};

const BOSH_SECRET: &str = "/bosh/authentication/uaa/client_credentials/client_secret";

fn write(foundation: &Foundation, secret: &str) -> PathBuf {
    let file = foundation.folder().join("secret");
    fs::write(&file, format!("{secret}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    file
}

#[tokio::test]
async fn an_order_is_served_with_secrets_of_a_file_and_of_a_variable() {
    let foundation = Foundation::start().await;
    let password = new_id();
    let file = Value::from(write(&foundation, &password).display().to_string());
    let client = &foundation.description().director.team_client;
    let script = format!("export BOSH_SECRET='{}'\nexec \"$@\"", client.secret);
    let broker = foundation
        .broker()
        .with_password(&password)
        .with("/broker/password", Value::Null)
        .with("/broker/password_file", file.clone())
        .with(BOSH_SECRET, "${BOSH_SECRET}".into())
        .with_start_script(&script)
        .start()
        .await;

    let instance = broker.platform().created().await;
    let rejected = broker.platform().with_wrong_password().catalog().await;
    assert_eq!(rejected.status, 401);
    broker.platform().delete_to_the_end(&instance).await;

    let basic = "/broker_api/authentication/basic";
    let configuration = ErrandConfiguration::of(&foundation, &broker).with(
        basic,
        json!({ "username": "broker", "password_file": file }),
    );
    let errand = Errand::new(&foundation, "orphan-deployments").configured(&configuration);
    errand.run().await.expect_success();

    for line in broker.log() {
        let text = line.text();
        assert!(
            !text.contains(&password) && !text.contains(&client.secret),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_start_without_the_file_or_the_variable_names_key_location_and_variable_only() {
    let foundation = Foundation::bare().start().await;
    let configuration = foundation
        .broker()
        .with("/broker/password_file", "/missing".into())
        .with(BOSH_SECRET, "${ODB_UNSET}".into())
        .write("broker.yml");

    let mut broker = serve(&foundation, &configuration, &[]);

    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    assert!(
        said.contains("`broker.password_file` conflicts with `password` at "),
        "{said}"
    );
    assert!(
        said.contains("refers to the environment variable `ODB_UNSET`, which is not set"),
        "{said}"
    );
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn check_reports_files_that_are_missing_or_readable_by_every_user() {
    let foundation = Foundation::bare().start().await;
    let file = write(&foundation, "hunter2-outside");
    let check = |path: &str| {
        let configuration = foundation
            .broker()
            .with("/broker/password", Value::Null)
            .with("/broker/password_file", path.into())
            .write("broker.yml");
        let mut command = std::process::Command::new(Binaries::find().path("on-demand-broker"));
        command.args(["check", "--adapter", "off", "--config"]);
        let output = command.arg(configuration).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("hunter2"), "{said}");
        (output.status.code(), said)
    };
    let path = file.display().to_string();

    let (status, said) = check(&path);
    assert_eq!(status, Some(0), "{said}");
    assert!(!said.contains("password_file"), "{said}");

    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let (status, said) = check(&path);
    assert_eq!(status, Some(0), "{said}");
    let warning =
        "warning: `broker.password_file` names a file that every user of this machine can read";
    assert!(said.contains(warning), "{said}");

    fs::remove_file(&file).unwrap();
    let (status, said) = check(&path);
    assert_eq!(status, Some(1), "{said}");
    let error = "error: `broker.password_file` names a file that does not exist";
    assert!(said.contains(error), "{said}");
}
