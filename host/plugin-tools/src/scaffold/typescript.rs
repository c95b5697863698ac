//! The contract of a stage as types of TypeScript, in the form in which bindings of JavaScript pass values: names in
//! camel case, variants with `tag` and `val`, enums as texts, errors thrown.

use super::spelling::{camel, pascal};
use boson_componentize::contract;
use wit_parser::{Case, Docs, EnumCase, Function, Interface, Resolve, Type, TypeDef, TypeDefKind};

/// The types of a stage: those of the shared package, its own, and its functions.
pub fn typescript(stage: &str) -> String {
    let Ok(resolve) = contract() else { return String::new() };
    let types = Types(&resolve);
    let is_wanted = |interface: &&Interface| {
        let package = interface.package.map(|id| resolve.packages[id].name.name.as_str());
        let is_shared = package == Some("types") && !is_output(interface);
        is_shared || package == Some(stage)
    };
    let interfaces = resolve.interfaces.iter().map(|(_, interface)| interface);
    interfaces.filter(is_wanted).map(|one| types.interface(one)).collect()
}

/// Plugins in JavaScript print with `console`.
fn is_output(interface: &Interface) -> bool {
    matches!(interface.name.as_deref(), Some("console" | "output"))
}

struct Types<'a>(&'a Resolve);

// === impl Types ===

impl Types<'_> {
    fn interface(&self, interface: &Interface) -> String {
        let types = interface.types.values().map(|id| &self.0.types[*id]);
        let types: String = types.filter_map(|one| self.definition(one)).collect();
        if interface.functions.is_empty() {
            return types;
        }
        let functions = interface.functions.values().map(|function| self.function(function));
        let functions: String = functions.collect();
        let (docs, name) = (
            comment(&interface.docs, ""),
            pascal(interface.name.as_deref().unwrap_or_default()),
        );
        format!("{types}{docs}export interface {name} {{\n{functions}}}\n\n")
    }

    /// A type with its documentation; none if it only names that of another interface.
    fn definition(&self, one: &TypeDef) -> Option<String> {
        let shape = match &one.kind {
            // `use` of another interface has the same name in this text.
            TypeDefKind::Type(Type::Id(_)) => return None,
            kind => self.shape(kind),
        };
        let (docs, name) = (comment(&one.docs, ""), pascal(one.name.as_deref()?));
        // The cases of a type are on lines of their own.
        let space = if shape.starts_with('\n') { "" } else { " " };
        Some(format!("{docs}export type {name} ={space}{shape};\n\n"))
    }

    fn shape(&self, kind: &TypeDefKind) -> String {
        match kind {
            TypeDefKind::Type(kind) => self.kind(kind),
            TypeDefKind::List(item) => format!("Array<{}>", self.kind(item)),
            TypeDefKind::Option(value) => format!("{} | null", self.kind(value)),
            TypeDefKind::Result(result) => result.ok.map_or("void".into(), |ok| self.kind(&ok)),
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter().map(|field| {
                    let is_optional = if self.is_optional(&field.ty) { "?" } else { "" };
                    let (docs, name, kind) = (comment(&field.docs, "  "), camel(&field.name), self.kind(&field.ty));
                    format!("{docs}  {name}{is_optional}: {kind};\n")
                });
                format!("{{\n{}}}", fields.collect::<String>())
            }
            TypeDefKind::Enum(one) => {
                let case = |case: &EnumCase| format!("\n{}  | \"{}\"", comment(&case.docs, "  "), case.name);
                one.cases.iter().map(case).collect()
            }
            TypeDefKind::Variant(one) => {
                let case = |case: &Case| {
                    let payload = case.ty.map(|kind| format!("; val: {}", self.kind(&kind)));
                    let (docs, payload) = (comment(&case.docs, "  "), payload.unwrap_or_default());
                    format!("\n{docs}  | {{ tag: \"{}\"{payload} }}", case.name)
                };
                one.cases.iter().map(case).collect()
            }
            // The contract has none of the others.
            _ => "unknown".into(),
        }
    }

    fn function(&self, function: &Function) -> String {
        let params = function.params.iter();
        let params: Vec<String> = params
            .map(|param| format!("{}: {}", camel(&param.name), self.kind(&param.ty)))
            .collect();
        let (docs, name) = (comment(&function.docs, "  "), camel(&function.name));
        let reply = function.result.map_or("void".to_string(), |reply| self.kind(&reply));
        format!("{docs}  {name}({}): {reply};\n", params.join(", "))
    }

    /// How a value of this type is written; of a result, that of the value, because errors are thrown.
    fn kind(&self, kind: &Type) -> String {
        match kind {
            Type::String | Type::Char => "string".into(),
            Type::Bool => "boolean".into(),
            Type::U64 | Type::S64 => "bigint".into(),
            Type::Id(id) => match &self.0.types[*id] {
                TypeDef { name: Some(name), .. } => pascal(name),
                TypeDef { kind, .. } => self.shape(kind),
            },
            _ => "number".into(),
        }
    }

    fn is_optional(&self, kind: &Type) -> bool {
        matches!(kind, Type::Id(id) if matches!(self.0.types[*id].kind, TypeDefKind::Option(_)))
    }
}

fn comment(docs: &Docs, indent: &str) -> String {
    let Some(text) = docs.contents.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return String::new();
    };
    // The end of a comment in an example would end this one.
    let text = text.replace("*/", "* /");
    let lines: Vec<&str> = text.lines().collect();
    match lines.as_slice() {
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let lines = lines
                .iter()
                .map(|line| format!("{indent} * {line}").trim_end().to_string() + "\n");
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_its_types_and_functions() {
        let text = typescript("resources");
        for part in [
            "export type Json = string;\n",
            "export type Severity =\n  /** The conversion fails. */\n  | \"error\"\n",
            "  | { tag: \"document\"; val: DocumentPlace }\n",
            "  | { tag: \"json-patch\"; val: Patch }\n",
            "  pointer?: string | null;\n",
            "  objects: Array<Json>;\n",
            "  settingsSchema: Json;\n",
            "export interface About {\n",
            "  describe(): Description;\n",
            "  transform(view: View, context: Context): Edits;\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("GroupRequest") && !text.contains("unknown"), "{text}");
        assert_eq!(typescript("nothing").matches("export interface About").count(), 1);
    }

    #[test]
    fn no_name_is_written_twice() {
        for stage in ["ops", "variables", "links", "render", "bpm", "resources", "checks"] {
            let text = typescript(stage);
            let mut names: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("export "))
                .filter_map(|line| line.split([' ', '<']).nth(1))
                .collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{stage}");
            assert!(!text.contains("unknown"), "{stage}");
        }
    }
}
