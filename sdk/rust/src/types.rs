//! Types of all stages.

use serde_json::Value;

/// Generated.
#[doc(hidden)]
#[allow(missing_docs, reason = "documented in `wit/`, where a name does not say all")]
pub mod bindings {
    wit_bindgen::generate!({
        inline: "
            package boson:sdk@1.0.0;
            world shared {
                import boson:types/types@1.0.0;
                import boson:types/objects@1.0.0;
            }
        ",
        path: "../../wit/types/1.0.0",
        world: "boson:sdk/shared",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

pub use bindings::boson::types::objects::{ConsumedLink, Group, Job, View};
pub use bindings::boson::types::types::*;

// === impl Diagnostic ===

impl Diagnostic {
    /// An error: the conversion fails. The code begins with the name of the plugin.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning: the conversion continues.
    pub fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// Information for the user.
    pub fn info(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, message.into())
    }

    fn new(severity: Severity, code: &str, message: String) -> Self {
        Self {
            severity,
            code: code.into(),
            message,
            place: None,
            related: Vec::new(),
            help: None,
            follows: None,
            more: Vec::new(),
        }
    }

    /// What it is about.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Another place that it refers to, and what is there.
    #[must_use]
    pub fn related(mut self, place: Place, message: impl Into<String>) -> Self {
        self.related.push(RelatedPlace {
            place,
            message: message.into(),
        });
        self
    }

    /// What to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

// === impl Place ===

impl Place {
    /// A field of an object, by a JSON pointer.
    pub fn in_object(object: &Value, pointer: &str) -> Self {
        Self::Object(ObjectPlace {
            object: ObjectReference::of(object),
            pointer: Some(pointer.into()),
        })
    }

    /// A value in the manifest of a view, by a JSON pointer.
    pub fn in_manifest(pointer: &str) -> Self {
        Self::in_document("manifest", pointer)
    }

    /// A value in a document of the call, by a JSON pointer.
    pub fn in_document(document: &str, pointer: &str) -> Self {
        Self::Document(DocumentPlace {
            document: document.into(),
            pointer: Some(pointer.into()),
        })
    }
}

// === impl ObjectReference ===

impl ObjectReference {
    /// Names an object.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: text(&object["metadata"]["name"]),
        }
    }
}

// === impl Context ===

impl Context {
    /// The context of a call, for tests.
    pub fn of(deployment: &str, settings: &Value) -> Self {
        Self {
            deployment: Some(Deployment {
                name: deployment.into(),
                namespace: "default".into(),
                more: Vec::new(),
            }),
            settings: settings.to_string(),
            features: Vec::new(),
            more: Vec::new(),
        }
    }
}

// === impl View ===

impl View {
    /// A view of these objects, for tests.
    pub fn of(objects: &[Value]) -> Self {
        Self {
            target: "kubernetes".into(),
            manifest: "{}".into(),
            groups: Vec::new(),
            objects: objects.iter().map(Value::to_string).collect(),
            more: Vec::new(),
        }
    }

    /// The manifest, read.
    pub fn manifest(&self) -> Value {
        serde_json::from_str(&self.manifest).unwrap_or_default()
    }

    /// The objects, read.
    pub fn objects(&self) -> impl Iterator<Item = Value> {
        self.objects.iter().filter_map(|text| serde_json::from_str(text).ok())
    }
}
