//! A foundation with a broker, on which cases follow each other.

use odb_stories::{
    Broker, BrokerCall, Control, CredHub, Director, Foundation, Secrets, UaaClients,
    client_definition,
};
use serde_json::json;

use super::{operation::Operation, recording::Recording};

/// The version of the plan `small`.
pub(super) const VERSION: &str = "1.0.0";

/// How long a request has, in seconds. Enough for one in good health, even on a busy machine.
const BUDGET: u64 = 3;

/// How long the broker looks for an order whose answer is lost, in seconds. A call that is too slow takes effect 3.2 s
/// after it is sent; on a busy machine it may be sent more than a second after the request.
const LOST_ANSWER: u64 = 2;

/// Answers as the real adapter, wants a BOSH config for each instance and names a dashboard.
const WITH_CONFIG: &str = r#"read_input
if [[ $call == dashboard-url ]]; then
  echo '{"dashboard_url": "https://dashboard.example"}'
elif [[ $call == generate-manifest ]]; then
  name=$(grep -o 'service-instance_[0-9a-f-]*' <<<"$input" | head -n 1)
  as_redis | jq -c --arg name "$name" '.configs = {cloud: "vm_extensions:\n- name: \($name)\n"}'
else
  as_redis
fi"#;

pub(super) struct Stage {
    pub(super) broker: Broker,
    pub(super) director: Director,
    pub(super) bosh_credhub: CredHub,
    pub(super) runtime_credhub: CredHub,
    pub(super) control: Control,
    pub(super) clients: UaaClients,
    seen: u64,
    foundation: Foundation,
}

impl Stage {
    pub(super) async fn set_up() -> Self {
        let foundation = Foundation::bare().with_impatient_workers().start().await;
        let timings = json!({
            "request_budget_in_seconds": BUDGET,
            "lost_answer_in_seconds": LOST_ANSWER,
        });
        let dns =
            json!([{ "name": "any", "link_provider": "redis", "instance_group": "redis-server" }]);
        let broker = foundation
            .broker()
            .with_adapter(&foundation.adapters().script(WITH_CONFIG))
            .with_secure_manifests()
            .with("/broker/timings", timings)
            // A verbose log is more likely to leak a secret.
            .with_command_line("--log debug serve --config FILE")
            .with_dns_bindings(&dns)
            .with_secure_bindings()
            .with_client_definition(client_definition())
            .with(
                "/service_catalog/plans/0/maintenance_info",
                json!({ "version": VERSION }),
            )
            .start()
            .await;
        Self {
            broker,
            director: foundation.director(),
            bosh_credhub: foundation.bosh_credhub(),
            runtime_credhub: foundation.runtime_credhub(),
            control: foundation.control(),
            clients: foundation.uaa_clients(),
            seen: 0,
            foundation,
        }
    }

    /// Ends the broker in good order and starts it anew.
    pub(super) async fn restart(&mut self) {
        self.broker.stop().await;
        self.broker.start_again().await;
    }

    /// Every secret of the foundation, of the broker's configuration and of the bindings so far.
    pub(super) async fn secrets(&self) -> Secrets {
        let known = self.foundation.secrets().await;
        known
            .and_all_of(self.broker.secrets().clone())
            .and_all_of(self.broker.platform().granted())
    }

    /// The broker's calls since the last call of this function.
    pub(super) async fn calls(&mut self) -> Vec<BrokerCall> {
        let calls = self.control.broker_calls(self.seen).await;
        self.seen = calls.last().map_or(self.seen, |call| call.number);
        calls
    }

    /// Carries every operation out.
    pub(super) async fn record_all(&mut self) -> Vec<Recording> {
        let mut recorded = Vec::new();
        for operation in Operation::ALL {
            recorded.push(Recording::of(operation, self).await);
        }
        recorded
    }
}
