//! Which plugins a run uses: those of the installation, and those that the user puts in their place.

use crate::command::inputs;
use crate::memory::{self, Memory};
use crate::unpack;
use anyhow::{Context, bail};
use boson_budget::Budget;
use boson_pipeline::bundle::privileges::{Privilege, Privileges};
use boson_pipeline::report::Sources;
use boson_pipeline::settings::{self, Settings};
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::{Cache, Failure, Limits, Plugin, Plugins, Sandbox, Source};
use clap::Args;
use std::path::{Path, PathBuf};

/// Options about plugins that several commands have.
#[derive(Args, Clone, Debug, Default)]
pub struct PluginArguments {
    /// Use this component for a stage instead of the built-in rule; for `resources`: as well, in the order given. A directory holds it in parts.
    /// In the environment: one a line
    #[arg(long = "plugin", value_name = "STAGE=FILE", value_parser = replacement, env = "BOSON_PLUGIN", value_delimiter = '\n', help_heading = "Plugins")]
    pub replacements: Vec<Replacement>,
    /// Settings for the plugin of a stage: a YAML or JSON file
    #[arg(long = "plugin-settings", value_name = "STAGE=FILE", value_parser = replacement, env = "BOSON_PLUGIN_SETTINGS", value_delimiter = '\n', help_heading = "Plugins")]
    pub settings: Vec<Replacement>,
    /// Take the built-in plugins from this directory (`ops.wasm`, ...) instead of the installation's
    #[arg(long, value_name = "DIR", env = "BOSON_PLUGINS_DIR", help_heading = "Plugins")]
    pub plugins_dir: Option<PathBuf>,
    /// Memory that this process may take, as Kubernetes writes it (2Gi): calls of plugins, compiling, documents and releases share it
    /// [default: the limit of its container, or half of the machine's memory]
    #[arg(long, value_name = "SIZE", env = "BOSON_MAX_MEMORY", help_heading = "Plugins")]
    pub max_memory: Option<Memory>,
}

/// The option about what pods that plugins make may ask for.
#[derive(Args, Clone, Debug, Default)]
pub struct PrivilegeArguments {
    /// Let pods have this privilege though the deployment does not ask for it: `hostNetwork`, `capabilities=NET_ADMIN`
    #[arg(
        long = "allow-privilege",
        value_name = "FIELD[=VALUE]",
        env = "BOSON_ALLOWED_PRIVILEGES",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    allowed: Vec<Privilege>,
}

impl PrivilegeArguments {
    /// All of them.
    pub fn privileges(&self) -> Privileges {
        self.allowed.iter().cloned().collect()
    }
}

/// `STAGE=FILE`.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// For this stage.
    pub stage: Stage,
    /// This file.
    pub file: PathBuf,
}

fn replacement(text: &str) -> Result<Replacement, String> {
    let Some((stage, file)) = text.split_once('=') else {
        return Err("it has the form STAGE=FILE".to_string());
    };
    let names = Stage::ALL.map(Stage::name).join(", ");
    let stage = Stage::named(stage).ok_or(format!("there is no stage '{stage}'; the stages are {names}"))?;
    if file.is_empty() {
        Err("the file's name is missing".to_string())
    } else {
        Ok(Replacement {
            stage,
            file: file.into(),
        })
    }
}

/// A sandbox with the cache of this user.
///
/// # Errors
/// No sandbox on this machine.
pub fn sandbox(limits: Limits) -> Result<Sandbox, Failure> {
    Sandbox::new(limits, Cache::new(cache_directory(), std::env::current_exe().ok()))
}

/// Reads the settings of plugins and loads those of the stages named.
///
/// # Errors
/// All that is wrong with either: what cannot be read does not hide what is missing.
pub fn prepare(
    arguments: &PluginArguments,
    stages: &[Stage],
    sources: &mut Sources,
) -> Result<Plugins, Vec<Diagnostic>> {
    match inputs::settings(arguments, sources) {
        Ok(settings) => load(arguments, stages, &settings),
        Err(unread) => {
            let others = load(arguments, stages, &[]).err().unwrap_or_default();
            Err(std::iter::once(*unread).chain(others).collect())
        }
    }
}

/// Loads the plugins of the stages named.
///
/// # Errors
/// A diagnostic for every plugin that cannot be used, and for everything in settings that does not fit.
pub fn load(arguments: &PluginArguments, stages: &[Stage], settings: &[Settings]) -> Result<Plugins, Vec<Diagnostic>> {
    let budget = Budget::of_one(memory::or_found(arguments.max_memory));
    load_within(&budget, arguments, stages, settings)
}

