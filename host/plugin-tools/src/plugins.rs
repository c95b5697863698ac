//! Which plugins a run uses: those of the installation, and replacements that the user gives.

use crate::artifacts;
use crate::codes;
use crate::core_module;
use crate::plugin_arguments::{PluginArguments, Replacement};
use crate::plugin_groups::Restrictions;
use crate::plugin_settings::{self, Given};
use crate::unpack;
use anyhow::{Context, bail};
use boson_budget::Budget;
use boson_commands::memory;
use boson_commands::user_cache;
use boson_componentize::ANSWERS;
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Place, Stage};
use boson_sandbox::{Cache, Limits, Plugin, Plugins, Sandbox, Source};
use std::path::{Path, PathBuf};

/// The option for settings of commands that take one plugin.
pub const SETTINGS_FILE: &str = "--settings FILE";

/// A sandbox with the cache of this user.
///
/// # Errors
/// No sandbox on this machine.
pub fn sandbox(limits: Limits) -> Result<Sandbox, boson_sandbox::Error> {
    let cache = Cache::new(user_cache::directory("compiled"), std::env::current_exe().ok());
    Sandbox::new(limits, cache.with_answers(ANSWERS))
}

/// Loads the plugins of these stages, with their settings.
///
/// # Errors
/// All errors of plugins and settings, both of unreadable and of missing files.
pub fn prepare(
    arguments: &PluginArguments,
    stages: &[Stage],
    sources: &mut Sources,
) -> Result<Plugins, Vec<Diagnostic>> {
    prepare_within(&own_budget(arguments), arguments, stages, sources)
}

/// Loads and configures plugins, with a shared memory budget.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_within(
    budget: &Budget,
    arguments: &PluginArguments,
    stages: &[Stage],
    sources: &mut Sources,
) -> Result<Plugins, Vec<Diagnostic>> {
    let (settings, mut errors) = plugin_settings::read(&arguments.settings, sources);
    let unread = !errors.is_empty();
    let mut given = Given::new(settings, stages);
    let loaded = load_all(budget, arguments, stages)?;
    let complete = loaded.errors.is_empty() && !unread;
    errors.extend(loaded.errors);
    let name = |plugin: &Plugin| (plugin.stage, short_name(plugin));
    let names: Vec<(Stage, String)> = loaded.all.iter().map(name).collect();
    let mut plugins = Plugins::new(loaded.sandbox.clone());
    let mut restrictions = Restrictions::new(&arguments.groups, stages);
    for plugin in loaded.all {
        let name = short_name(&plugin);
        match with_given_settings(plugin, &mut given, &loaded.sandbox) {
            Ok(plugin) => {
                let plugin = restrictions.apply(plugin, &name);
                errors.extend(insert(&mut plugins, plugin, arguments).err());
            }
            Err(reported) => errors.extend(reported),
        }
    }
    // The settings may be for a plugin that did not load.
    if complete {
        errors.extend(given.unused(&names));
        errors.extend(restrictions.unused());
    }
    if errors.is_empty() { Ok(plugins) } else { Err(errors) }
}

/// Loads the plugins of these stages without settings, to describe them.
///
/// # Errors
/// A diagnostic for every plugin that cannot be used.
pub fn load(arguments: &PluginArguments, stages: &[Stage]) -> Result<Plugins, Vec<Diagnostic>> {
    let loaded = load_all(&own_budget(arguments), arguments, stages)?;
    if !loaded.errors.is_empty() {
        return Err(loaded.errors);
    }
    let mut plugins = Plugins::new(loaded.sandbox);
    let mut restrictions = Restrictions::new(&arguments.groups, stages);
    for plugin in loaded.all {
        let name = short_name(&plugin);
        let plugin = restrictions.apply(plugin, &name);
        insert(&mut plugins, plugin, arguments)?;
    }
    match restrictions.unused() {
        unused if unused.is_empty() => Ok(plugins),
        unused => Err(unused),
    }
}

/// Adds a plugin. Those of the command line have the order in which they are given.
fn insert(plugins: &mut Plugins, plugin: Plugin, arguments: &PluginArguments) -> Result<(), Diagnostic> {
    Ok(plugins.add(plugin, true, arguments.check_policy())?)
}

/// A component of the user's for single calls, with its settings, which each call checks; a wrapper is put around the
/// built-in rule.
///
/// # Errors
/// It is refused.
pub fn alone(sandbox: &Sandbox, path: &Path, settings: Option<&Document>) -> Result<Plugin, Vec<Diagnostic>> {
    let plugin = component(sandbox, path)?;
    configured_alone(plugin, sandbox, settings)
}

