//! A plugin of the stage `checks` for version 1.0.0: its reply has a part of each value that it gets. Without the crate
//! `boson-plugin`, which gets later versions.

wit_bindgen::generate!({
    path: "wit",
    world: "checks",
    generate_all,
});

use boson::types::objects::{ConsumedLink, Group, Job, View};
use boson::types::types::{
    Context, Diagnostic, DocumentPlace, ObjectPlace, ObjectReference, Place, RelatedPlace, Severity, TextPlace,
};
use exports::boson::checks::policy;
use exports::boson::types::about::{self, Code, Description};
use serde_json::Value;

struct First;

export!(First);

impl about::Guest for First {
    fn describe() -> Description {
        let code = |name: &str, title: &str| Code {
            name: name.into(),
            title: title.into(),
            explanation: "Nothing to do.".into(),
        };
        Description {
            name: "first".into(),
            version: "1.0.0".into(),
            settings_schema: r#"{"type": "object", "properties": {"limit": {"type": "number"}}}"#.into(),
            codes: vec![
                code("first-summary", "What the plugin has got"),
                code("first-setting", "What the setting is"),
            ],
            more: Vec::new(),
        }
    }
}

impl policy::Guest for First {
    fn check(view: View, context: Context) -> Vec<Diagnostic> {
        let setting = Diagnostic {
            severity: Severity::Info,
            code: "first-setting".into(),
            message: context.settings.clone(),
            place: Some(Place::Setting("/limit".into())),
            related: Vec::new(),
            help: None,
            follows: Some("first-summary".into()),
            more: Vec::new(),
        };
        vec![summary(view, &context), setting]
    }
}

fn summary(view: View, context: &Context) -> Diagnostic {
    let [manifest, object] =
        [&view.manifest, &view.objects[0]].map(|text| serde_json::from_str::<Value>(text).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let deployment = context.deployment.as_ref().unwrap();
    let groups: Vec<String> = view.groups.iter().map(group).collect();
    let object = ObjectPlace {
        object: ObjectReference {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: text(&object["metadata"]["name"]),
        },
        pointer: Some("/metadata".into()),
    };
    let line = TextPlace {
        document: "manifest".into(),
        line: Some(7),
        column: None,
    };
    let related = |place: Place, message: &str| RelatedPlace {
        place,
        message: message.into(),
    };
    Diagnostic {
        severity: Severity::Warning,
        code: "first-summary".into(),
        message: format!(
            "{}: {} in {} for {}: {}",
            text(&manifest["name"]),
            deployment.name,
            deployment.namespace,
            view.target,
            groups.join(",")
        ),
        place: Some(Place::Document(DocumentPlace {
            document: "manifest".into(),
            pointer: Some("/instance_groups/0".into()),
        })),
        related: vec![
            related(Place::Object(object), "the object"),
            related(Place::Text(line), "the line"),
        ],
        help: Some(format!("features: {}", context.features.join(","))),
        follows: None,
        more: view.more,
    }
}

fn group(group: &Group) -> String {
    let jobs: Vec<String> = group.jobs.iter().map(job).collect();
    format!("{} has {} instances of {}", group.name, group.instances, jobs.join(","))
}

fn job(job: &Job) -> String {
    let links: Vec<String> = job.consumes.iter().map(link).collect();
    format!("{} ({}): {}", job.name, job.release, links.join(", "))
}

fn link(link: &ConsumedLink) -> String {
    format!(
        "{} from {}",
        link.name,
        link.provider_group.as_deref().unwrap_or("nobody")
    )
}
