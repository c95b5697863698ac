//! The plugin: this stage behind the contract's world `variables`.

use crate::{Code, Diagnostic, Rules};
use boson::types::types as wit;
use boson_document::{Map, Pointer, Tree, json};
use exports::boson::variables::interpolation as world;

wit_bindgen::generate!({ path: ["../../wit/types", "../../wit/variables"], world: "boson:variables/variables@1.0.0", generate_all });

struct Plugin;
export!(Plugin);

type Told<T> = Result<T, Vec<wit::Diagnostic>>;

impl world::Guest for Plugin {
    fn describe() -> wit::Description {
        let text = |text: &str| text.to_string();
        let code = |c: Code| wit::Code {
            name: text(c.name()),
            title: text(c.title()),
            explanation: text(c.explanation()),
        };
        wit::Description {
            name: text("variables"),
            version: text(env!("CARGO_PKG_VERSION")),
            stage: text("variables"),
            settings_schema: text(crate::SETTINGS_SCHEMA),
            codes: Code::all().map(code).collect(),
            extensions: Vec::new(),
        }
    }

    fn plan(document: String, name: String, settings: String) -> Told<world::VariablesPlan> {
        let plan = crate::plan(&parse(&document, &name)?, rules(&settings, &name)?).map_err(|all| told(all, &name))?;
        Ok(world::VariablesPlan {
            definitions: plan.definitions.into_iter().map(definition).collect(),
            references: plan.references.into_iter().map(reference).collect(),
            diagnostics: told(plan.diagnostics, &name),
            extensions: Vec::new(),
        })
    }

    fn interpolate(document: String, name: String, values: String, settings: String) -> Told<world::Interpolated> {
        let values = members(parse(&values, &name)?, &name)?;
        let rules = rules(&settings, &name)?;
        let done = crate::interpolate(parse(&document, &name)?, &values, rules).map_err(|all| told(all, &name))?;
        Ok(world::Interpolated {
            document: json::to_text(&done.document),
            missing: done.missing.into_iter().map(reference).collect(),
            used: done.used,
            diagnostics: told(done.diagnostics, &name),
            extensions: Vec::new(),
        })
    }
}

fn definition(definition: crate::Definition) -> world::Definition {
    world::Definition {
        name: definition.name,
        kind: definition.kind,
        options: json::to_text(&definition.options),
        update_mode: definition.update_mode,
        consumes: json::to_text(&definition.consumes),
        pointer: definition.pointer.to_string(),
        extensions: Vec::new(),
    }
}

fn reference(reference: crate::Reference) -> world::Reference {
    world::Reference {
        name: reference.name,
        pointer: reference.pointer.to_string(),
    }
}

fn members(values: Tree, name: &str) -> Told<Map> {
    let wrong = || Diagnostic::new(Code::MalformedDocument, "the values are no object", Pointer::root());
    if let Tree::Object(map) = values {
        Ok(map)
    } else {
        Err(told(vec![wrong()], name))
    }
}

fn rules(settings: &str, name: &str) -> Told<Rules> {
    Rules::from_settings(&parse(settings, name)?).map_err(|diagnostic| told(vec![diagnostic], name))
}

fn parse(text: &str, name: &str) -> Told<Tree> {
    let malformed = |error: json::Error| Diagnostic::new(Code::MalformedDocument, error.to_string(), Pointer::root());
    json::parse(text).map_err(|error| told(vec![malformed(error)], name))
}

fn told(diagnostics: Vec<Diagnostic>, name: &str) -> Vec<wit::Diagnostic> {
    let tell = |diagnostic: Diagnostic| wit::Diagnostic {
        severity: if diagnostic.code.is_warning() {
            wit::Severity::Warning
        } else {
            wit::Severity::Error
        },
        code: diagnostic.code.name().into(),
        help: diagnostic.code.help().map(Into::into),
        message: diagnostic.message,
        document: Some(name.into()),
        pointer: Some(diagnostic.pointer.to_string()),
        line: None,
        extensions: Vec::new(),
    };
    diagnostics.into_iter().map(tell).collect()
}
