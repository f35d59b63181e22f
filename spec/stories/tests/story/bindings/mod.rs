//! Bindings beyond the single rules: what adapters answer, credentials in the runtime CredHub, what is rolled back when
//! something fails on the way.
//!
//! | module | what may happen |
//! | --- | --- |
//! | `answers` | the adapter answers what it may and what it may not |
//! | `secure` | credentials are handed out through the runtime CredHub |
//! | `repeats` | the same binding is asked for again, or another one under its id |
//! | `rolled_back` | something fails half-way |
//! | `fetching` | the platform asks what a binding is |
//! | `sharing` | the instance is taken away from another space |
//! | `side_by_side` | many bindings of one instance are asked for at once |

mod answers;
mod fetching;
mod repeats;
mod rolled_back;
mod secure;
mod sharing;
mod side_by_side;

use std::fs;

use odb_stories::{Broker, Foundation, Order, new_id};
use serde_json::{Value, json};

/// An adapter that notes which bindings it makes and deletes. It answers a bind with the file `answer`, an unbind with
/// the exit code in the file `code`; where there is no such file, well.
const NOTING: &str = r#"read_input
note() { echo "$call $(jq -r ".[\"${call//-/_}\"].binding_id" <<<"$input")" >>"$folder/bindings"; }
case $call in
  create-binding)
    note
    if [[ -e $folder/answer ]]; then cat "$folder/answer"; else as_redis; fi;;
  delete-binding)
    note
    exit "$(cat "$folder/code" 2>/dev/null || echo 0)";;
  *) as_redis;;
esac"#;

/// A foundation with a broker whose adapter takes notes, and an instance.
struct Scene {
    foundation: Foundation,
    broker: Broker,
    instance: String,
}

impl Scene {
    /// Without a runtime CredHub.
    async fn plain() -> Self {
        Self::of(Foundation::bare().start().await, &[]).await
    }

    /// With credentials in the runtime CredHub.
    async fn secure() -> Self {
        let foundation = Foundation::bare().start().await;
        Self::secure_on(foundation).await
    }

    async fn secure_on(foundation: Foundation) -> Self {
        let retrievable = ("/service_catalog/bindings_retrievable", true.into());
        Self::of(foundation, &[retrievable]).await
    }

    /// With these values in the configuration; what platforms may fetch is in the runtime CredHub.
    async fn of(foundation: Foundation, values: &[(&str, Value)]) -> Self {
        let adapter = foundation.adapters().script(NOTING);
        let mut configuration = foundation.broker().with_adapter(&adapter);
        let is_secure = |(key, _): &(&str, Value)| key.ends_with("bindings_retrievable");
        if values.iter().any(is_secure) {
            configuration = configuration.with_secure_bindings();
        }
        for (key, value) in values {
            configuration = configuration.with(key, value.clone());
        }
        let broker = configuration.start().await;
        let instance = broker.platform().created().await;
        Self {
            foundation,
            broker,
            instance,
        }
    }

    /// Has the adapter answer binds with this.
    fn answer_with(&self, answer: &str) {
        self.put("answer", answer);
    }

    /// Has the adapter end unbinds with this exit code.
    fn end_unbinds_with(&self, code: u8) {
        self.put("code", &code.to_string());
    }

    /// The calls of the adapter: `create-binding ID` and `delete-binding ID`.
    fn noted(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.foundation.folder().join("bindings"));
        noted
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The instance's entries in the runtime CredHub.
    async fn stored(&self) -> Vec<String> {
        let credhub = self.foundation.runtime_credhub();
        credhub.names_like(&self.instance).await
    }

    /// Where the credentials of a binding are.
    fn path(&self, binding: &str) -> String {
        let order = Order::small();
        let service = order.member("service_id").as_str().unwrap_or_default();
        format!("/c/{service}/{}/{binding}/credentials", self.instance)
    }

    /// A body for a bind with another member.
    fn body(&self, member: &str, value: Value) -> Value {
        let mut body = self.broker.platform().app_binding(&new_id());
        body[member] = value;
        body
    }

    fn put(&self, file: &str, text: &str) {
        fs::write(self.foundation.folder().join(file), text).expect("the test made the folder");
    }
}

/// A fault of the runtime CredHub for each request of this method to this path.
fn fault(method: &str, path: &str, effect: &Value) -> Value {
    json!({
        "server": "runtime-credhub",
        "requests": { "method": method, "path": path },
        "effect": effect,
    })
}
