//! Any function of any plugin, called with JSON and replying in JSON, for `host run-plugin` and plugin authors. Same
//! sandbox, same limits.
//!
//! Arguments are one object, a member for each parameter (`request`, `context`); records are objects, lists lists,
//! options null or the value, enums and variants their case's name (`{"case": payload}` with a payload). JSON text of
//! the contract is inserted as JSON. The members `settings` and `features` of the context may be left out.

use crate::call::conversions::FEATURES;
use crate::call::exception;
use crate::component::{ABOUT, interface};
use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits::account::Account;
use crate::limits::measures::Measures;
use crate::plugin::Plugin;
use boson_document::{Map, Tree, json};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{ComponentExportIndex, Type, Val};

/// Members that hold JSON text, by the contract.
pub(crate) const JSON_MEMBERS: [&str; 19] = [
    "document",
    "operations",
    "settings",
    "options",
    "consumes",
    "values",
    "spec",
    "properties",
    "link",
    "shared",
    "manifest",
    "group",
    "bpm",
    "dns-aliases",
    "objects",
    "add",
    "patch",
    "settings-schema",
    "value",
];

/// The reply of a call.
#[derive(Debug)]
pub struct JsonReply {
    /// The value of `ok(..)` or of a function without errors; of `err(..)` where `failed`.
    pub value: Tree,
    /// It was `err(..)`.
    pub failed: bool,
    /// Resources that it used.
    pub measures: Measures,
}

/// Why a call could not be made or gave no reply.
#[derive(Debug)]
pub enum JsonCallError {
    /// The arguments do not fit the function.
    Arguments(String),
    Plugin(Error, Measures),
}

impl Sandbox {
    /// Names of the functions of the plugin: `describe`, and those of its stage.
    pub fn functions(&self, plugin: &Plugin) -> Vec<String> {
        let component = plugin.pre.component();
        let functions = |interface: &str| match component.get_export(None, interface) {
            Some((ComponentItem::ComponentInstance(instance), _)) => instance
                .exports(&self.engine)
                .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)))
                .map(|(name, _)| name.to_string())
                .collect(),
            _ => Vec::new(),
        };
        [ABOUT, interface(plugin.stage).0]
            .into_iter()
            .flat_map(functions)
            .collect()
    }

    /// Calls `function` of the plugin.
    ///
    /// # Errors
    /// As [`Sandbox::call_json_for`].
    pub fn call_json(&self, plugin: &Plugin, function: &str, arguments: &Tree) -> Result<JsonReply, JsonCallError> {
        self.call_json_for(plugin, &Account::unbounded(), function, arguments)
    }

    /// Calls `function` of the plugin, for this account.
    ///
    /// # Errors
    /// No such function, arguments that do not fit, or a plugin that failed. An `err(..)` of the function is no error
    /// here.
    pub fn call_json_for(
        &self,
        plugin: &Plugin,
        account: &Account,
        function: &str,
        arguments: &Tree,
    ) -> Result<JsonReply, JsonCallError> {
        let index = exported(plugin, function).ok_or_else(|| {
            let names = self.functions(plugin).join(", ");
            JsonCallError::Arguments(format!("the plugin has no function '{function}'; it has: {names}"))
        })?;
        let mut argument_error = None;
        let (result, measures) = self.call(plugin, account, |store, instance| {
            let func = instance
                .get_func(&mut *store, index)
                .ok_or_else(|| wasmtime::Error::msg("no such function"))?;
            let kind = func.ty(&*store);
            let params = match lower_all(kind.params(), arguments, plugin) {
                Ok(params) => params,
                Err(message) => {
                    argument_error = Some(message);
                    return Ok(None);
                }
            };
            let mut results = vec![Val::Bool(false); kind.results().len()];
            func.call(&mut *store, &params, &mut results)?;
            Ok(results.into_iter().next())
        });
        if let Some(message) = argument_error {
            return Err(JsonCallError::Arguments(message));
        }
        let value = result.map_err(|error| JsonCallError::Plugin(error, measures))?;
        if let Some(message) = value.as_ref().and_then(exception_in) {
            let error = self.failed(plugin, plugin.failure(ErrorKind::Exception, message));
            return Err(JsonCallError::Plugin(error, measures));
        }
        let (value, failed) = match value {
            Some(Val::Result(Ok(value))) => (value.map_or(Tree::Null, |value| lift(&value, false)), false),
            Some(Val::Result(Err(value))) => (value.map_or(Tree::Null, |value| lift(&value, false)), true),
            Some(value) => (lift(&value, false), false),
            None => (Tree::Null, false),
        };
        Ok(JsonReply {
            value,
            failed,
            measures,
        })
    }
}

/// The function of this name.
fn exported(plugin: &Plugin, function: &str) -> Option<ComponentExportIndex> {
    let component = plugin.pre.component();
    [ABOUT, interface(plugin.stage).0].into_iter().find_map(|interface| {
        let (_, interface) = component.get_export(None, interface)?;
        let (_, index) = component.get_export(Some(&interface), function)?;
        Some(index)
    })
}

/// What a reply says about an exception.
pub(crate) fn exception_in(reply: &Val) -> Option<String> {
    let diagnostics = match reply {
        Val::Result(Err(Some(diagnostics))) => diagnostics,
        list @ Val::List(_) => list,
        _ => return None,
    };
    exception::in_json(&lift(diagnostics, false))
}

