//! What a bind template sees: Secrets, Services and Ingresses of the instance's namespace, as the API server lists
//! them. Published templates rely on the order of the lists, which is by name.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

/// Members of `metadata` that are long and say nothing.
const NOISE: [&str; 2] = [
    "/metadata/managedFields",
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
];

/// The objects of a namespace, each list by name.
#[derive(Clone, Copy, Debug)]
pub struct Namespace<'a> {
    pub secrets: &'a [Value],
    pub services: &'a [Value],
    pub ingresses: &'a [Value],
    /// The nodes, whose addresses a Service of type `NodePort` has.
    pub nodes: &'a [Value],
}

/// What is known of the binding. No text of the user's beside the parameters.
#[derive(Clone, Debug, Default)]
pub struct BindingFacts {
    pub id: String,
    pub app_guid: Option<String>,
    pub instance_id: String,
    pub instance_name: Option<String>,
    pub plan: String,
    pub parameters: Map<String, Value>,
}

/// The inputs of a bind template. They hold secrets: no `Debug`, and never logged.
#[derive(Clone, PartialEq)]
pub struct Inputs(Value);

impl Inputs {
    pub fn of(namespace: Namespace<'_>, binding: &BindingFacts) -> Self {
        let of_type = |wanted: fn(&str) -> bool| {
            let secrets = namespace.secrets.iter();
            secrets.filter(move |secret| wanted(secret["type"].as_str().unwrap_or_default()))
        };
        let secrets: Vec<Value> = of_type(|kind| kind == "Opaque").map(opaque).collect();
        let tls: Vec<Value> = of_type(|kind| kind == "kubernetes.io/tls")
            .map(tls)
            .collect();
        let service_bindings: Vec<Value> = of_type(|kind| kind.starts_with("servicebinding.io/"))
            .map(service_binding)
            .collect();
        let addresses = node_addresses(namespace.nodes);
        let services = namespace.services.iter();
        let services: Vec<Value> = services
            .map(|service| with_nodes(service, &addresses))
            .collect();
        let ingresses: Vec<Value> = namespace.ingresses.iter().map(network).collect();
        Self(json!({
            "secrets": secrets,
            "services": services,
            "ingresses": ingresses,
            "tls": tls,
            "service_bindings": service_bindings,
            "binding": {
                "id": binding.id,
                "app_guid": binding.app_guid,
                "instance_id": binding.instance_id,
                "instance_name": binding.instance_name,
                "plan": binding.plan,
                "parameters": binding.parameters,
            },
        }))
    }

    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The credentials of an offer without a template: the inputs as they are.
    pub fn credentials(&self) -> Map<String, Value> {
        let mut credentials = Map::new();
        for list in ["secrets", "services", "ingresses"] {
            let entries = self.0[list].clone();
            let is_empty = entries.as_array().is_none_or(Vec::is_empty);
            if list != "ingresses" || !is_empty {
                credentials.insert(list.to_owned(), entries);
            }
        }
        credentials
    }

    /// The credentials of an offer that takes those of the one Secret for service bindings. `None` if there is no such
    /// Secret, or more than one.
    pub fn of_service_binding(&self) -> Option<Map<String, Value>> {
        let [only] = self.0["service_bindings"].as_array()?.as_slice() else {
            return None;
        };
        let mut credentials = only["data"].as_object()?.clone();
        if let Some(port) = credentials.get_mut("port") {
            let number = port.as_str().and_then(|text| text.parse::<u16>().ok());
            if let Some(number) = number {
                *port = number.into();
            }
        }
        Some(credentials)
    }

    /// Every secret text among them, for redaction.
    pub fn secret_texts(&self) -> Vec<String> {
        let lists = ["secrets", "tls", "service_bindings"];
        let entries = lists
            .iter()
            .filter_map(|list| self.0[list].as_array())
            .flatten();
        entries
            .filter_map(|entry| entry["data"].as_object())
            .flat_map(|data| data.values())
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    }
}

/// Values that are no text are given as base64.
fn opaque(secret: &Value) -> Value {
    let (mut data, mut base64) = (Map::new(), Map::new());
    for (key, value) in secret["data"].as_object().into_iter().flatten() {
        let packed = value.as_str().unwrap_or_default();
        match STANDARD.decode(packed).map(String::from_utf8) {
            Ok(Ok(text)) => data.insert(key.clone(), text.into()),
            _ => base64.insert(key.clone(), packed.into()),
        };
    }
    let mut entry = json!({ "name": secret["metadata"]["name"], "data": data });
    if !base64.is_empty() {
        entry["base64"] = base64.into();
    }
    entry
}

/// Certificates, and never the key.
fn tls(secret: &Value) -> Value {
    let mut entry = opaque(secret);
    if let Some(data) = entry["data"].as_object_mut() {
        data.retain(|key, _| key == "tls.crt" || key == "ca.crt");
    }
    entry
}

fn service_binding(secret: &Value) -> Value {
    let mut entry = opaque(secret);
    entry["type"] = secret["type"].clone();
    entry
}

