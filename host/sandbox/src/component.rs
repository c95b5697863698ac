//! What a component may be: sealed, and of one stage. Decided from its type, before it runs.

use crate::error::{Failure, FailureKind};
use boson_pipeline::Stage;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// Names that a message lists.
const SHOWN: usize = 8;
/// Bytes of each.
const LONGEST: usize = 120;

/// The interface that every plugin exports.
pub(crate) const ABOUT: &str = "boson:types/about@1.0.0";

/// The interface that a plugin of `stage` exports, too.
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

/// Checks imports and exports of compiled code; the stage that the component is of.
///
/// # Errors
/// As [`judge`].
pub(crate) fn check(engine: &Engine, name: &str, component: &Component) -> Result<Stage, Failure> {
    let kind = component.component_type();
    let mut imports = Vec::new();
    for (import, item) in kind.imports(engine) {
        forbidden(engine, import, &item.ty, &mut imports);
    }
    let exports: Vec<&str> = kind.exports(engine).map(|(export, _)| export).collect();
    judge(&imports, &exports).map_err(|message| Failure::new(FailureKind::Refused, name, message))
}

/// The stage of a component with these exports. `imports`: all that are not types, each with what it is.
///
/// # Errors
/// Names the functions and resources that it imports; lists the stages if it exports none of them; or it has no
/// description.
pub(crate) fn judge(imports: &[String], exports: &[&str]) -> Result<Stage, String> {
    if !imports.is_empty() {
        return Err(format!(
            "imports {}; a plugin may import nothing but types",
            list(imports)
        ));
    }
    let stages: Vec<Stage> = Stage::ALL
        .into_iter()
        .filter(|stage| exports.contains(&interface(*stage)))
        .collect();
    match stages[..] {
        [stage] if exports.contains(&ABOUT) => Ok(stage),
        [_] => Err(format!("exports no {ABOUT}, which describes the plugin")),
        [] => Err(format!(
            "exports no stage; expected one of {}, found {}",
            Stage::ALL.map(interface).join(", "),
            list(exports)
        )),
        _ => Err("exports several stages; a plugin has one".to_string()),
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

/// The first names only: a component may have any number of names of any length.
fn list<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() {
        return "nothing".to_string();
    }
    let shown = names.iter().take(SHOWN).map(|name| cut(name.as_ref()));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

fn cut(name: &str) -> String {
    let end = name.floor_char_boundary(LONGEST);
    match name.get(..end) {
        Some(start) if end < name.len() => format!("{start}..."),
        _ => name.to_string(),
    }
}
