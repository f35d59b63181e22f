//! Malicious clients: they are rejected or disconnected, the broker's memory stays bounded, and other clients are
//! served meanwhile. `docs/contributing/security.md` has the table of attacks and tests.

mod bodies;
mod connections;
mod requests;

use odb_stories::{Broker, Order, Response, new_id};
use reqwest::Method;

/// The memory that an attack may use. The broker needs about 40 MB at rest, unoptimised.
const MEMORY: u64 = 128 * 1024 * 1024;

/// Measures what an attack costs.
struct Watched<'b> {
    broker: &'b Broker,
    before: u64,
}

impl<'b> Watched<'b> {
    /// A broker that has been at work before.
    async fn of(broker: &'b Broker) -> Self {
        broker.platform().catalog().await.expect_status(200);
        Self {
            broker,
            before: broker.peak_memory(),
        }
    }

    /// Others are served, and the attack has cost no more than it may.
    async fn expect_unhurt(&self) {
        self.broker.platform().catalog().await.expect_status(200);
        let cost = self.broker.peak_memory() - self.before;
        assert!(cost < MEMORY, "it has cost {cost} bytes");
    }
}

/// An order with this body, as it is.
async fn order_with(broker: &Broker, body: String) -> Response {
    let path = format!("/v2/service_instances/{}?accepts_incomplete=true", new_id());
    let platform = broker.platform();
    platform
        .send(platform.request(Method::PUT, &path).body(body))
        .await
}

/// The body of `Order::small` with other parameters.
fn with_parameters(parameters: &str) -> String {
    let body = Order::small()
        .with("parameters", "HERE".into())
        .body
        .to_string();
    body.replace("\"HERE\"", parameters)
}

/// A head in HTTP/1.1 with the broker's credentials, without the empty line that ends it.
fn head(broker: &Broker, method: &str, path: &str) -> String {
    let request = broker.platform().request(Method::GET, "/").build();
    let request = request.expect("the request is complete");
    let authorization = request.headers()["authorization"].to_str();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: b\r\nauthorization: {}\r\nx-broker-api-version: 2.17\r\n",
        authorization.expect("it is text")
    )
}
