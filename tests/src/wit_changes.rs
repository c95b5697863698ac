//! Which changes between two versions of a package of the plugin interface break plugins that were built for the first.

use crate::wit_reference::type_name;
use std::collections::BTreeMap;
use wit_parser::{Function, Interface, PackageId, Resolve, TypeDef, TypeDefKind, WorldItem, WorldKey};

/// The items of a package: `operations.apply` -> `func(request: apply-request) -> ..`.
pub type Items = BTreeMap<String, String>;

/// The items of a package, without the versions in their names.
pub fn items(resolve: &Resolve, package: PackageId) -> Items {
    let mut items = Items::new();
    let package = &resolve.packages[package];
    for (name, id) in &package.interfaces {
        of_interface(resolve, name, &resolve.interfaces[*id], &mut items);
    }
    for (name, id) in &package.worlds {
        let world = &resolve.worlds[*id];
        items.insert(format!("world {name}"), String::new());
        for (what, list) in [("imports", &world.imports), ("exports", &world.exports)] {
            for (key, item) in list.iter().filter(|(_, item)| has_functions(resolve, item)) {
                items.insert(
                    format!("world {name} {what} {}", unversioned(resolve, key)),
                    kind(item).into(),
                );
            }
        }
    }
    items
}

/// What breaks plugins that were built for the old version. Types and interfaces may be added; functions of an
/// interface and interfaces of a world may not, because old plugins lack them.
pub fn breaking(old: &Items, new: &Items) -> Vec<String> {
    let gone = old.iter().filter_map(|(item, text)| match new.get(item) {
        None => Some(format!("'{item}' is removed")),
        Some(other) if other != text => Some(format!("'{item}' changes from `{text}` to `{other}`")),
        Some(_) => None,
    });
    let added = new.iter().filter(|(item, _)| !old.contains_key(*item));
    let added = added.filter(|(item, text)| {
        let (of, _) = item
            .split_once(" imports ")
            .or(item.split_once(" exports "))
            .unwrap_or_default();
        let interface = item.split_once('.').map_or("", |(interface, _)| interface);
        let adds_function = text.starts_with("func(") && old.contains_key(&format!("interface {interface}"));
        old.contains_key(of) || adds_function
    });
    let added = added.map(|(item, _)| format!("'{item}' is added, and plugins do not have it"));
    gone.chain(added).collect()
}

fn of_interface(resolve: &Resolve, name: &str, interface: &Interface, items: &mut Items) {
    items.insert(format!("interface {name}"), String::new());
    for function in interface.functions.values() {
        items.insert(format!("{name}.{}", function.name), signature(resolve, function));
    }
    for (of_type, id) in &interface.types {
        items.insert(format!("{name}.{of_type}"), shape(resolve, &resolve.types[*id]));
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params = function.params.iter();
    let params: Vec<String> = params
        .map(|one| format!("{}: {}", one.name, type_name(resolve, &one.ty)))
        .collect();
    let reply = function
        .result
        .map(|reply| format!(" -> {}", type_name(resolve, &reply)));
    format!("func({}){}", params.join(", "), reply.unwrap_or_default())
}

/// The definition of a type: order and names of its parts are what compiled plugins rely on.
fn shape(resolve: &Resolve, definition: &TypeDef) -> String {
    let parts: Vec<String> = match &definition.kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter();
            fields
                .map(|field| format!("{}: {}", field.name, type_name(resolve, &field.ty)))
                .collect()
        }
        TypeDefKind::Variant(variant) => {
            let payload = |case: &wit_parser::Case| {
                case.ty
                    .map_or(String::new(), |kind| format!("({})", type_name(resolve, &kind)))
            };
            variant
                .cases
                .iter()
                .map(|case| format!("{}{}", case.name, payload(case)))
                .collect()
        }
        TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| case.name.clone()).collect(),
        TypeDefKind::Flags(flags) => flags.flags.iter().map(|flag| flag.name.clone()).collect(),
        TypeDefKind::Type(kind) => return type_name(resolve, kind),
        other => return other.as_str().to_string(),
    };
    format!("{} {{ {} }}", definition.kind.as_str(), parts.join(", "))
}

/// Interfaces with types only need not be there at run time.
fn has_functions(resolve: &Resolve, item: &WorldItem) -> bool {
    match item {
        WorldItem::Interface { id, .. } => !resolve.interfaces[*id].functions.is_empty(),
        _ => true,
    }
}

fn unversioned(resolve: &Resolve, key: &WorldKey) -> String {
    let name = resolve.name_world_key(key);
    name.split('@').next().unwrap_or_default().to_string()
}

fn kind(item: &WorldItem) -> &'static str {
    match item {
        WorldItem::Interface { .. } => "interface",
        WorldItem::Function(_) => "function",
        WorldItem::Type { .. } => "type",
    }
}
