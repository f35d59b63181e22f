//! The `broker.yml` of a broker under test: that of `manifests/sandbox`, and what the test has different.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::{Broker, Foundation, Secrets, new_id};

pub(crate) const PORT: u16 = 8080;
const USERNAME: &str = "broker";

#[derive(Clone, Debug)]
pub struct BrokerConfiguration<'f> {
    foundation: &'f Foundation,
    document: Value,
    password: String,
    command_line: String,
    start_script: Option<String>,
}

impl<'f> BrokerConfiguration<'f> {
    pub(crate) fn new(foundation: &'f Foundation, manifest: &str) -> Self {
        let mut document: Value = yaml::from_str(&Foundation::manifest(manifest))
            .expect("it is a broker.yml but for its placeholders");
        let password = new_id();
        fill(&mut document, &values(foundation, &password));
        // Many tests fail to authenticate on purpose.
        document["broker"]["timings"] = json!({ "failed_authentication_in_seconds": 0 });
        Self {
            foundation,
            document,
            password,
            command_line: "serve --config FILE".to_owned(),
            start_script: None,
        }
    }

    /// With another value at a JSON pointer, for example `/broker/password`. `Value::Null` removes it.
    #[must_use]
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has slashes");
        let parent = self.document.pointer_mut(parent);
        let parent = parent.unwrap_or_else(|| panic!("there is nothing at `{pointer}`"));
        match parent.as_object_mut() {
            Some(section) => {
                section.insert(key.to_owned(), value);
            }
            None => panic!("`{pointer}` is not in a section"),
        }
        self
    }

    #[must_use]
    pub fn with_adapter(self, executable: &Path) -> Self {
        let path = executable.display().to_string();
        self.with("/service_adapter/path", path.into())
    }

    /// With less time for a request than the 55 seconds that a real platform allows.
    #[must_use]
    pub fn with_request_budget(self, seconds: u64) -> Self {
        self.with_timing("request_budget_in_seconds", seconds)
    }

    /// With another duration or ceiling, by its key under `broker.timings`.
    #[must_use]
    pub fn with_timing(mut self, key: &str, value: u64) -> Self {
        self.document["broker"]["timings"][key] = value.into();
        self
    }

    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        password.clone_into(&mut self.password);
        self.with("/broker/password", password.into())
    }

    #[must_use]
    pub fn with_plain_http(self) -> Self {
        self.with("/broker/tls", Value::Null)
    }

    #[must_use]
    pub fn without_plan(mut self, name: &str) -> Self {
        self.plans_mut().retain(|plan| plan["name"] != name);
        self
    }

    #[must_use]
    pub fn without_cloud_controller(self) -> Self {
        self.with("/cf", Value::Null)
            .with("/broker/disable_cf_startup_checks", true.into())
    }

    #[must_use]
    pub fn with_client_definition(self, definition: Value) -> Self {
        self.with("/cf/uaa/client_definition", definition)
    }

    /// Without quotas; nothing is asked of the Cloud Controller then.
    #[must_use]
    pub fn without_quotas(mut self) -> Self {
        for plan in self.plans_mut() {
            plan["quotas"] = Value::Null;
        }
        self.with("/service_catalog/global_quotas", Value::Null)
    }

    #[must_use]
    pub fn with_plan_limit(mut self, limit: u64) -> Self {
        for plan in self.plans_mut() {
            plan["quotas"] = json!({ "service_instance_limit": limit });
        }
        self
    }

    /// With quotas over all plans, and those of `small` and `large`.
    #[must_use]
    pub fn with_quotas(mut self, global: Value, small: Value, large: Value) -> Self {
        for (plan, quotas) in self.plans_mut().iter_mut().zip([small, large]) {
            plan["quotas"] = quotas;
        }
        self.with("/service_catalog/global_quotas", global)
    }

    /// With the service instances API at this address in the place of a Cloud Controller.
    #[must_use]
    pub fn with_instances_api(self, url: &str) -> Self {
        let credentials = json!({ "username": "lister", "password": "of instances" });
        self.with("/broker/disable_cf_startup_checks", true.into())
            .with("/cf", Value::Null)
            .with(
                "/service_instances_api",
                json!({ "url": url, "authentication": { "basic": credentials } }),
            )
    }

    /// With errands of our own choice, for every plan: `post_deploy` and `pre_delete`.
    #[must_use]
    pub fn with_lifecycle_errands(mut self, errands: &Value) -> Self {
        for plan in self.plans_mut() {
            plan["lifecycle_errands"] = errands.clone();
        }
        self
    }

    /// With `binding_with_dns` of our own choice, for every plan.
    #[must_use]
    pub fn with_dns_bindings(mut self, bindings: &Value) -> Self {
        for plan in self.plans_mut() {
            plan["binding_with_dns"] = bindings.clone();
        }
        self
    }

    /// With another command line than `serve --config FILE`; `FILE` is replaced by the configuration.
    #[must_use]
    pub fn with_command_line(self, command_line: &str) -> Self {
        Self {
            command_line: command_line.to_owned(),
            ..self
        }
    }

    #[must_use]
    pub fn with_secure_manifests(self) -> Self {
        let known = self.foundation.description();
        let credhub = &known.director.credhub;
        let authority =
            fs::read_to_string(&known.ca_certificate).expect("the sandbox has written it");
        let client = json!({
            "client_id": credhub.client.id,
            "client_secret": credhub.client.secret,
        });
        // The example adapter needs the setting too, through the scripts that tests make of it.
        let settings = self.foundation.folder().join("redis.conf");
        fs::write(settings, "secure_manifests_enabled: true\n").expect("the test made the folder");
        let section = json!({
            "url": credhub.url,
            "root_ca_cert": authority,
            "authentication": { "uaa": { "client_credentials": client } },
        });
        self.with("/bosh_credhub", section)
            .with("/broker/enable_secure_manifests", true.into())
    }

    /// With the credentials of bindings in the CredHub of applications.
    #[must_use]
    pub fn with_secure_bindings(self) -> Self {
        let known = self.foundation.description();
        let credhub = &known.cloud_controller.credhub;
        let authority =
            fs::read_to_string(&known.ca_certificate).expect("the sandbox has written it");
        let section = json!({
            "api_url": credhub.url,
            "client_id": credhub.client.id,
            "client_secret": credhub.client.secret,
            "ca_cert": authority,
            "internal_uaa_ca_cert": authority,
        });
        self.with("/credhub", section)
    }

    /// Started by this script in Bash, as operators do; the command line of the broker is in `"$@"`.
    #[must_use]
    pub fn with_start_script(mut self, script: &str) -> Self {
        self.start_script = Some(script.to_owned());
        self
    }

    /// Starts a broker with it and waits until it answers.
    pub async fn start(self) -> Broker {
        let scheme = if self.document["broker"]["tls"].is_null() {
            "http"
        } else {
            "https"
        };
        let url = format!(
            "{scheme}://{}:{PORT}",
            self.foundation.description().broker_address
        );
        let platform = self.foundation.platform(&url, USERNAME, &self.password);
        let file = self.write("broker.yml").display().to_string();
        let program = self.foundation.binaries().path("on-demand-broker");
        let arguments = self.command_line.split_whitespace();
        let arguments = arguments.map(|word| word.replace("FILE", &file));
        let mut words = vec![program.display().to_string()];
        words.extend(arguments);
        if let Some(script) = &self.start_script {
            let bash = ["bash", "-c", script, "start"].map(str::to_owned);
            words.splice(..0, bash);
        }
        let secrets = Secrets::default()
            .and("the broker's password", &self.password)
            .and_members_of("broker.yml", &self.document);
        let credentials = (self.password, secrets);
        Broker::start(self.foundation, words, url, platform, credentials).await
    }

    /// Starts a broker with it that makes an instance of the plan `small` and stops. Gives the instance.
    pub async fn makes_an_instance(self) -> String {
        let mut broker = self.start().await;
        let instance = broker.platform().created().await;
        broker.stop().await;
        instance
    }

    /// Writes it to the foundation's folder without starting anything.
    pub fn write(&self, name: &str) -> PathBuf {
        let file = self.foundation.folder().join(name);
        // JSON is YAML.
        let text = format!("{:#}", self.document);
        // As BOSH has it: it holds secrets.
        fs::write(&file, text)
            .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o640)))
            .expect("the test made the folder");
        file
    }

    fn plans_mut(&mut self) -> &mut Vec<Value> {
        self.document["service_catalog"]["plans"]
            .as_array_mut()
            .expect("the manifest has plans")
    }
}

