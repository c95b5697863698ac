//! A plugin of the stage `checks`: it reports pods with root or privileged containers, and Services that are reachable
//! from outside the cluster.

mod policy;

use boson::types::objects::View;
use boson::types::types::{Context, Diagnostic, ObjectPlace, ObjectReference, Place, Severity};
use exports::boson::checks::policy::Guest as Check;
use exports::boson::types::about::{Code, Description, Guest as About};
use serde_json::Value;

wit_bindgen::generate!({
    path: ["../../../../wit/types/1.0.0", "../../../../wit/checks/1.0.0"],
    world: "boson:checks/checks@1.0.0",
    generate_all,
});

/// The host validates settings against it.
const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "initContainers": {
      "description": "Check init containers, too. As in BOSH, pre-start scripts run in them as root.",
      "type": "boolean",
      "default": false
    }
  }
}"#;

struct Plugin;

export!(Plugin);

impl About for Plugin {
    fn describe() -> Description {
        let code = |(name, title, explanation): &(&str, &str, &str)| Code {
            name: name.to_string(),
            title: title.to_string(),
            explanation: explanation.to_string(),
        };
        Description {
            name: "security-policy".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            settings_schema: SETTINGS_SCHEMA.into(),
            codes: policy::CODES.iter().map(code).collect(),
            more: Vec::new(),
        }
    }
}

impl Check for Plugin {
    fn check(view: View, context: Context) -> Vec<Diagnostic> {
        let settings: Value = serde_json::from_str(&context.settings).unwrap_or_default();
        let init_containers = settings["initContainers"].as_bool().unwrap_or(false);
        let objects = view.objects.iter().filter_map(|text| serde_json::from_str(text).ok());
        objects
            .flat_map(|object: Value| check_object(&object, init_containers))
            .collect()
    }
}

fn check_object(object: &Value, init_containers: bool) -> Vec<Diagnostic> {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    let diagnostic = |finding: policy::Finding| Diagnostic {
        severity: Severity::Error,
        code: finding.code.into(),
        message: finding.message,
        place: Some(Place::Object(ObjectPlace {
            object: ObjectReference {
                api_version: text("/apiVersion"),
                kind: text("/kind"),
                name: text("/metadata/name"),
            },
            pointer: Some(finding.pointer),
        })),
        related: Vec::new(),
        help: Some(finding.help.into()),
        follows: None,
        more: Vec::new(),
    };
    policy::findings(object, init_containers)
        .into_iter()
        .map(diagnostic)
        .collect()
}
