//! The reference page of the plugin interface, generated from `wit/`.

use crate::root;
use anyhow::Result;
use std::fmt::Write;
use wit_parser::{Docs, Function, Interface, Resolve, Type, TypeDef, TypeDefKind, WorldItem};

const HEAD: &str = "# Plugin interface

Look up the functions and types of the plugin interface, version 1.0.0. This page is generated from [`wit/`](../../wit):
`BLESS=1 cargo test --release --workspace --locked --test testsuite contract::` rewrites it. [Plugins](../plugins.md)
explains how to write a plugin.
";

/// The packages, in the order of the page.
const PACKAGES: [&str; 8] = [
    "types",
    "ops",
    "variables",
    "links",
    "render",
    "bpm",
    "resources",
    "checks",
];

/// The text of the page.
///
/// # Errors
/// A package cannot be read.
pub fn page() -> Result<String> {
    let mut resolve = Resolve::default();
    let mut page = HEAD.to_string();
    for name in PACKAGES {
        let (id, _) = resolve.push_dir(root().join("wit").join(name).join("1.0.0"))?;
        let package = &resolve.packages[id];
        write!(page, "\n## {name}\n\n{}", text(&package.docs))?;
        for world in package.worlds.values().map(|id| &resolve.worlds[*id]) {
            let names = |items: Vec<&WorldItem>| {
                let names = items.into_iter().filter_map(|item| interface_name(&resolve, item));
                names.collect::<Vec<String>>().join(", ")
            };
            let exports = names(world.exports.values().collect());
            let is_own = |item: &&WorldItem| has_functions(&resolve, item);
            let imports = names(world.imports.values().filter(is_own).collect());
            let imports = if imports.is_empty() {
                String::new()
            } else {
                format!(", imports {imports}")
            };
            writeln!(
                page,
                "- World `{}`: exports {exports}{imports}. {}",
                world.name,
                line(&world.docs)
            )?;
        }
        for interface in package.interfaces.values().map(|id| &resolve.interfaces[*id]) {
            page.push_str(&of_interface(&resolve, name, interface)?);
        }
    }
    Ok(page)
}

fn interface_name(resolve: &Resolve, item: &WorldItem) -> Option<String> {
    match item {
        WorldItem::Interface { id, .. } => Some(format!("`{}`", resolve.id_of(*id)?)),
        _ => None,
    }
}

fn has_functions(resolve: &Resolve, item: &WorldItem) -> bool {
    matches!(item, WorldItem::Interface { id, .. } if !resolve.interfaces[*id].functions.is_empty())
}

fn of_interface(resolve: &Resolve, package: &str, interface: &Interface) -> Result<String> {
    let name = interface.name.as_deref().unwrap_or_default();
    let mut part = format!("\n### {package}: {name}\n\n{}", text(&interface.docs));
    for function in interface.functions.values() {
        write!(
            part,
            "#### `{}`\n\n{}",
            signature(resolve, function),
            text(&function.docs)
        )?;
    }
    for (name, id) in &interface.types {
        let definition = &resolve.types[*id];
        // Types of other interfaces are on the page where they are defined.
        if !matches!(definition.kind, TypeDefKind::Type(Type::Id(_))) {
            part.push_str(&of_type(resolve, name, definition)?);
        }
    }
    Ok(part)
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| format!("{}: {}", param.name, type_name(resolve, &param.ty)))
        .collect();
    let reply = function
        .result
        .map(|reply| format!(" -> {}", type_name(resolve, &reply)));
    format!(
        "{}: func({}){}",
        function.name,
        params.join(", "),
        reply.unwrap_or_default()
    )
}

fn of_type(resolve: &Resolve, name: &str, definition: &TypeDef) -> Result<String> {
    let (what, head, rows): (&str, &str, Vec<[String; 3]>) = match &definition.kind {
        TypeDefKind::Record(record) => {
            let row = |field: &wit_parser::Field| {
                [
                    field.name.clone(),
                    format!("`{}`", type_name(resolve, &field.ty)),
                    line(&field.docs),
                ]
            };
            (
                "record",
                "| field | type | meaning |",
                record.fields.iter().map(row).collect(),
            )
        }
        TypeDefKind::Variant(variant) => {
            let row = |case: &wit_parser::Case| {
                let payload = case.ty.map(|kind| format!("`{}`", type_name(resolve, &kind)));
                [case.name.clone(), payload.unwrap_or_default(), line(&case.docs)]
            };
            (
                "variant",
                "| case | type | meaning |",
                variant.cases.iter().map(row).collect(),
            )
        }
        TypeDefKind::Enum(cases) => {
            let row = |case: &wit_parser::EnumCase| [case.name.clone(), String::new(), line(&case.docs)];
            ("enum", "| case | | meaning |", cases.cases.iter().map(row).collect())
        }
        TypeDefKind::Type(kind) => {
            return Ok(format!(
                "#### type `{name}`: `{}`\n\n{}",
                type_name(resolve, kind),
                text(&definition.docs)
            ));
        }
        other => anyhow::bail!("the page has no form for '{name}': {}", other.as_str()),
    };
    let mut part = format!(
        "#### {what} `{name}`\n\n{}{head}\n|---|---|---|\n",
        text(&definition.docs)
    );
    for [name, kind, meaning] in rows {
        writeln!(part, "| `{name}` | {kind} | {} |", meaning.replace('|', "\\|"))?;
    }
    part.push('\n');
    Ok(part)
}

/// The name of a type as WIT writes it.
pub(crate) fn type_name(resolve: &Resolve, kind: &Type) -> String {
    let Type::Id(id) = kind else {
        return format!("{kind:?}").to_lowercase();
    };
    let definition = &resolve.types[*id];
    if let Some(name) = &definition.name {
        return name.clone();
    }
    let name = |kind: &Type| type_name(resolve, kind);
    match &definition.kind {
        TypeDefKind::List(item) => format!("list<{}>", name(item)),
        TypeDefKind::Option(value) => format!("option<{}>", name(value)),
        TypeDefKind::Result(result) => {
            let part = |kind: Option<Type>| kind.map_or("_".to_string(), |kind| name(&kind));
            format!("result<{}, {}>", part(result.ok), part(result.err))
        }
        TypeDefKind::Tuple(tuple) => {
            format!("tuple<{}>", tuple.types.iter().map(name).collect::<Vec<_>>().join(", "))
        }
        other => other.as_str().to_string(),
    }
}

/// A comment as paragraphs.
fn text(docs: &Docs) -> String {
    match &docs.contents {
        Some(text) => format!("{}\n\n", text.trim()),
        None => String::new(),
    }
}

/// A comment as one line.
fn line(docs: &Docs) -> String {
    let text = docs.contents.as_deref().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
