//! Authentication by tokens and by certificates.

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
};
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_endpoint_is_public_and_the_version_is_not() {
    let platform = Platform::start().await;
    for access in [platform.bosh(), platform.runtime()] {
        let no_user = platform.no_user(&access);
        let info = no_user.get("/info").await;
        let expected = json!({"auth-server": {"url": access.uaa_url}, "app": {"name": "CredHub"}});
        assert_eq!(info.ok(), expected);
        assert_eq!(no_user.get("/version").await.status, 401);
        let known = platform.broker(&access).await;
        assert_eq!(
            known.get("/version").await.ok(),
            json!({"version": "2.15.20"})
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_must_be_there_be_right_and_have_both_scopes() {
    let platform = Platform::with(
        "  other_clients:\n  - {id: half, secret: half-secret, authorities: [credhub.read]}\n",
        "",
    )
    .await;
    let access = platform.bosh();
    let no_user = platform.no_user(&access);
    let path = "/api/v1/data?name=/a";

    let none = no_user.get(path).await;
    assert_eq!(
        (none.status.as_u16(), none.header("www-authenticate")),
        (401, "Bearer")
    );
    assert_eq!(
        none.json(),
        json!({
            "error": "access_denied", "error_description": "Full authentication is required to access this resource",
        })
    );
    let nonsense = no_user.clone().with_token("nonsense").get(path).await;
    assert_eq!(nonsense.rejection(), (401, "invalid_token".to_owned()));
    assert!(
        nonsense
            .header("www-authenticate")
            .starts_with("Bearer error=\"invalid_token\"")
    );
    let half = platform
        .client(&access, "half", "half-secret")
        .await
        .get(path)
        .await;
    assert_eq!((half.status.as_u16(), half.body.as_str()), (403, ""));
    assert!(
        half.header("www-authenticate")
            .contains("insufficient_scope")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_the_other_uaa_is_not_accepted() {
    let platform = Platform::start().await;
    let (bosh, runtime) = (platform.bosh(), platform.runtime());
    let mut mixed = bosh.clone();
    mixed.uaa_url = runtime.uaa_url.clone();
    let secret = runtime.client.secret.expose_secret().to_owned();
    let unauthenticated_client = platform.client(&mixed, &runtime.client.id, &secret).await;
    assert_eq!(
        unauthenticated_client.get("/version").await.rejection(),
        (401, "invalid_token".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_is_known_by_its_certificate_at_the_credhub_of_apps_alone() {
    let platform = Platform::start().await;
    let (app, unauthenticated_client) = (Uuid::new_v4(), Uuid::new_v4());
    let broker = platform.broker(&platform.runtime()).await;
    broker
        .set("/c/s/i/b/credentials", "json", json!({"uri": "redis://"}))
        .await;
    let permission = json!({"path": "/c/s/i/b/credentials", "actor": format!("mtls-app:{app}"), "operations": ["read"]});
    assert_eq!(
        broker.post("/api/v2/permissions", &permission).await.status,
        201
    );

    let path = "/api/v1/data?current=true&name=/c/s/i/b/credentials";
    let read = platform.app(app).get(path).await.ok();
    assert_eq!(read["data"][0]["value"], json!({"uri": "redis://"}));
    assert_eq!(
        platform.app(unauthenticated_client).get(path).await.status,
        404
    );
    let set = json!({"name": "/c/x", "type": "value", "value": "v"});
    assert_eq!(
        platform.app(app).put("/api/v1/data", &set).await.status,
        403
    );
}

/// A certificate of the authority of apps, for whom and for what a test wants.
fn certificate(platform: &Platform, unit: &str, usage: &[ExtendedKeyUsagePurpose]) -> String {
    let files = &platform
        .foundation
        .description()
        .cloud_controller
        .instance_identity;
    let key = KeyPair::from_pem(&std::fs::read_to_string(&files.key).unwrap()).unwrap();
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    authority
        .distinguished_name
        .push(DnType::CommonName, "instanceIdentityCA");
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::OrganizationalUnitName, unit);
    params.extended_key_usages = usage.to_vec();
    let own = KeyPair::generate().unwrap();
    let issuer = Issuer::from_params(&authority, &key);
    let signed = params.signed_by(&own, &issuer).unwrap();
    format!("{}{}", signed.pem(), own.serialize_pem())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_names_no_app_or_is_for_no_client_is_refused() {
    let platform = Platform::start().await;
    let app = format!("app:{}", Uuid::new_v4());
    let client = [ExtendedKeyUsagePurpose::ClientAuth];
    let version = async |unit: &str, usage: &[ExtendedKeyUsagePurpose]| {
        let shown = certificate(&platform, unit, usage);
        platform.bearer_of(&shown).get("/version").await
    };
    assert_eq!(version(&app, &client).await.status, 200);
    assert_eq!(version("space:x", &client).await.rejection(), (401, "The provided authentication mechanism does not provide a valid identity. Please contact your system administrator.".to_owned()));
    assert_eq!(
        version(&app, &[]).await.rejection(),
        (
            401,
            "The provided certificate is not authorized to be used for client authentication."
                .to_owned()
        )
    );
}
