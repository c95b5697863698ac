//! Templates of Jobs and StatefulSets, as their users wrote them: a type of Kubernetes would drop the fields that it
//! does not know, which the API server would then not report.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A template of a Job or StatefulSet. It is stored as JSON text: the members of a parsed one need many times as much
/// memory, and the operator stores those of all deployments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Template(Box<str>);

// === impl Template ===

impl Template {
    /// Its members, parsed.
    pub fn members(&self) -> Map<String, Value> {
        // It was written from members.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Changes its members.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Value) -> R) -> R {
        let mut members = Value::Object(self.members());
        let changed = change(&mut members);
        self.0 = members.to_string().into();
        changed
    }
}

impl From<Map<String, Value>> for Template {
    fn from(members: Map<String, Value>) -> Self {
        Self(Value::Object(members).to_string().into())
    }
}

impl From<Template> for Map<String, Value> {
    fn from(template: Template) -> Self {
        template.members()
    }
}

/// The spec of the pods of a template, to change it.
pub fn pod_mut(template: &mut Map<String, Value>) -> Option<&mut Value> {
    template.get_mut("spec")?.get_mut("template")?.get_mut("spec")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pod_is_the_one_inside_of_the_template() {
        let mut template = json!({"spec": {"template": {"spec": {"volumes": [1]}}}});
        let template = template.as_object_mut().unwrap();
        assert_eq!(pod_mut(template), Some(&mut json!({"volumes": [1]})));
        assert_eq!(pod_mut(&mut Map::new()), None);
    }

    #[test]
    fn a_template_keeps_the_order_and_the_numbers_of_its_members() {
        let text = r#"{"z":1,"a":{"d":1.50,"c":[18446744073709551615,-0.0,"\u0000ü"]}}"#;
        let template: Template = serde_json::from_str(text).unwrap();
        let whole: Value = serde_json::from_str(text).unwrap();
        assert_eq!(json!(template).to_string(), whole.to_string());
        assert!(serde_json::from_str::<Template>("[]").is_err());
    }
}
