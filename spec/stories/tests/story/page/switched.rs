//! The page is off unless it is switched on, and has its own credentials.

use odb_stories::{Foundation, LogLine};
use reqwest::Method;
use serde_json::{Value, json};

use super::{OPERATOR, PASSWORD, WithPage, form, operator, view, with_everything};

const PATHS: [&str; 6] = [
    "/ui",
    "/ui/rollouts",
    "/ui/quotas",
    "/ui/health",
    "/ui/audit",
    "/ui/instances/i",
];

#[tokio::test]
async fn without_the_switch_there_is_no_page() {
    let foundation = Foundation::bare().start().await;
    for ui in [Value::Null, json!({ "enabled": false })] {
        let mut broker = foundation.broker().with_page(ui).start().await;
        let platform = broker.platform();
        for path in PATHS {
            platform.manage(path).await.expect_status(404);
        }
        let request = form(platform, "i", "upgrade", "");
        platform.send(request).await.expect_status(404);
        broker.stop().await;
    }
}

#[tokio::test]
async fn without_actions_the_page_only_reads() {
    let foundation = Foundation::setup().start().await;
    let ui = json!({ "enabled": true, "username": OPERATOR, "password": PASSWORD });
    let broker = foundation.broker().with_page(ui).start().await;
    let instance = broker.platform().created().await;
    let operator = &operator(&foundation, &broker);

    let wrong = operator.with_wrong_password().manage("/ui").await;
    assert!(
        wrong
            .expect_status(401)
            .header("www-authenticate")
            .starts_with("Basic")
    );
    let path = format!("/ui/instances/{instance}");
    let text = view(operator, &path).await;
    assert!(text.contains("read-only"), "{text}");
    for action in ["upgrade", "cancel", "delete"] {
        assert!(!text.contains(&format!("{path}/{action}\"")), "{text}");
        let confirmation = operator.manage(&format!("{path}/{action}")).await;
        confirmation.expect_status(403);
        let request = form(operator, &instance, action, "token=1.x");
        let refused = operator.send(request).await;
        assert!(refused.expect_status(403).text.contains("ODB-2021"));
    }
    assert!(!text.contains("<form method=\"post\""), "{text}");
    let status = broker.platform().operation_status(&instance).await.json();
    assert_eq!(status["kind"], "create", "nothing has begun");
}

#[tokio::test]
async fn credentials_of_the_page_open_the_page_and_nothing_else() {
    let foundation = Foundation::bare().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let platform = broker.platform();

    for path in PATHS.iter().take(5) {
        platform.manage(path).await.expect_status(401);
        view(&operator, path).await;
    }
    for path in [
        "/v2/catalog",
        "/mgmt/v1/doctor",
        "/metrics",
        "/uix",
        "/%75i",
    ] {
        operator.manage(path).await.expect_status(401);
    }
    // However the path is spelled, the credentials of the broker do not open it.
    let spelled = platform.manage("/%75i").await;
    spelled.expect_status(404);
}

#[tokio::test]
async fn a_request_without_credentials_is_no_failed_attempt_and_one_with_wrong_ones_is() {
    let foundation = Foundation::bare().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    for method in [Method::GET, Method::POST] {
        let request = operator.anonymous_request(method, "/ui/instances/i/upgrade");
        operator.send(request).await.expect_status(401);
    }
    let metrics = broker.metrics().await.text;
    assert!(
        metrics.contains("odb_http_failed_authentications_total 0\n"),
        "{metrics}"
    );

    let wrong = operator.with_wrong_password();
    let request = form(&wrong, "i", "upgrade", "");
    wrong.send(request).await.expect_status(401);
    let metrics = broker.metrics().await.text;
    assert!(
        metrics.contains("odb_http_failed_authentications_total 1\n"),
        "{metrics}"
    );
    let audit = view(&operator, "/ui/audit").await;
    assert!(audit.contains("No change was requested"), "{audit}");
    let log = broker.log();
    let has_name = |line: &LogLine| {
        line.field("originator.user")
            .is_some_and(|user| !user.is_empty())
    };
    let refused = log
        .iter()
        .filter(|line| line.mentions("/ui/instances/i/upgrade"));
    let named: Vec<_> = refused.filter(|line| has_name(line)).collect();
    assert!(named.is_empty(), "the name is not verified: {named:?}");
}

#[tokio::test]
async fn every_answer_keeps_other_sites_out_and_pages_out_of_caches() {
    let foundation = Foundation::bare().start().await;
    let (_broker, operator) = with_everything(&foundation).await;
    let page = operator.manage("/ui").await;
    let (_, rest) = page
        .text
        .split_once("/ui/assets/")
        .expect("the page has a stylesheet");
    let (stylesheet, _) = rest.split_once('"').expect("its address ends");
    let stylesheet = format!("/ui/assets/{stylesheet}");

    for (path, status, cache) in [
        ("/ui", 200, "no-store"),
        ("/ui/health", 200, "no-store"),
        ("/ui/nosuch", 404, "no-store"),
        ("/ui/instances/nosuch", 404, "no-store"),
        (&stylesheet, 200, "private, max-age=31536000, immutable"),
        ("/ui/assets/page-of-another-version.css", 200, "no-store"),
        ("/ui/assets/page.css", 404, "no-store"),
    ] {
        let answer = operator.manage(path).await;
        answer.expect_status(status);
        let policy = answer.header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cache-control"), cache, "{path}");
    }
    for forbidden in ["style=\"", " onclick", "http://", "https://"] {
        let text = page
            .text
            .replace("http://www.w3.org/2000/svg", "")
            .replace("http%3A", "");
        assert!(!text.contains(forbidden), "{forbidden}: {text}");
    }
    let request = operator.management_request(Method::DELETE, "/ui");
    let refused = operator.send(request).await;
    assert_eq!(refused.expect_status(405).header("allow"), "GET");
    let id = refused.header("x-request-id");
    assert!(refused.text.contains(id), "{id}: {}", refused.text);
}

#[tokio::test]
async fn a_path_with_escapes_is_none_of_the_page() {
    let foundation = Foundation::bare().start().await;
    let (_broker, operator) = with_everything(&foundation).await;
    for path in [
        "/ui/%71uotas",
        "/ui/instances/i/%64elete",
        "/ui/%69nstances/i",
    ] {
        for method in [Method::GET, Method::POST] {
            let request = operator.management_request(method, path);
            operator.send(request).await.expect_status(404);
        }
    }
}

#[tokio::test]
async fn other_sites_reach_nothing_with_what_a_browser_knows() {
    let foundation = Foundation::bare().start().await;
    let (_broker, operator) = with_everything(&foundation).await;
    for (method, path, header) in [
        (Method::GET, "/ui/health", ("Sec-Fetch-Site", "cross-site")),
        (Method::POST, "/ui/health", ("Sec-Fetch-Site", "same-site")),
        (
            Method::POST,
            "/ui/health",
            ("Origin", "https://evil.example"),
        ),
        (
            Method::GET,
            "/ui/instances/i/events",
            ("Sec-Fetch-Site", "cross-site"),
        ),
    ] {
        let request = operator.management_request(method.clone(), path);
        let answer = operator.send(request.header(header.0, header.1)).await;
        assert_eq!(answer.status, 403, "{method} {path} {header:?}");
    }
    let link = operator.management_request(Method::GET, "/ui/quotas");
    let link = link.header("Sec-Fetch-Site", "cross-site");
    let link = link.header("Sec-Fetch-Mode", "navigate");
    let link = link.header("Sec-Fetch-Dest", "document");
    operator.send(link).await.expect_status(200);
}
