//! Reading from the service instances API.

use odb_clients::{
    FailureKind,
    http::Trust,
    service_instances_api::{ListedInstance, ServiceInstancesApi},
};

use crate::foundation::{Reply, Server, call, everything, limits};

fn api(server: &Server, query: &str, trust: &Trust) -> ServiceInstancesApi {
    let url = format!("{}/instances{query}", server.url);
    ServiceInstancesApi::connect(&url, trust, "lister", &"pAssw0rd".into(), limits()).unwrap()
}

#[tokio::test]
async fn the_list_is_read_under_its_own_query_and_with_basic_authentication() {
    let server = Server::start(|_| {
        Reply::ok(
            r#"[{"service_instance_id":"one","plan_id":"small","space_guid":"here"},{"service_instance_id":"two","plan_id":"large","more":1}]"#,
        )
    })
    .await;

    let listed = api(&server, "?service=redis", &server.trust())
        .instances(&call(), &[])
        .await
        .unwrap();

    let instance = |id: &str, plan: &str, space: Option<&str>| ListedInstance {
        id: id.to_owned(),
        plan: plan.to_owned(),
        space: space.map(str::to_owned),
    };
    assert_eq!(
        listed,
        [
            instance("one", "small", Some("here")),
            instance("two", "large", None)
        ]
    );
    assert_eq!(server.lines(), ["GET /instances?service=redis"]);
    let seen = &server.seen()[0];
    assert_eq!(seen.header("authorization"), "Basic bGlzdGVyOnBBc3N3MHJk");
    assert_eq!(seen.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn parameters_join_the_query_of_the_address_and_replace_those_of_the_same_name() {
    let server = Server::start(|_| Reply::ok("[]")).await;
    let parameters = [("space", "a b"), ("kind", "x&y")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));

    api(&server, "?kind=redis&key=1", &server.trust())
        .instances(&call(), &parameters)
        .await
        .unwrap();

    assert_eq!(
        server.lines(),
        ["GET /instances?key=1&space=a+b&kind=x%26y"]
    );
}

#[tokio::test]
async fn a_rejection_is_reported_with_its_description_and_without_the_query() {
    let server = Server::start(|_| Reply::status(403, r#"{"description":"not you"}"#)).await;

    let api = api(&server, "?key=secret", &server.trust());
    let error = api.instances(&call(), &[]).await.unwrap_err();

    let reported = everything(&error);
    assert!(
        reported.contains("403") && reported.contains("`not you`"),
        "{reported}"
    );
    assert!(!reported.contains("secret") && !format!("{api:?}").contains("secret"));
    assert!(!error.is_transient());
}

#[tokio::test]
async fn an_untrusted_authority_is_distinguished_from_other_failures() {
    let server = Server::start(|_| Reply::ok("[]")).await;
    let mut unauthenticated_client = rcgen::CertificateParams::default();
    unauthenticated_client
        .distinguished_name
        .push(rcgen::DnType::CommonName, "an outsider");
    let unauthenticated_client =
        unauthenticated_client.self_signed(&rcgen::KeyPair::generate().unwrap());

    let error = api(
        &server,
        "",
        &Trust::only(&unauthenticated_client.unwrap().pem()).unwrap(),
    )
    .instances(&call(), &[])
    .await
    .unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::NoResponse { source } if source.is_unknown_authority()),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_answer_that_is_no_list_of_instances_is_not_understood() {
    for body in ["{}", r#"[{"service_instance_id":"one"}]"#, "<html>"] {
        let server = Server::start(move |_| Reply::ok(body)).await;

        let error = api(&server, "", &server.trust())
            .instances(&call(), &[])
            .await
            .unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::NotUnderstood { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn no_list_is_an_empty_list() {
    let server = Server::start(|_| Reply::ok("null")).await;

    let listed = api(&server, "", &server.trust())
        .instances(&call(), &[])
        .await;

    assert_eq!(listed.unwrap(), []);
}