/// The same, with a budget that others draw from, too.
///
/// # Errors
/// As [`load`].
pub fn load_within(
    budget: &Budget,
    arguments: &PluginArguments,
    stages: &[Stage],
    settings: &[Settings],
) -> Result<Plugins, Vec<Diagnostic>> {
    let failed = |failure: Failure| vec![failure.diagnostic()];
    let sandbox = sandbox(Limits::default()).map_err(failed)?.within(budget.clone());
    let mut plugins = Plugins::new(sandbox.clone());
    let mut diagnostics = Vec::new();
    for stage in stages.iter().copied().filter(|stage| *stage != Stage::Resources) {
        if arguments.replacements.iter().any(|one| one.stage == stage) {
            continue;
        }
        match built_in(&sandbox, arguments, stage) {
            Ok(plugin) => plugins.insert(configured(plugin, settings, &sandbox, &mut diagnostics)),
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
    }
    for one in arguments.replacements.iter().filter(|one| stages.contains(&one.stage)) {
        match component(&sandbox, &one.file) {
            Ok(plugin) if plugin.stage == one.stage => {
                plugins.insert(configured(plugin, settings, &sandbox, &mut diagnostics));
            }
            Ok(plugin) => diagnostics.push(
                Diagnostic::error(
                    "plugin-other-stage",
                    format!(
                        "'{}' is a plugin of the stage '{}', not '{}'",
                        one.file.display(),
                        plugin.stage,
                        one.stage
                    ),
                )
                .help(format!("use `--plugin {}={}`", plugin.stage, one.file.display())),
            ),
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
    }
    if diagnostics.is_empty() {
        Ok(plugins)
    } else {
        Err(diagnostics)
    }
}

/// A component of the user's: a file, or one that is packed as ConfigMaps hold it.
fn component(sandbox: &Sandbox, path: &Path) -> Result<Plugin, Box<Diagnostic>> {
    let loaded = match unpack::read(path)? {
        Some(bytes) => {
            let name = path.display().to_string();
            sandbox.load(&name, &bytes, Source::File(path.to_path_buf()))
        }
        None => sandbox.load_file(path),
    };
    loaded.map_err(|failure| Box::new(failure.diagnostic()))
}

fn configured(plugin: Plugin, settings: &[Settings], sandbox: &Sandbox, diagnostics: &mut Vec<Diagnostic>) -> Plugin {
    let Some(settings) = settings.iter().rev().find(|one| one.stage == plugin.stage) else {
        return plugin;
    };
    diagnostics.extend(check_settings(&plugin, sandbox, &settings.document));
    plugin.with_settings(&settings.document.tree)
}

/// What is wrong with settings, as the plugin describes them.
pub fn check_settings(plugin: &Plugin, sandbox: &Sandbox, settings: &Document) -> Vec<Diagnostic> {
    match plugin.describe(sandbox) {
        Ok(description) => settings::check(settings, &description.settings_schema, plugin.name()),
        Err(failure) => vec![failure.diagnostic()],
    }
}

fn built_in(sandbox: &Sandbox, arguments: &PluginArguments, stage: Stage) -> Result<Plugin, Box<Diagnostic>> {
    let file = format!("{stage}.wasm");
    let loaded = match &arguments.plugins_dir {
        // The user's directory: machine code that lies there is not trusted, only components are read.
        Some(directory) => sandbox.load_file(&directory.join(file)),
        None => match installation() {
            Ok(directory) => sandbox.load_built_in(stage, &directory.join(file)),
            Err(error) => {
                return Err(Box::new(
                    Diagnostic::error("plugins-missing", format!("{error:#}"))
                        .help("build them with `make build`, or name their directory with --plugins-dir"),
                ));
            }
        },
    };
    loaded.map_err(|failure| Box::new(failure.diagnostic()))
}

/// The installation's plugin folder: beside the binary's own directory, or the system's.
///
/// # Errors
/// There is none.
pub fn installation() -> anyhow::Result<PathBuf> {
    let binary = std::env::current_exe().context("cannot tell where this program lies")?;
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
    bail!("no built-in plugins: looked in {}", list.join(", "))
}

/// `$XDG_CACHE_HOME/boson/compiled`, or under the home directory; none where the user has neither.
fn cache_directory() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("boson").join("compiled"))
}
