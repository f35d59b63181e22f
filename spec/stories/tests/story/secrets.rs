//! No secret leaks: into the log, the errors, the command lines and environments of all processes.

use std::fs;

use odb_stories::{Foundation, Order, ProcessTable, Redis, Response, new_id};
use reqwest::Method;
use serde_json::json;

/// Records what every user of the machine could read of it, and answers as the real adapter.
const NOTING: &str = r#"tr '\0' ' ' </proc/$$/cmdline >>"$folder/readable"
tr '\0' ' ' </proc/$$/environ >>"$folder/readable"
read_input
as_redis"#;

#[tokio::test]
async fn no_secret_is_in_the_log_in_an_error_or_on_a_command_line() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(NOTING);
    let (password, parameter) = (new_id(), new_id());
    let broker = foundation
        .broker()
        .with_adapter(&adapter)
        .with_password(&password)
        .with_command_line("--log debug serve --config FILE")
        .start()
        .await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    let mut readable = Readable::default();

    // The story, with looks at what runs on the way.
    let token = platform.order(&instance).await;
    readable.look(&foundation, broker.id());
    platform.end_of_operation(&instance, &token).await;
    let bound = platform.bind(&instance, &binding).await;
    let credentials = bound.expect_status(201).json()["credentials"].clone();
    let redis_password = credentials["password"].as_str().unwrap().to_owned();
    drop(Redis::connect(&credentials).await);
    readable.look(&foundation, broker.id());
    // Some secrets are deleted with the instance.
    let known = foundation.secrets().await;

    // Requests that carry a secret and are refused.
    let planted = || Order::small().with_parameters(json!({ "nonsense": &parameter }));
    let mistyped = Order::small().with_parameters(json!({ "maxclients": &parameter }));
    let listed = Order::small().with_parameters(json!([&parameter]));
    for answer in [
        platform.provision(&new_id(), &planted()).await,
        platform.update(&instance, &planted()).await,
        platform.provision(&new_id(), &mistyped).await,
        platform.provision(&new_id(), &listed).await,
        platform
            .provision(
                &new_id(),
                &planted().with("plan_id", json!({ "a": &parameter })),
            )
            .await,
        with_malformed_body(platform, &parameter).await,
        platform.with_wrong_password().catalog().await,
    ] {
        assert!(answer.status >= 400, "{answer:?}");
        readable.add(&format!("{answer:?}"));
    }

    let token = platform.deprovision(&instance).await.accepted();
    readable.look(&foundation, broker.id());
    platform.end_of_operation(&instance, &token).await;

    let secrets = known
        .and_all_of(foundation.secrets().await)
        .and_all_of(broker.secrets().clone())
        .and("a user's parameter", &parameter)
        .and("the password of Redis", &redis_password);
    for what in [
        "broker's password",
        "director/team_client",
        "cloud_controller/user",
        "broker.key",
    ] {
        assert!(secrets.have(what), "{what} is not searched for");
    }
    let noted = fs::read_to_string(foundation.folder().join("readable")).unwrap();
    assert!(noted.contains("generate-manifest"), "{noted}");
    assert!(noted.contains("create-binding"), "{noted}");
    readable.add(&noted);
    for line in broker.log() {
        readable.add(&line.text());
    }
    readable.add(&platform.rejections());
    readable.add(&broker.metrics().await.text);
    secrets.expect_none_in("world-readable files", &readable.0);
}

async fn with_malformed_body(platform: &odb_stories::Platform, secret: &str) -> Response {
    let path = format!("/v2/service_instances/{}?accepts_incomplete=true", new_id());
    let request = platform.request(Method::PUT, &path);
    let body = format!(r#"{{"parameters": {{"password": "{secret}" "#);
    platform.send(request.body(body)).await
}

/// The texts that a reader without rights could see.
#[derive(Default)]
struct Readable(String);

impl Readable {
    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// The command lines of the broker, of the sandbox and of all that they have started.
    fn look(&mut self, foundation: &Foundation, broker: u32) {
        let table = ProcessTable::look();
        for root in [foundation.id(), broker] {
            let family = table.family_of(root);
            assert!(!family.is_empty());
            for process in family {
                self.add(&process.command_line);
            }
        }
    }
}