/// The replacements of `scripts/try` for the words between @ signs.
fn values(foundation: &Foundation, password: &str) -> Vec<(&'static str, String)> {
    let known = foundation.description();
    let authority = fs::read_to_string(&known.ca_certificate).expect("the sandbox has written it");
    let state = foundation.state();
    let file = |name| state.join(name).display().to_string();
    let adapter = foundation.binaries().path("go-test-adapter");
    let (director, controller) = (&known.director, &known.cloud_controller);
    vec![
        ("@BROKER_ADDRESS@", known.broker_address.clone()),
        ("@BROKER_USERNAME@", USERNAME.to_owned()),
        ("@BROKER_PASSWORD@", password.to_owned()),
        ("@BROKER_CERTIFICATE_FILE@", file("broker.crt")),
        ("@BROKER_KEY_FILE@", file("broker.key")),
        ("@CA_CERTIFICATE@", authority),
        ("@DIRECTOR_URL@", director.url.clone()),
        ("@DIRECTOR_CLIENT_ID@", director.team_client.id.clone()),
        (
            "@DIRECTOR_CLIENT_SECRET@",
            director.team_client.secret.clone(),
        ),
        ("@CLOUD_CONTROLLER_URL@", controller.url.clone()),
        ("@CREDHUB_URL@", director.credhub.url.clone()),
        ("@CREDHUB_CLIENT_ID@", director.credhub.client.id.clone()),
        (
            "@CREDHUB_CLIENT_SECRET@",
            director.credhub.client.secret.clone(),
        ),
        ("@CF_UAA_URL@", controller.uaa_url.clone()),
        ("@CF_CLIENT_ID@", controller.broker_client.id.clone()),
        (
            "@CF_CLIENT_SECRET@",
            controller.broker_client.secret.clone(),
        ),
        ("@ADAPTER@", adapter.display().to_string()),
    ]
}

fn fill(value: &mut Value, values: &[(&str, String)]) {
    match value {
        Value::String(text) => {
            for (placeholder, value) in values {
                if text.contains(placeholder) {
                    *text = text.replace(placeholder, value);
                }
            }
            assert!(!text.starts_with('@'), "`{text}` is unknown");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, values)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
