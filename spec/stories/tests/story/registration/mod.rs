//! `register-broker` and `deregister-broker` against Cloud Controllers of both generations: each line of
//! `spec/contracts/errands.md` §2 and §3, and the parts of §11.2 about them.
//!
//! | module | contents |
//! | --- | --- |
//! | `broker` | the broker is registered |
//! | `failures` | … with errors |
//! | `access` | the access to plans |
//! | `deregistration` | it is unregistered |

mod access;
mod broker;
mod deregistration;
mod failures;

use odb_stories::{
    Broker, BrokerCall, Errand, ErrandConfiguration, ErrandRun, Foundation, FoundationSetup,
};

/// The API version of the Cloud Controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    V3,
    V2,
}

const GENERATIONS: [Generation; 2] = [Generation::V3, Generation::V2];

impl Generation {
    fn setup(self) -> FoundationSetup {
        let setup = Foundation::bare();
        match self {
            Self::V3 => setup,
            Self::V2 => setup.with_old_cloud_controller(),
        }
    }

    async fn start(self) -> Foundation {
        self.setup().start().await
    }

    /// One of two texts.
    fn or<T>(self, v3: T, v2: T) -> T {
        match self {
            Self::V3 => v3,
            Self::V2 => v2,
        }
    }
}

/// A foundation with an unregistered broker.
struct Scene {
    broker: Broker,
    // Last, for the broker has its files there.
    foundation: Foundation,
}

impl Scene {
    async fn of(generation: Generation) -> Self {
        Self::on(generation.start().await).await
    }

    async fn on(foundation: Foundation) -> Self {
        let broker = foundation.broker().start().await;
        Self { broker, foundation }
    }

    /// The small plan is for all organizations, the large one for none.
    fn configuration(&self) -> ErrandConfiguration {
        let plans = [("small", "enable", None), ("large", "disable", None)];
        ErrandConfiguration::of(&self.foundation, &self.broker).with_plans(&plans)
    }

    async fn register(&self, configuration: &ErrandConfiguration) -> ErrandRun {
        self.register_with(configuration, &[]).await
    }

    async fn register_with(
        &self,
        configuration: &ErrandConfiguration,
        arguments: &[&str],
    ) -> ErrandRun {
        let errand = Errand::new(&self.foundation, "register-broker").configured(configuration);
        self.discreet(errand.with(arguments).run().await).await
    }

    async fn succeed(&self, configuration: &ErrandConfiguration) {
        let run = self.register(configuration).await;
        assert_eq!(run.status, Some(0), "{}", run.stderr);
    }

    async fn deregister(&self, name: &str) -> ErrandRun {
        let errand = Errand::new(&self.foundation, "deregister-broker")
            .configured(&self.configuration())
            .with(&["--broker-name", name]);
        self.discreet(errand.run().await).await
    }

    /// Asserts that its output contains no secret, and that stdout is empty.
    async fn discreet(&self, run: ErrandRun) -> ErrandRun {
        let secrets = self.foundation.secrets().await;
        secrets.expect_none_in("the errand's stderr", &run.stderr);
        let secrets = self.broker.secrets();
        secrets.expect_none_in("the errand's stderr", &run.stderr);
        assert_eq!(run.output, "", "{}", run.stderr);
        run
    }

    /// `BROKER OFFERING PLAN ACCESS ORGANIZATIONS` of every plan.
    async fn service_access(&self) -> Vec<String> {
        rows(&self.cf(&["service-access"]).await)
    }

    /// `BROKER URL` of every broker.
    async fn service_brokers(&self) -> Vec<String> {
        rows(&self.cf(&["service-brokers"]).await)
    }

    /// Types a command as an administrator.
    async fn cf(&self, arguments: &[&str]) -> String {
        let arguments = [&["--as", "admin"], arguments].concat();
        self.foundation.cf().run(&arguments).await.succeeded()
    }

    /// The changes of errands at the Cloud Controller since that call, in order, without GUIDs.
    async fn changes(&self, after: u64) -> Vec<String> {
        let calls = self.foundation.control().broker_calls(after).await;
        calls
            .iter()
            .filter(|call| call.server == "cloud-controller" && call.method != "GET")
            .map(without_guids)
            .collect()
    }

    /// The number of the latest call.
    async fn latest_call(&self) -> u64 {
        let calls = self.foundation.control().broker_calls(0).await;
        calls.last().map_or(0, |call| call.number)
    }
}

fn rows(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1);
    rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn without_guids(call: &BrokerCall) -> String {
    let segments = call.path.split('/').map(|segment| {
        let is_guid = segment.len() == 36 && segment.matches('-').count() == 4;
        if is_guid { "GUID" } else { segment }
    });
    format!("{} {}", call.method, segments.collect::<Vec<_>>().join("/"))
}

/// A line says this.
#[track_caller]
fn expect_text(run: &ErrandRun, text: &str) {
    let texts = run.texts();
    assert!(
        texts.iter().any(|line| line.contains(text)),
        "no text of the broker has `{text}`: {texts:#?}"
    );
}