/// A plugin for single calls, with its settings; a wrapper is put around the built-in rule.
///
/// # Errors
/// There is no built-in rule.
pub fn configured_alone(
    mut plugin: Plugin,
    sandbox: &Sandbox,
    settings: Option<&Document>,
) -> Result<Plugin, Vec<Diagnostic>> {
    if let Some(settings) = settings {
        plugin = plugin.with_settings(&settings.tree, &settings.name);
    }
    if plugin.wraps {
        let rule = built_in(sandbox, None, plugin.stage)?;
        plugin = plugin.wrap(rule)?;
    }
    Ok(plugin)
}

/// A memory budget for the whole process.
fn own_budget(arguments: &PluginArguments) -> Budget {
    Budget::of_one(memory::or_found(arguments.max_memory))
}

struct Loaded {
    sandbox: Sandbox,
    /// The plugins in the order of their use.
    all: Vec<Plugin>,
    errors: Vec<Diagnostic>,
}

/// The name by which the user may refer to a plugin: without directory and suffix.
fn short_name(plugin: &Plugin) -> String {
    let name = plugin.name();
    let file = Path::new(name)
        .file_name()
        .map_or(name.into(), |name| name.to_string_lossy());
    let stem = file.strip_suffix(".zst").unwrap_or(&file);
    stem.strip_suffix(".wasm").unwrap_or(stem).to_string()
}

/// The names by which the user may refer to a plugin.
///
/// # Errors
/// It does not describe itself.
pub fn names(plugin: &Plugin, sandbox: &Sandbox) -> Result<Vec<String>, boson_sandbox::Error> {
    Ok(vec![short_name(plugin), plugin.describe(sandbox)?.name.clone()])
}

