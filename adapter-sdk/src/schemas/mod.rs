//! JSON Schemas of the protocol's documents (draft 2020-12), generated from the types that read and write them. They
//! are committed in `spec/schemas/adapter`, for authors who use another language and for their editors.
//!
//! The SDK accepts what a schema accepts, with one exception: to JSON Schema `4.0` is an integer, to adapters it is
//! not. If the SDK is lenient but the document would be useless, as for a plan schema without its draft, the schema is
//! strict.
//!
//! `texts` has the parts of documents that are documents themselves, as text; `tidy` converts the terms of `schemars`
//! from those of Rust to those of JSON.

pub(crate) mod texts;
mod tidy;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::Transform;
use serde_json::{Map, Value, json};

use self::tidy::Tidy;
use crate::manifest::Manifest;
use crate::protocol::{
    BindTarget, Binding, BoshVms, DashboardUrl, DnsAddresses, GeneratedManifest, MaintenanceInfo,
    Plan, PlanSchemas, PlatformContext, PreviousConfigs, PreviousValues, Secrets, Sections,
    ServiceDeployment, Subcommand, UaaClient,
};

pub(crate) use self::tidy::integer_range;

/// A document of the protocol.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// Its name, such as `service-deployment`.
    pub name: &'static str,
    /// Its JSON Schema. References to other documents are relative: `plan.schema.json`.
    pub schema: Value,
}

impl Document {
    /// Name of the file that holds the schema.
    pub fn file_name(&self) -> String {
        format!("{}.schema.json", self.name)
    }

    /// The schema as the text of that file.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.schema)
    }

    fn of<T: JsonSchema>(name: &'static str, title: &str, description: &str) -> Self {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = generator.into_root_schema_for::<T>();
        Tidy.transform(&mut schema);
        schema.insert("title".to_owned(), title.into());
        if !description.is_empty() {
            schema.insert("description".to_owned(), description.into());
        }
        Self {
            name,
            schema: in_order(schema.to_value()),
        }
    }
}

/// Every document that broker and adapter exchange.
pub fn documents() -> Vec<Document> {
    vec![
        input(),
        Document::of::<ServiceDeployment>(
            "service-deployment",
            "Service deployment",
            "What a service instance is deployed as and from: the same for every plan of an offering.",
        ),
        Document::of::<Plan>(
            "plan",
            "Plan",
            "A plan as an adapter sees it, without id and name.",
        ),
        Document::of::<RequestBody>("request-parameters", "Request parameters", ""),
        Document::of::<Secrets>(
            "previous-secrets",
            "Secrets",
            "Values of a service instance's secrets by their reference as in the manifest, double \
             parentheses included, such as `((admin_password))`. Secrets that cannot be read are absent.",
        ),
        Document::of::<PreviousConfigs>(
            "previous-configs",
            "BOSH configs",
            "BOSH configs of the service instance as they are now: YAML text by config type (`cloud`, `cpi`, `runtime`).",
        ),
        Document::of::<UaaClient>(
            "uaa-client",
            "UAA client",
            "The UAA client of a service instance. Lists are comma-separated.",
        ),
        Document::of::<BoshVms>(
            "bosh-vms",
            "BOSH VMs",
            "Addresses of an instance group's VMs, every network, by the group's name. Groups without VMs do not appear.",
        ),
        Document::of::<DnsAddresses>(
            "dns-addresses",
            "DNS addresses",
            "DNS addresses by the name of their `binding_with_dns` entry in the plan.",
        ),
        Document::of::<Manifest>(
            "manifest",
            "BOSH manifest",
            "A deployment manifest, read from its YAML. Keys that are not known here are the Director's to judge.",
        ),
        Document::of::<GeneratedManifest>(
            "generated-manifest",
            "Answer to generate-manifest",
            "What an adapter prints on stdout. In the form with arguments it prints the manifest alone, as YAML.",
        ),
        Document::of::<Binding>(
            "binding",
            "Answer to create-binding",
            "What an adapter prints on stdout. The Go broker drops endpoints, volume mounts and metadata.",
        ),
        Document::of::<DashboardUrl>(
            "dashboard-url",
            "Answer to dashboard-url",
            "What an adapter prints on stdout.",
        ),
        plan_schemas(),
    ]
}

