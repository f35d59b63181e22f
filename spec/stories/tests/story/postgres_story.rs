//! A user orders a PostgreSQL from an adapter without code, queries it, changes it, and deletes it.

use odb_stories::{Broker, Cf, Foundation, Postgres};
use serde_json::Value;

/// A foundation whose broker offers PostgreSQL to all organizations.
async fn foundation() -> Foundation {
    Foundation::setup()
        .with_programs_that_refuse_root()
        .start()
        .await
}

async fn marketplace_of(foundation: &Foundation) -> (Broker, Cf) {
    let broker = foundation.postgres_broker().start().await;
    let cf = foundation.cf();
    cf.register_as(&broker, ("postgres-broker", "postgresql"))
        .await;
    (broker, cf)
}

async fn order(cf: &Cf, parameters: &str) {
    let order = ["create-service", "postgresql", "small", "shop", "--wait"];
    let order = [&order[..], &["-c", parameters]].concat();
    cf.run(&order).await.succeeded();
}

async fn update(cf: &Cf, parameters: &str) {
    cf.run(&["update-service", "shop", "-c", parameters, "--wait"])
        .await
        .succeeded();
}

/// The credentials of a new service key.
async fn key(cf: &Cf, name: &str) -> Value {
    cf.run(&["create-service-key", "shop", name, "--wait"])
        .await
        .succeeded();
    let key = cf.run(&["service-key", "shop", name, "--json"]).await;
    serde_json::from_str(&key.succeeded()).unwrap()
}

#[tokio::test]
async fn an_ordered_postgresql_is_queried_keeps_its_rows_over_updates_and_is_gone_after_its_deletion()
 {
    let foundation = foundation().await;
    let (_broker, cf) = marketplace_of(&foundation).await;

    order(&cf, r#"{"database": "orders"}"#).await;
    let credentials = key(&cf, "first").await;
    assert_eq!(credentials["database"], "orders");
    let postgres = Postgres::with(&credentials);
    let rows = postgres
        .query("CREATE TABLE words (word text); INSERT INTO words VALUES ('kept'); SELECT word FROM words")
        .await;
    assert_eq!(rows, "kept");
    assert_eq!(
        postgres.query_by_uri("SELECT word FROM words").await,
        "kept"
    );
    // The plan's value.
    assert_eq!(postgres.query("SHOW max_connections").await, "20");

    update(&cf, r#"{"max_connections": 30}"#).await;
    assert_eq!(postgres.query("SELECT word FROM words").await, "kept");
    assert_eq!(postgres.query("SHOW max_connections").await, "30");

    // The larger plan has more, but the user has chosen.
    cf.run(&["update-service", "shop", "-p", "large", "--wait"])
        .await
        .succeeded();
    let credentials = key(&cf, "second").await;
    let postgres = Postgres::with(&credentials);
    assert_eq!(postgres.query("SELECT word FROM words").await, "kept");
    assert_eq!(postgres.query("SHOW max_connections").await, "30");

    for name in ["first", "second"] {
        cf.run(&["delete-service-key", "shop", name, "--wait"])
            .await
            .succeeded();
    }
    cf.run(&["delete-service", "shop", "--wait"])
        .await
        .succeeded();
    let refused = postgres.attempt("SELECT 1").await.unwrap_err();
    assert!(refused.contains("refused"), "{refused}");
    foundation.director().expect_nothing_left().await;
}

#[tokio::test]
async fn a_user_of_postgresql_owns_the_database_and_not_the_server() {
    let foundation = foundation().await;
    let (_broker, cf) = marketplace_of(&foundation).await;

    order(&cf, "{}").await;
    let postgres = Postgres::with(&key(&cf, "key").await);

    let rights =
        "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user";
    assert_eq!(postgres.query(rights).await, "f|f|f");
    postgres.query("CREATE SCHEMA mine").await;
    let refused = postgres
        .attempt("COPY (SELECT 1) TO PROGRAM 'true'")
        .await
        .unwrap_err();
    assert!(refused.contains("superuser"), "{refused}");
}

#[tokio::test]
async fn passwords_of_postgresql_are_in_credhub_and_nowhere_else() {
    let foundation = foundation().await;
    let (broker, cf) = marketplace_of(&foundation).await;

    order(&cf, "{}").await;
    let credentials = key(&cf, "key").await;
    let password = credentials["password"].as_str().unwrap();

    let director = foundation.director();
    let deployments = director.deployments().await;
    let manifest = director.manifest(&deployments[0]).await;
    assert!(manifest.contains("((postgres_password))"), "{manifest}");
    assert!(!manifest.contains(password), "{manifest}");
    let names = foundation.bosh_credhub().names_like(&deployments[0]).await;
    let variables: Vec<&str> = names
        .iter()
        .filter_map(|name| name.rsplit('/').next())
        .collect();
    assert_eq!(variables, ["postgres_admin_password", "postgres_password"]);
    let log = broker.log();
    assert!(!log.iter().any(|line| line.text().contains(password)));
}

#[tokio::test]
async fn a_password_of_postgresql_that_credhub_has_no_more_is_made_anew() {
    let foundation = foundation().await;
    let (_broker, cf) = marketplace_of(&foundation).await;
    order(&cf, "{}").await;
    let old = Postgres::with(&key(&cf, "old").await);
    old.query("CREATE TABLE words (word text)").await;

    let credhub = foundation.bosh_credhub();
    let passwords = credhub.names_like("/postgres_password").await;
    assert_eq!(passwords.len(), 1, "{passwords:?}");
    credhub.delete(&passwords[0]).await;
    update(&cf, r#"{"max_connections": 25}"#).await;

    let refused = old.attempt("SELECT 1").await.unwrap_err();
    assert!(
        refused.contains("password authentication failed"),
        "{refused}"
    );
    let new = Postgres::with(&key(&cf, "new").await);
    assert_eq!(new.query("SELECT count(*) FROM words").await, "0");
}