fn lower_all<'a>(
    params: impl Iterator<Item = (&'a str, Type)>,
    arguments: &Tree,
    plugin: &Plugin,
) -> Result<Vec<Val>, String> {
    let Some(given) = arguments.as_object() else {
        return Err("the input must be one JSON object with a member for each parameter".to_string());
    };
    let params: Vec<(&str, Type)> = params.collect();
    if let Some(name) = given.keys().find(|name| !params.iter().any(|(param, _)| param == name)) {
        let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "'{name}' is not a parameter; the parameters are: {}",
            names.join(", ")
        ));
    }
    let context = with_defaults(given.get("context"), plugin);
    params
        .iter()
        .map(|(name, kind)| match (*name, given.get(*name)) {
            ("context", _) => lower(&context, kind, name),
            (_, Some(value)) => lower(value, kind, name),
            (_, None) => Err(format!("the parameter '{name}' is missing")),
        })
        .collect()
}

/// The context of a call: what the input leaves out is what the host would pass.
fn with_defaults(given: Option<&Tree>, plugin: &Plugin) -> Tree {
    let mut context = given.cloned().unwrap_or_else(Tree::object);
    if context.get("settings").is_none() {
        context.set("settings", json::parse(&plugin.settings).unwrap_or_default());
    }
    if context.get("features").is_none() {
        context.set("features", FEATURES.to_vec());
    }
    context
}

/// A value of the component model from JSON. `name` is the member or parameter that it is for.
fn lower(value: &Tree, kind: &Type, name: &str) -> Result<Val, String> {
    let mismatch = |wanted: &str| Err(format!("'{name}' should be {wanted}"));
    match (kind, value) {
        (Type::String, _) if JSON_MEMBERS.contains(&name) => Ok(Val::String(json::to_text(value))),
        (Type::String, Tree::String(text)) => Ok(Val::String(text.clone())),
        (Type::String, _) => mismatch("a string"),
        (Type::Bool, Tree::Bool(value)) => Ok(Val::Bool(*value)),
        (Type::Bool, _) => mismatch("true or false"),
        (Type::U32, _) => match value.as_i64().and_then(|value| u32::try_from(value).ok()) {
            Some(value) => Ok(Val::U32(value)),
            None => mismatch("a whole number from 0"),
        },
        (Type::Option(_), Tree::Null) => Ok(Val::Option(None)),
        (Type::Option(option), value) => Ok(Val::Option(Some(Box::new(lower(value, &option.ty(), name)?)))),
        (Type::List(list), Tree::Array(items)) => items
            .iter()
            .map(|item| lower(item, &list.ty(), name))
            .collect::<Result<_, _>>()
            .map(Val::List),
        (Type::List(_), Tree::Null) => Ok(Val::List(Vec::new())),
        (Type::List(_), _) => mismatch("a list"),
        (Type::Tuple(tuple), Tree::Array(items)) if items.len() == tuple.types().len() => items
            .iter()
            .zip(tuple.types())
            .map(|(item, kind)| lower(item, &kind, name))
            .collect::<Result<_, _>>()
            .map(Val::Tuple),
        (Type::Record(record), Tree::Object(map)) => {
            let mut fields = Vec::new();
            for field in record.fields() {
                let value = map.get(field.name).unwrap_or(&Tree::Null);
                fields.push((field.name.to_string(), lower(value, &field.ty, field.name)?));
            }
            Ok(Val::Record(fields))
        }
        (Type::Record(_), _) => mismatch("an object"),
        (Type::Enum(cases), Tree::String(case)) if cases.names().any(|name| name == case) => {
            Ok(Val::Enum(case.clone()))
        }
        _ => mismatch("of another type"),
    }
}

/// JSON from a value of the component model. `text_is_json`: the value itself is JSON text.
fn lift(value: &Val, text_is_json: bool) -> Tree {
    match value {
        Val::Bool(value) => (*value).into(),
        Val::U8(value) => u64::from(*value).into(),
        Val::U16(value) => u64::from(*value).into(),
        Val::U32(value) => u64::from(*value).into(),
        Val::U64(value) => (*value).into(),
        Val::S8(value) => i64::from(*value).into(),
        Val::S16(value) => i64::from(*value).into(),
        Val::S32(value) => i64::from(*value).into(),
        Val::S64(value) => (*value).into(),
        Val::String(text) if text_is_json => json::parse(text).unwrap_or_else(|_| text.as_str().into()),
        Val::String(text) => text.as_str().into(),
        Val::Enum(case) => case.as_str().into(),
        Val::Option(value) => value.as_deref().map_or(Tree::Null, |value| lift(value, text_is_json)),
        Val::List(items) | Val::Tuple(items) => {
            Tree::Array(items.iter().map(|item| lift(item, text_is_json)).collect())
        }
        Val::Record(fields) => {
            // In a place or an origin, `document` is a name.
            let has = |wanted: &str| fields.iter().any(|(name, _)| name == wanted);
            let names_a_document = has("pointer") || has("line");
            let member = |(name, value): &(String, Val)| {
                let is_name = name == "document" && names_a_document;
                let is_json = JSON_MEMBERS.contains(&name.as_str()) && !is_name;
                (name.clone(), lift(value, is_json))
            };
            Tree::Object(fields.iter().map(member).collect::<Map>())
        }
        Val::Variant(case, payload) => match payload {
            None => case.as_str().into(),
            Some(payload) => {
                let is_json = JSON_MEMBERS.contains(&case.as_str());
                Tree::object().with(case.as_str(), lift(payload, is_json))
            }
        },
        other => format!("{other:?}").into(),
    }
}
