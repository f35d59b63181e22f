//! Texts of others are shown as texts.

use odb_stories::{Foundation, TaskFault};

use super::{view, with_everything};

const SCRIPT: &str = "<script>alert(1)</script>";
const IMAGE: &str = "\"'><img src=x onerror=alert(1)>";

#[tokio::test]
async fn names_errors_and_queries_are_escaped() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let fault = TaskFault::at_step_of("Updating instance").fails(450_001, IMAGE);
    foundation.control().set_task(fault).await;
    cf.run(&["create-service", "redis", "small", SCRIPT, "--wait"])
        .await
        .failed();
    let inventory = broker.platform().inventory("").await.json();
    let instance = inventory["service_instances"][0]["service_instance_id"]
        .as_str()
        .unwrap();

    let path = format!("/ui/instances/{instance}");
    let shown = view(&operator, &path).await;
    assert!(
        shown.contains("onerror=alert(1)&gt;"),
        "the error is shown: {shown}"
    );
    for path in [
        "/ui",
        "/ui?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "/ui?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E&plan=%3Cscript%3Ealert(1)",
        &path,
        &format!("{path}/delete"),
        "/ui/rollouts",
        "/ui/audit",
    ] {
        let text = view(&operator, path).await;
        assert!(!text.contains("<script>alert"), "{path}: {text}");
        assert!(!text.contains("<img"), "{path}: {text}");
    }
    assert!(
        view(&operator, "/ui")
            .await
            .contains("&lt;script&gt;alert(1)")
    );
    let wrong = operator.manage("/ui/instances/%3Cscript%3Ealert(1)").await;
    assert!(!wrong.expect_status(404).text.contains("<script>alert"));
}
