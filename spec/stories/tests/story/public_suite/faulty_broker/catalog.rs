//! Its offering.

use serde_json::{Value, json};

use super::model::{Model, Peculiarity};

pub(super) const SERVICE: &str = "service";
pub(super) const SMALL: &str = "small-id";
pub(super) const LARGE: &str = "large-id";
pub(super) const VERSION: &str = "1.0.0";

impl Model {
    pub(super) fn catalog(&mut self) -> Value {
        self.readings += 1;
        let plan_id = if self.breaks("C-02") {
            format!("{SMALL}-{}", self.readings)
        } else {
            SMALL.to_owned()
        };
        let mut schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "additionalProperties": false,
            "properties": { "size": { "type": "integer" } },
        });
        if self.breaks("C-03") {
            schema["properties"]["size"] = json!({ "$ref": "https://example.com/size" });
        }
        let mut info = json!({ "version": VERSION, "description": "newer" });
        if self.breaks("C-05") {
            info["public"] = json!({});
        }
        let mut small = json!({
            "id": plan_id,
            "name": "small",
            "description": "small",
            "maintenance_info": info,
            "schemas": {
                "service_instance": { "create": { "parameters": schema } },
                "service_binding": { "create": { "parameters": schema } },
            },
        });
        if self.breaks("C-07") {
            small["free"] = "yes".into();
        }
        let mut large = json!({ "id": LARGE, "name": "large", "description": "large" });
        if self.is(Peculiarity::ChangesNeedParameters) {
            schema["required"] = json!(["size"]);
            let update = json!({ "parameters": schema });
            small["schemas"]["service_instance"]["update"] = update.clone();
            large["schemas"] = json!({ "service_instance": { "update": update } });
        }
        if self.breaks("C-06") {
            large["name"] = "small".into();
        }
        if self.breaks("C-01") {
            large["description"] = "".into();
        }
        if self.breaks("G-16") {
            large["name"] = "x".repeat(256).into();
        }
        json!({ "services": [
            {
                "id": SERVICE,
                "name": "model",
                "description": "a model of a service",
                "bindable": true,
                "plan_updateable": !self.breaks("U-06"),
                "instances_retrievable": true,
                "bindings_retrievable": true,
                "allow_context_updates": true,
                "plans": [small, large],
            },
            {
                "id": "other",
                "name": "other",
                "description": "another service",
                "bindable": false,
                "plans": [{ "id": "foreign-id", "name": "foreign", "description": "foreign" }],
            },
        ] })
    }
}
