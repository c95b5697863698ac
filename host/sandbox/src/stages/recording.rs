//! The calls of a conversion, in the JSON form of [`crate::json_call`], so that each can be repeated alone.

use crate::bindings::boson::types::objects as wit_objects;
use crate::bindings::boson::types::types::Context;
use crate::call::conversions::context_with;
use crate::call::json_call::JSON_MEMBERS;
use crate::plugin::Plugin;
use crate::stages::plugins::Plugins;
use crate::stages::recorder::{ENUM_MEMBERS, RecordedCall};
use boson_contract::bindings::kebab;
use boson_document::{Map, Tree, json};
use boson_pipeline::stage::Call;
use serde::Serialize;

// === impl Plugins ===

impl Plugins {
    /// Passes a call to the recorder, if there is one.
    pub(crate) fn record(&self, call: Call<'_>, plugin: Option<&Plugin>, request: &impl Serialize, context: &Context) {
        let Some(recorder) = &self.recorder else { return };
        let parameter = if call.view().is_some() { "view" } else { "request" };
        let mut context = argument(context);
        if plugin.is_none()
            && let Some(context) = context.as_object_mut()
        {
            // A plugin gets its own.
            context.shift_remove("settings");
        }
        let call = RecordedCall {
            stage: call.stage(),
            plugin: plugin.cloned(),
            function: call.function(),
            arguments: Tree::object()
                .with(parameter, argument(request))
                .with("context", context),
        };
        recorder.record(call, &self.sandbox);
    }

    /// Records the call that a plugin of a stage without plugins would get.
    pub(crate) fn record_without_plugin(&self, call: Call<'_>) {
        if let Some(view) = call.view().filter(|_| self.recorder.is_some()) {
            let view: wit_objects::View = view.into();
            self.record(call, None, &view, &context_with("{}", self.deployment_of(call)));
        }
    }
}

/// A value of the contract as JSON: names of the contract, and its JSON texts as JSON.
fn argument(value: &impl Serialize) -> Tree {
    let value = serde_json::to_value(value).and_then(serde_json::from_value);
    // Records of texts and numbers are always JSON.
    value.map(|value| renamed("", value)).unwrap_or_default()
}

/// `name`: the member that the value is in.
fn renamed(name: &str, value: Tree) -> Tree {
    match value {
        Tree::Object(map) => {
            let member = |(name, value): (String, Tree)| {
                let name = kebab(&name);
                let value = renamed(&name, value);
                (name, value)
            };
            Tree::Object(map.into_iter().map(member).collect::<Map>())
        }
        Tree::Array(items) => Tree::Array(items.into_iter().map(|item| renamed(name, item)).collect()),
        Tree::String(case) if ENUM_MEMBERS.contains(&name) => kebab(&case).into(),
        Tree::String(text) if JSON_MEMBERS.contains(&name) => json::parse(&text).unwrap_or(Tree::String(text)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::boson::types::types::{ConversionOptions, Deployment as WitDeployment, Spread};

    #[test]
    fn records_have_the_names_of_the_contract() {
        let options = ConversionOptions {
            cluster_domain: "cluster.local".into(),
            operator_image: "host:1".into(),
            registry: None,
            spread: Spread::PerZone,
            more: Vec::new(),
        };
        let wanted = r#"{"cluster-domain":"cluster.local","operator-image":"host:1","registry":null,"spread":"per-zone","more":[]}"#;
        assert_eq!(json::to_text(&argument(&options)), wanted);
        let context = Context {
            deployment: Some(WitDeployment {
                name: "nats".into(),
                namespace: "default".into(),
                more: Vec::new(),
            }),
            settings: r#"{"uid":1.10}"#.into(),
            features: Vec::new(),
            more: Vec::new(),
        };
        let wanted = r#"{"deployment":{"name":"nats","namespace":"default","more":[]},"settings":{"uid":1.10},"features":[],"more":[]}"#;
        assert_eq!(json::to_text(&argument(&context)), wanted);
    }
}
