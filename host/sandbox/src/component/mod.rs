//! What a component may be: sealed, and of one stage. Decided from its type, before it runs.

mod imports;
pub(crate) mod sealed;

use crate::error::{Error, ErrorKind};
use boson_pipeline::Stage;
use imports::{Import, Imports, Path, cut, list};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The version of the contract that this host offers.
const CONTRACT_VERSION: &str = "1.0.0";

/// The interface that every plugin exports.
pub(crate) const ABOUT: &str = "boson:types/about@1.0.0";

/// The interface for output, which a component may import where there is a console.
pub(crate) const CONSOLE: &str = "boson:types/console@1.0.0";

/// The interface of a plugin that keeps its output.
pub(crate) const OUTPUT: &str = "boson:types/output@1.0.0";

/// The interface that a plugin of `stage` exports, too, and its functions.
pub(crate) fn interface(stage: Stage) -> (&'static str, &'static [&'static str]) {
    match stage {
        Stage::Ops => ("boson:ops/operations@1.0.0", &["apply", "find"]),
        Stage::Variables => ("boson:variables/interpolation@1.0.0", &["plan", "interpolate"]),
        Stage::Links => ("boson:links/resolution@1.0.0", &["resolve", "addresses"]),
        Stage::Render => ("boson:render/templates@1.0.0", &["render"]),
        Stage::Bpm => ("boson:bpm/conversion@1.0.0", &["convert-deployment", "convert-group"]),
        Stage::Resources => ("boson:resources/transformation@1.0.0", &["transform"]),
        Stage::Checks => ("boson:checks/policy@1.0.0", &["check"]),
    }
}

/// What a component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub stage: Stage,
    /// It imports the interface of its stage: it calls the rule below it.
    pub wraps: bool,
    /// It imports the interface for output.
    pub prints: bool,
}

/// Checks imports and exports of compiled code; what the component is.
///
/// # Errors
/// As [`kind_of`].
pub(crate) fn check(engine: &Engine, name: &str, component: &Component) -> Result<Kind, Error> {
    let kind = component.component_type();
    let mut imports = Imports::default();
    for (import, item) in kind.imports(engine) {
        imports.add(import, |path, found| collect_items(engine, path, &item.ty, found));
    }
    let exports: Vec<&str> = kind.exports(engine).map(|(export, _)| export).collect();
    kind_of(&imports, &exports).map_err(|message| Error::new(ErrorKind::Refused, name, message))
}

/// What a component with these imports and exports is.
///
/// # Errors
/// Names the functions and resources that it imports; lists the stages if it exports none of them; names both versions
/// if it was built for another version of the contract; or it has no description.
pub(crate) fn kind_of(imports: &Imports, exports: &[&str]) -> Result<Kind, String> {
    if let Some(error) = &imports.error {
        return Err(error.clone());
    }
    let exported = |interface: &str| exports.iter().any(|export| provides(export, interface));
    let stages = Stage::ALL.into_iter().filter(|stage| exported(interface(*stage).0));
    let stages: Vec<Stage> = stages.collect();
    let below = match stages[..] {
        [stage] if stage.has_rule() => Some(interface(stage).0),
        _ => None,
    };
    let is_below = |import: &Import| below.is_some_and(|below| provides(&import.interface, below));
    let (below, others): (Vec<&Import>, Vec<&Import>) = imports.all.iter().partition(|import| is_below(import));
    let is_console = |import: &&Import| provides(&import.interface, CONSOLE);
    let (console, others): (Vec<&Import>, Vec<&Import>) = others.into_iter().partition(is_console);
    if !others.is_empty() {
        if let Some(message) = later_version_error("imports", others.iter().map(|import| import.interface.as_str())) {
            return Err(message);
        }
        let shown: Vec<&String> = others.iter().flat_map(|import| &import.shown).collect();
        let count = others.iter().map(|import| import.count).sum();
        return Err(format!(
            "imports {}; a plugin may import nothing but types, and a wrapper the interface of its stage",
            list(&shown, count)
        ));
    }
    match stages[..] {
        [stage] if exported(ABOUT) => Ok(Kind {
            stage,
            wraps: !below.is_empty(),
            prints: !console.is_empty(),
        }),
        [_] => {
            let version = other_version_error(exports, &[ABOUT]);
            Err(version.unwrap_or(format!("exports no {ABOUT}, which describes the plugin")))
        }
        [] => {
            let all = Stage::ALL.map(|stage| interface(stage).0);
            let found: Vec<String> = exports.iter().map(|export| cut(export)).collect();
            let unknown = exports.iter().filter(|export| !is_of_every_stage(export)).copied();
            let version = other_version_error(exports, &all).or_else(|| later_version_error("exports", unknown));
            Err(version.unwrap_or_else(|| {
                format!(
                    "exports no stage; expected one of {}, found {}",
                    all.join(", "),
                    list(&found, found.len())
                )
            }))
        }
        _ => Err("exports several stages; a plugin has one".to_string()),
    }
}

/// Whether an interface of a component is this one, in the same or a compatible version: released interfaces never
/// change, so that each 1.x version has those of all before it.
pub(crate) fn provides(found: &str, wanted: &str) -> bool {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    match (found.split_once('@'), wanted.split_once('@')) {
        (Some((found, version)), Some((wanted, offered))) => {
            found == wanted && is_version(version) && major(version) == major(offered)
        }
        _ => false,
    }
}