/// The schema of the complete input, with those of each subcommand's document in `$defs`, under its name.
fn input() -> Document {
    let mut document = Document::of::<Sections>("input", "Input of an adapter", "");
    if let Some(Value::Object(sections)) = document.schema.get_mut("$defs") {
        for section in sections.values_mut().filter_map(Value::as_object_mut) {
            // The properties describe it, and its requirements depend on the subcommand.
            section.shift_remove("description");
            section.shift_remove("required");
        }
    }
    for &subcommand in Subcommand::ALL {
        document.schema["$defs"][subcommand.name()] = called(subcommand);
    }
    document
}

/// The members that must not be empty in the section of a subcommand, so that an adapter made with the Go SDK can read
/// it (`spec/contracts/adapter-protocol.md`, "stdin form").
fn called(subcommand: Subcommand) -> Value {
    let name = subcommand.name();
    let section = subcommand.section();
    let needed: &[&str] = match subcommand {
        Subcommand::GenerateManifest => &[
            "service_deployment",
            "plan",
            "previous_plan",
            "request_parameters",
        ],
        Subcommand::CreateBinding | Subcommand::DeleteBinding => {
            &["bosh_vms", "request_parameters"]
        }
        Subcommand::DashboardUrl | Subcommand::GeneratePlanSchemas => &["plan"],
    };
    let filled = needed.iter().map(|member| {
        let text = json!({"type": "string", "minLength": 1});
        ((*member).to_owned(), text)
    });
    let filled = Value::Object(filled.collect());
    json!({
        "description": format!("The input of `{name}`: its section is there, and filled."),
        "$ref": "#",
        "properties": {section.as_str(): {"type": "object", "properties": filled, "required": needed}},
        "required": [section],
    })
}

/// The broker takes no schema less than the three.
fn plan_schemas() -> Document {
    let mut document = Document::of::<PlanSchemas>(
        "plan-schemas",
        "Answer to generate-plan-schemas",
        "What an adapter prints on stdout: JSON Schemas of draft 4. All three are required; without parameters, use a schema that accepts none.",
    );
    require_all(&mut document.schema);
    if let Some(Value::Object(definitions)) = document.schema.get_mut("$defs") {
        definitions.values_mut().for_each(require_all);
    }
    document
}

fn require_all(schema: &mut Value) {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let names: Vec<String> = properties.keys().cloned().collect();
        schema["required"] = names.into();
    }
}

/// Orders a schema: its description first, then its members.
fn in_order(schema: Value) -> Value {
    let Value::Object(mut keywords) = schema else {
        return schema;
    };
    let mut ordered = Map::new();
    for first in ["$schema", "title", "description"] {
        if let Some(value) = keywords.shift_remove(first) {
            ordered.insert(first.to_owned(), value);
        }
    }
    let definitions = keywords.shift_remove("$defs");
    ordered.extend(keywords);
    if let Some(definitions) = definitions {
        ordered.insert("$defs".to_owned(), definitions);
    }
    Value::Object(ordered)
}

/// The body of the platform's request. An update has `previous_values`, a binding `bind_resource` and `app_guid`, an
/// unbinding `plan_id` and `service_id` only. An upgrade has the `context` alone. The body is empty when the broker
/// checks for pending changes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
struct RequestBody {
    /// The catalog id of the service offering.
    service_id: Option<String>,
    /// The catalog id of the plan.
    plan_id: Option<String>,
    /// The organisation that an instance is created in.
    organization_guid: Option<String>,
    /// The space that an instance is created in.
    space_guid: Option<String>,
    /// The state before an update.
    previous_values: Option<PreviousValues>,
    /// The application to bind; may be empty.
    app_guid: Option<String>,
    /// The target of a binding.
    bind_resource: Option<BindTarget>,
    /// Where the request comes from.
    context: Option<PlatformContext>,
    /// The user's parameters: `{}` without any. They are never sent again with a later request.
    parameters: Option<Map<String, Value>>,
    /// The version of the plan that the platform asks for.
    maintenance_info: Option<MaintenanceInfo>,
}
