//! What a component may be: sealed, and of one stage. Decided from its type, before anything of it runs.

use crate::error::{Failure, FailureKind};
use boson_pipeline::Stage;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The interface that makes a component a plugin of `stage`.
pub(crate) fn interface(stage: Stage) -> &'static str {
    match stage {
        Stage::Ops => "boson:ops/operations@1.0.0",
        Stage::Variables => "boson:variables/interpolation@1.0.0",
        Stage::Links => "boson:links/resolution@1.0.0",
        Stage::Render => "boson:render/templates@1.0.0",
        Stage::Bpm => "boson:bpm/conversion@1.0.0",
        Stage::Resources => "boson:resources/transformation@1.0.0",
    }
}

/// Checks imports and exports; the stage that the component is of.
///
/// # Errors
/// Names every function or resource that it imports; says which stages there are where it exports none of them.
pub(crate) fn check(engine: &Engine, name: &str, component: &Component) -> Result<Stage, Failure> {
    let refused = |message: String| Err(Failure::new(FailureKind::Refused, name, message));
    let kind = component.component_type();
    let mut imports = Vec::new();
    for (import, item) in kind.imports(engine) {
        forbidden(engine, import, &item.ty, &mut imports);
    }
    if !imports.is_empty() {
        return refused(format!(
            "imports {}; a plugin may import nothing but types",
            imports.join(", ")
        ));
    }
    let exports: Vec<&str> = kind.exports(engine).map(|(export, _)| export).collect();
    let stages: Vec<Stage> = Stage::ALL
        .into_iter()
        .filter(|stage| exports.contains(&interface(*stage)))
        .collect();
    match stages[..] {
        [stage] => Ok(stage),
        [] => refused(format!(
            "exports no stage of the contract; one of {} is needed, it has {}",
            wanted(),
            list(&exports)
        )),
        _ => refused("exports several stages; a plugin has one".to_string()),
    }
}

fn forbidden(engine: &Engine, name: &str, item: &ComponentItem, found: &mut Vec<String>) {
    match item {
        ComponentItem::Type(_) => {}
        ComponentItem::ComponentInstance(instance) => {
            for (member, item) in instance.exports(engine) {
                forbidden(engine, &format!("{name}#{member}"), &item.ty, found);
            }
        }
        ComponentItem::ComponentFunc(_) | ComponentItem::CoreFunc(_) => found.push(format!("function '{name}'")),
        ComponentItem::Resource(_) => found.push(format!("resource '{name}'")),
        ComponentItem::Module(_) | ComponentItem::Component(_) => found.push(format!("'{name}'")),
    }
}

fn wanted() -> String {
    list(&Stage::ALL.map(interface))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "nothing".to_string()
    } else {
        names.join(", ")
    }
}
