//! The Director's variables, as its CredHub has them.

use reqwest::redirect::Policy;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    client::Api,
    foundation::{Platform, TIMEOUT, access_token},
};

struct Bosh {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Bosh {
    async fn new(platform: &Platform) -> Self {
        let director = &platform.foundation.description().director;
        let authority = std::fs::read(&platform.foundation.description().ca_certificate).unwrap();
        let http = reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(&authority).unwrap()])
            .redirect(Policy::none())
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let form = [("grant_type", "client_credentials")];
        let client = &director.admin_client;
        let request = http
            .post(format!("{}/oauth/token", director.uaa_url))
            .basic_auth(&client.id, Some(client.secret.expose_secret()));
        let token = access_token(request, &form).await;
        Self {
            http,
            url: director.url.clone(),
            token,
        }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.url));
        let answer = request.bearer_auth(&self.token).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// Sends what starts a task, and waits until it is done.
    async fn done(&self, request: reqwest::RequestBuilder) {
        let answer = request.bearer_auth(&self.token).send().await.unwrap();
        let location = answer.headers()["location"].to_str().unwrap().to_owned();
        let task = location.rsplit('/').next().unwrap();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.get(&format!("/tasks/{task}")).await;
            if seen["state"] == "done" {
                return;
            }
            let over = seen["state"] == "error" || Instant::now() > deadline;
            assert!(!over, "the task stays at {seen}");
            sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    async fn deployed(&self, manifest: &Value) {
        let request = self.http.post(format!("{}/deployments", self.url));
        let request = request.header("content-type", "text/yaml");
        self.done(request.body(manifest.to_string())).await;
    }
}

fn manifest() -> Value {
    json!({
        "name": "d",
        "releases": [{"name": "redis-example-service", "version": "7.4"}],
        "stemcells": [{"alias": "s", "os": "ubuntu-jammy", "version": "1.80"}],
        "update": {"canaries": 1, "canary_watch_time": 1000, "update_watch_time": 1000, "max_in_flight": 1},
        "instance_groups": [{
            "name": "redis-server", "instances": 1, "vm_type": "small", "stemcell": "s", "azs": ["z1"],
            "persistent_disk_type": "1GB", "networks": [{"name": "default"}],
            "jobs": [{
                "name": "redis-server", "release": "redis-example-service",
                "properties": {"redis": {
                    "password": "((/odb/s/d/password))", "persistence": "yes", "maxclients": 250,
                    "ca_cert": "((tls.ca))",
                }},
            }],
        }],
        "variables": [
            {"name": "/shared/ca", "type": "certificate", "options": {"is_ca": true, "common_name": "root"}},
            {"name": "tls", "type": "certificate", "options": {
                "ca": "/shared/ca", "common_name": "redis", "extended_key_usage": ["server_auth"],
            }},
            {"name": "key", "type": "rsa"},
            {"name": "login", "type": "ssh"},
            {"name": "admin", "type": "user", "options": {"username": "admin"}},
        ],
    })
}

async fn id_of(api: &Api, name: &str) -> Value {
    let found = api
        .get(&format!("/api/v1/data?current=true&name={name}"))
        .await
        .ok();
    found["data"][0]["id"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deploy_uses_and_leaves_what_is_in_the_credhub() {
    let platform = Platform::start().await;
    let access = platform.bosh();
    let broker = platform.broker(&access).await;
    broker
        .set("/odb/s/d/password", "value", json!("secret"))
        .await;
    let bosh = Bosh::new(&platform).await;
    bosh.deployed(&manifest()).await;

    let admin = platform.admin(&access).await;
    let listed = bosh.get("/deployments/d/variables").await;
    let listed = listed.as_array().unwrap();
    let names: Vec<&str> = listed
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let own = |name: &str| format!("/sandbox-director/d/{name}");
    assert_eq!(
        names,
        [
            "/odb/s/d/password",
            &own("admin"),
            &own("key"),
            &own("login"),
            &own("tls"),
            "/shared/ca",
        ]
    );
    for one in listed {
        assert_eq!(
            id_of(&admin, one["name"].as_str().unwrap()).await,
            one["id"],
            "{one}"
        );
    }
    let value = async |name: &str| {
        let found = admin
            .get(&format!("/api/v1/data?current=true&name={name}"))
            .await
            .ok();
        found["data"][0]["value"].clone()
    };
    assert_eq!(
        value(&own("tls")).await["ca"],
        value("/shared/ca").await["certificate"]
    );
    assert_eq!(value(&own("admin")).await["username"], "admin");

    let delete = bosh.http.delete(format!("{}/deployments/d", bosh.url));
    bosh.done(delete).await;
    assert_eq!(
        id_of(&admin, &own("key")).await,
        listed[2]["id"],
        "values outlive their deployment"
    );
}
