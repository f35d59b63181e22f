//! Authentication by tokens.

use secrecy::ExposeSecret;
use serde_json::json;

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