fn load_all(budget: &Budget, arguments: &PluginArguments, stages: &[Stage]) -> Result<Loaded, Vec<Diagnostic>> {
    let sandbox = sandbox(Limits::default())?.with_budget(budget.clone());
    let sandbox = match &arguments.printed {
        Some(printed) => sandbox.with_console(printed.console()),
        None => sandbox,
    };
    let (mut given, mut failed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for one in arguments.replacements.iter().filter(|one| stages.contains(&one.stage)) {
        match load_replacement(&sandbox, one) {
            Ok(plugin) => given.push(plugin),
            Err(error) => {
                failed.push(one.stage);
                errors.push(error);
            }
        }
    }
    // One that could not be loaded might have been the rule.
    let is_replaced = |stage: Stage| {
        let replaces = |one: &Plugin| one.stage == stage && !one.wraps;
        failed.contains(&stage) || given.iter().any(replaces)
    };
    let missing = stages.iter().filter(|stage| stage.has_rule() && !is_replaced(**stage));
    let mut all = Vec::new();
    for stage in missing {
        let rule = built_in(&sandbox, arguments.plugins_dir.as_deref(), *stage);
        match rule.and_then(|rule| try_describe(rule, &sandbox)) {
            Ok(rule) => all.push(rule),
            Err(error) => errors.push(error),
        }
    }
    all.extend(given);
    // A wrapper may be given before the rule that it wraps; among wrappers the order stays.
    all.sort_by_key(|one| one.wraps);
    Ok(Loaded { sandbox, all, errors })
}

/// A plugin of the user's.
fn load_replacement(sandbox: &Sandbox, one: &Replacement) -> Result<Plugin, Diagnostic> {
    let plugin = component(sandbox, &one.value)?;
    if plugin.stage != one.stage {
        let (file, stage) = (one.value.display(), plugin.stage);
        let message = format!("'{file}' is a plugin of the stage '{stage}', not '{}'", one.stage);
        let error = Diagnostic::error(codes::PLUGIN_OTHER_STAGE, message);
        return Err(error.help(format!("use `--plugin {stage}={file}`")));
    }
    let plugin = match &one.name {
        Some(name) => plugin.named(name),
        None => plugin,
    };
    try_describe(plugin, sandbox)
}

/// Calls a plugin's `describe` before the conversion, so that a broken plugin fails here and not during the conversion.
/// Those of the installation are not called.
fn try_describe(plugin: Plugin, sandbox: &Sandbox) -> Result<Plugin, Diagnostic> {
    if plugin.is_foreign() {
        plugin.describe(sandbox)?;
    }
    Ok(plugin)
}

/// A component of the user's: a file, packed in parts as in ConfigMaps, or in an image. A component is made of a core
/// module.
///
/// # Errors
/// It cannot be read, or is refused.
pub fn component(sandbox: &Sandbox, path: &Path) -> Result<Plugin, Diagnostic> {
    Ok(match content(path)? {
        Some(bytes) => of_content(sandbox, path, &bytes)?,
        None => sandbox.load_file(path)?,
    })
}

/// The component at a path with this content.
///
/// # Errors
/// It is refused.
pub fn of_content(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> Result<Plugin, boson_sandbox::Error> {
    sandbox.load(&path.display().to_string(), bytes, Source::File(path.to_path_buf()))
}

/// The content of a component that is not simply a file: in an image, packed in parts, or made of a core module.
///
/// # Errors
/// It cannot be read, or no component can be made of the module.
pub fn content(path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    if let Some(bytes) = artifacts::read(path)? {
        return Ok(Some(bytes));
    }
    match unpack::read(path)? {
        Some(bytes) => Ok(Some(bytes)),
        None => core_module::component(path),
    }
}

/// The plugin with its settings.
fn with_given_settings(plugin: Plugin, given: &mut Given, sandbox: &Sandbox) -> Result<Plugin, Vec<Diagnostic>> {
    let name = short_name(&plugin);
    let own = if plugin.is_foreign() {
        plugin.describe(sandbox)?.name.clone()
    } else {
        name.clone()
    };
    let settings = given.take(plugin.stage, &[&name, &own])?;
    // Built-in plugins need no settings.
    if settings.is_none() && !plugin.is_foreign() {
        return Ok(plugin);
    }
    // Another plugin of the stage would get settings without a name, too.
    let option = format!("--plugin-settings {}:{name}=FILE", plugin.stage);
    let errors = check_settings(&plugin, sandbox, settings.as_ref(), &option);
    if !errors.is_empty() {
        return Err(errors);
    }
    let plugin = plugin.with_names(vec![name, own]);
    Ok(match &settings {
        Some(settings) => plugin.with_settings(&settings.tree, &settings.name),
        None => plugin,
    })
}

/// The errors in the settings of a plugin, or in their absence. `option`: how the user gives them.
pub fn check_settings(
    plugin: &Plugin,
    sandbox: &Sandbox,
    settings: Option<&Document>,
    option: &str,
) -> Vec<Diagnostic> {
    let none = plugin_settings::document("", &Tree::object());
    let errors = match sandbox.check_settings(plugin, settings.unwrap_or(&none)) {
        Ok(errors) => errors,
        Err(failure) => return vec![failure.diagnostic()],
    };
    if settings.is_some() {
        return errors;
    }
    let missing = |error: Diagnostic| {
        let error = Diagnostic {
            place: Place::default(),
            ..error
        };
        error.help(format!("set its settings with {option}"))
    };
    errors.into_iter().map(missing).collect()
}

/// The settings that a call brings itself.
pub fn own_settings(call: &Tree) -> Option<&Tree> {
    call.get("context")?.get("settings")
}

/// The errors in the settings that a call brings itself. `document`: where the call is from.
pub fn check_call(plugin: &Plugin, sandbox: &Sandbox, call: &Tree, document: &str) -> Vec<Diagnostic> {
    let Some(own) = own_settings(call) else {
        return Vec::new();
    };
    let settings = plugin_settings::document(document, own);
    let mut errors = check_settings(plugin, sandbox, Some(&settings), "");
    for pointer in errors.iter_mut().filter_map(|error| error.place.pointer.as_mut()) {
        pointer.insert_str(0, "/context/settings");
    }
    errors
}

/// The plugin of the installation, or of this directory.
///
/// # Errors
/// There is no installation, or the plugin is refused.
pub fn built_in(sandbox: &Sandbox, directory: Option<&Path>, stage: Stage) -> Result<Plugin, Diagnostic> {
    let file = format!("{stage}.wasm");
    if let Some(directory) = directory {
        // The user's directory: only components are read from it, because its machine code is not trusted.
        return Ok(sandbox.load_file(&directory.join(file))?);
    }
    let directory = installation().map_err(|error| {
        Diagnostic::error(codes::PLUGINS_MISSING, format!("{error:#}"))
            .help("build them with `make build`, or set their directory with --plugins-dir")
    })?;
    Ok(sandbox.load_built_in(stage, &directory.join(file))?)
}

/// The installation's plugin folder: beside the binary's own directory, or the system's.
///
/// # Errors
/// There is no such folder.
pub fn installation() -> anyhow::Result<PathBuf> {
    let binary = std::env::current_exe().context("cannot determine the path of this program")?;
    let beside = |up: usize, tail: &str| binary.ancestors().nth(up).map(|directory| directory.join(tail));
    let places = [
        beside(1, "plugins"),
        beside(2, "plugins"),
        beside(2, "share/boson/plugins"),
        Some("/usr/share/boson/plugins".into()),
    ];
    let places: Vec<PathBuf> = places.into_iter().flatten().collect();
    if let Some(found) = places.iter().find(|place| place.join("ops.wasm").is_file()) {
        return Ok(found.clone());
    }
    let list: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    bail!("no built-in plugins in {}", list.join(", "))
}