/// A released semantic version: three numbers.
fn is_version(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(number)
}

/// The error for a component that has one of these interfaces in another version.
fn other_version_error(exports: &[&str], interfaces: &[&str]) -> Option<String> {
    let names = interfaces.iter().filter_map(|name| name.split_once('@'));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    let (name, version) = exports
        .iter()
        .filter_map(|export| export.split_once('@'))
        .find(|(name, _)| names.contains(name))?;
    Some(format!(
        "exports {name} in version {}, and this host offers version {CONTRACT_VERSION} (any 1.x is compatible): build \
         the plugin against wit/, or use a host for that version",
        cut(version)
    ))
}

/// Whether plugins of all stages may export this interface.
fn is_of_every_stage(export: &str) -> bool {
    [ABOUT, OUTPUT].iter().any(|interface| provides(export, interface))
}

/// The error for a component that needs an interface which only a later version of the contract has.
fn later_version_error<'n>(what: &str, mut interfaces: impl Iterator<Item = &'n str>) -> Option<String> {
    let (name, version) = interfaces.find_map(|interface| {
        let (name, version) = interface.split_once('@')?;
        let is_compatible = provides(interface, &format!("{name}@{CONTRACT_VERSION}"));
        let is_later = name.starts_with("boson:") && version != CONTRACT_VERSION && is_compatible;
        is_later.then_some((name, version))
    })?;
    Some(format!(
        "{what} {} of version {}, and this host offers version {CONTRACT_VERSION}: use a later host, or build the \
         plugin without this interface",
        cut(name),
        cut(version)
    ))
}

/// Adds what is not a type.
fn collect_items(engine: &Engine, path: &Path<'_>, item: &ComponentItem, found: &mut Import) {
    match item {
        ComponentItem::Type(_) => {}
        ComponentItem::ComponentInstance(instance) => {
            for (member, item) in instance.exports(engine) {
                collect_items(engine, &path.below(member), &item.ty, found);
            }
        }
        ComponentItem::ComponentFunc(_) | ComponentItem::CoreFunc(_) => found.add("function", path),
        ComponentItem::Resource(_) => found.add("resource", path),
        ComponentItem::Module(_) | ComponentItem::Component(_) => found.add("", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: &str = "boson:ops/operations@1.0.0";

    /// Imports of a function `f` from each of these interfaces.
    fn imports(interfaces: &[&str]) -> Imports {
        let mut imports = Imports::default();
        for interface in interfaces {
            imports.add(interface, |path, found| found.add("function", &path.below("f")));
        }
        imports
    }

    #[test]
    fn every_1_x_version_is_accepted_and_others_name_both_versions() {
        let exports = |version: &str| {
            let interface = format!("boson:ops/operations@{version}");
            kind_of(
                &Imports::default(),
                &[&format!("boson:types/about@{version}"), &interface],
            )
        };
        for version in ["1.0.0", "1.0.7", "1.12.0"] {
            assert_eq!(exports(version).map(|kind| kind.stage), Ok(Stage::Ops), "{version}");
        }
        for version in ["0.1.0", "2.0.0", "1.0.0-rc.1", "10.0.0", "1"] {
            let error = exports(version).unwrap_err();
            assert!(error.contains(&format!("in version {version}")), "{error}");
            assert!(error.contains("offers version 1.0.0"), "{error}");
        }
        let error = kind_of(&Imports::default(), &["boson:types/about@2.0.0", OPS]).unwrap_err();
        assert!(error.contains("about in version 2.0.0"), "{error}");
    }

    #[test]
    fn an_interface_of_a_later_version_is_named_with_both_versions() {
        let later = "boson:ops/history@1.2.0";
        let [imported, exported] = [
            kind_of(&imports(&[OPS, later]), &[ABOUT, OPS]),
            kind_of(&Imports::default(), &["boson:types/about@1.2.0", later]),
        ]
        .map(Result::unwrap_err);
        let words = "boson:ops/history of version 1.2.0, and this host offers version 1.0.0: use a later host";
        assert!(imported.starts_with(&format!("imports {words}")), "{imported}");
        assert!(exported.starts_with(&format!("exports {words}")), "{exported}");
        assert!(
            kind_of(&Imports::default(), &[later, ABOUT, OPS]).is_ok(),
            "it is not needed"
        );
    }

    #[test]
    fn a_wrapper_imports_the_interface_of_its_own_stage_and_nothing_else() {
        let kind_of = |interfaces: &[&str], stage: &str| kind_of(&imports(interfaces), &[ABOUT, stage]);
        assert!(!kind_of(&[], OPS).unwrap().wraps);
        assert!(kind_of(&[OPS], OPS).unwrap().wraps);
        assert!(kind_of(&["boson:ops/operations@1.3.0"], OPS).unwrap().wraps);
        for other in [
            "boson:ops/operations@2.0.0",
            "boson:bpm/conversion@1.0.0",
            ABOUT,
            "wasi:cli/run@0.2.0",
        ] {
            let error = kind_of(&[OPS, other], OPS).unwrap_err();
            assert!(error.contains(&format!("imports function '{other}#f'")), "{error}");
        }
        for hook in [Stage::Resources, Stage::Checks] {
            let name = interface(hook).0;
            assert!(kind_of(&[name], name).is_err(), "{hook} has no rule below it");
        }
    }
}