/// A Service or an Ingress without what is only noise.
fn network(object: &Value) -> Value {
    let mut object = object.clone();
    for pointer in NOISE {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
        if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(&key.replace("~1", "/"));
        }
    }
    json!({
        "name": object["metadata"]["name"],
        "metadata": object["metadata"],
        "spec": object["spec"],
        "status": object["status"],
    })
}

fn with_nodes(service: &Value, addresses: &[&str]) -> Value {
    let mut entry = network(service);
    if entry["spec"]["type"] == "NodePort" && !addresses.is_empty() {
        let known = entry["spec"]["externalIPs"].as_array().cloned();
        let mut all = known.unwrap_or_default();
        all.extend(addresses.iter().map(|address| Value::from(*address)));
        entry["spec"]["externalIPs"] = all.into();
    }
    entry
}

/// The external address of each ready node, or else its internal one.
fn node_addresses(nodes: &[Value]) -> Vec<&str> {
    let is_ready = |node: &&Value| {
        let conditions = node["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let address = |node: &&'_ Value, kind: &str| -> Option<usize> {
        let addresses = node["status"]["addresses"].as_array()?;
        addresses.iter().position(|address| address["type"] == kind)
    };
    nodes
        .iter()
        .filter(is_ready)
        .filter_map(|node| {
            let at = address(&node, "ExternalIP").or_else(|| address(&node, "InternalIP"))?;
            node["status"]["addresses"][at]["address"].as_str()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, kind: &str, data: &[(&str, &[u8])]) -> Value {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into()));
        json!({ "metadata": { "name": name }, "type": kind, "data": data.collect::<Map<_, _>>() })
    }

    fn inputs(secrets: &[Value], services: &[Value], nodes: &[Value]) -> Inputs {
        let namespace = Namespace {
            secrets,
            services,
            ingresses: &[],
            nodes,
        };
        Inputs::of(namespace, &BindingFacts::default())
    }

    #[test]
    fn secrets_are_decoded_and_what_is_no_text_is_set_apart() {
        let secrets = [
            secret("a", "Opaque", &[("password", b"pw"), ("key", &[0xff, 0])]),
            secret(
                "b",
                "kubernetes.io/service-account-token",
                &[("token", b"t")],
            ),
            secret("c", "helm.sh/release.v1", &[("release", b"r")]),
            secret(
                "d",
                "on-demand-broker.dev/instance.v1",
                &[("record", b"{}")],
            ),
            secret(
                "e",
                "kubernetes.io/tls",
                &[("tls.crt", b"crt"), ("tls.key", b"key")],
            ),
        ];
        let inputs = inputs(&secrets, &[], &[]);
        let value = inputs.value();
        assert_eq!(
            value["secrets"],
            json!([{ "name": "a", "data": { "password": "pw" }, "base64": { "key": "/wA=" } }])
        );
        assert_eq!(
            value["tls"],
            json!([{ "name": "e", "data": { "tls.crt": "crt" } }])
        );
        assert_eq!(inputs.secret_texts(), ["pw", "crt"]);
    }

    #[test]
    fn without_a_template_the_lists_are_the_credentials() {
        let inputs = inputs(&[secret("a", "Opaque", &[("password", b"pw")])], &[], &[]);
        assert_eq!(
            Value::from(inputs.credentials()),
            json!({ "secrets": [{ "name": "a", "data": { "password": "pw" } }], "services": [] })
        );
    }

    #[test]
    fn one_secret_for_service_bindings_is_the_credentials() {
        let one = secret(
            "x-svcbind",
            "servicebinding.io/redis",
            &[("port", b"6379"), ("host", b"h")],
        );
        let credentials = inputs(std::slice::from_ref(&one), &[], &[]).of_service_binding();
        assert_eq!(
            credentials.map(Value::from),
            Some(json!({ "port": 6379, "host": "h" }))
        );
        assert_eq!(
            inputs(&[one.clone(), one], &[], &[]).of_service_binding(),
            None
        );
        assert_eq!(inputs(&[], &[], &[]).of_service_binding(), None);
    }

    #[test]
    fn services_lose_noise_and_gain_the_addresses_of_ready_nodes() {
        let service = json!({
            "metadata": { "name": "s", "managedFields": [1], "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes" } },
            "spec": { "type": "NodePort", "externalIPs": ["192.0.2.9"] }, "status": {},
        });
        let node = |ready: &str, addresses: Value| json!({ "status": { "conditions": [{ "type": "Ready", "status": ready }], "addresses": addresses } });
        let nodes = [
            node(
                "True",
                json!([{ "type": "InternalIP", "address": "10.0.0.1" }, { "type": "ExternalIP", "address": "192.0.2.1" }]),
            ),
            node(
                "True",
                json!([{ "type": "InternalIP", "address": "10.0.0.2" }]),
            ),
            node(
                "False",
                json!([{ "type": "InternalIP", "address": "10.0.0.3" }]),
            ),
        ];
        let inputs = inputs(&[], &[service], &nodes);
        let service = &inputs.value()["services"][0];
        assert_eq!(
            service["metadata"],
            json!({ "name": "s", "annotations": { "kept": "yes" } })
        );
        assert_eq!(
            service["spec"]["externalIPs"],
            json!(["192.0.2.9", "192.0.2.1", "10.0.0.2"])
        );
    }
}
