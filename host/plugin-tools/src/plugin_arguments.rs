//! Options about plugins.

use crate::codes;
use crate::printed::Printed;
use boson_commands::exit::{self, ExitError};
use boson_commands::memory::Memory;
use boson_commands::output::{self, Color};
use boson_document::closest;
use boson_pipeline::bundle::kinds::Kind;
use boson_pipeline::bundle::privileges::Privilege;
use boson_pipeline::bundle::{ConflictingKinds, Grant, KeyPattern, Permissions};
use boson_pipeline::report::Sources;
use boson_pipeline::stage::CheckPolicy;
use boson_pipeline::{Diagnostic, Stage};
use clap::Args;
use std::path::PathBuf;

/// Options about plugins that several commands have.
#[derive(Args, Clone, Debug, Default)]
pub struct PluginArguments {
    /// Use this component for a stage: instead of the built-in rule; around it, if the component is a wrapper; or in
    /// addition, for `resources` and `checks`. Several run in the given order; the last wrapper is the outermost. FILE
    /// may be a directory with the parts of a component, an image in a registry (`oci://REFERENCE`) or an archive of
    /// one (`oci-archive:FILE`). NAME is its name in messages and in --plugin-settings [default: the name of the file].
    /// The variable has one plugin per line
    #[arg(long = "plugin", value_name = "STAGE[:NAME]=FILE", value_parser = replacement, env = "BOSON_PLUGIN", value_delimiter = '\n', help_heading = "Plugins")]
    pub replacements: Vec<Replacement>,
    /// Settings for the plugin of a stage: a YAML or JSON file. NAME selects one of several plugins of the stage
    #[arg(long = "plugin-settings", value_name = "STAGE[:NAME]=FILE", value_parser = replacement, env = "BOSON_PLUGIN_SETTINGS", value_delimiter = '\n', help_heading = "Plugins")]
    pub settings: Vec<Replacement>,
    /// Use a wrapper of the stage `render` or `bpm` for these instance groups only. NAME selects one of several
    /// wrappers of the stage
    #[arg(long = "plugin-instance-groups", value_name = "STAGE[:NAME]=GROUP[,GROUP]", value_parser = selected_groups, env = "BOSON_PLUGIN_INSTANCE_GROUPS", value_delimiter = '\n', help_heading = "Plugins")]
    pub groups: Vec<SelectedGroups>,
    /// Fail if a plugin of `checks` reports an error; otherwise it is a warning
    #[arg(long, env = "BOSON_ENFORCE_CHECKS", help_heading = "Plugins")]
    pub enforce_checks: bool,
    /// Continue with a warning if a plugin of `checks` fails itself: if it traps, exceeds a limit, or gives a malformed
    /// reply
    #[arg(long, env = "BOSON_SKIP_FAILED_CHECKS", help_heading = "Plugins")]
    pub skip_failed_checks: bool,
    /// Take the built-in plugins from this directory (`ops.wasm`, ...) instead of the installation's
    #[arg(long, value_name = "DIR", env = "BOSON_PLUGINS_DIR", help_heading = "Plugins")]
    pub plugins_dir: Option<PathBuf>,
    /// Memory limit of this process as a Kubernetes quantity (2Gi); plugin calls, compilation, documents and releases
    /// share it [default: the limit of its container, or half of the machine's memory]
    #[arg(long, value_name = "SIZE", env = "BOSON_MAX_MEMORY", help_heading = "Plugins")]
    pub max_memory: Option<Memory>,
    /// Gets what plugins print; `None`: it is dropped.
    #[arg(skip)]
    pub printed: Option<Printed>,
}

// === impl PluginArguments ===

impl PluginArguments {
    /// What plugins of `checks` may stop.
    pub fn check_policy(&self) -> CheckPolicy {
        CheckPolicy {
            is_enforced: self.enforce_checks,
            is_optional: self.skip_failed_checks,
        }
    }

    /// Shows errors, which end the command. A broken plugin may be the user's.
    pub fn failed(&self, diagnostics: &[Diagnostic], sources: &Sources, color: Color) -> ExitError {
        output::show(diagnostics, sources, color);
        exit::failed(diagnostics, !self.replacements.is_empty())
    }
}

/// The options for what plugins may do. Each may begin with `PLUGIN:` or `NAMESPACE/PLUGIN:`.
#[derive(Args, Clone, Debug, Default)]
pub struct PermissionArguments {
    /// Allow this privilege for pods even if the deployment does not request it: `hostNetwork`,
    /// `capabilities=NET_ADMIN`, `hostPath=/dev/fuse`. PLUGIN, or NAMESPACE/PLUGIN, allows it only for the objects of
    /// this plugin
    #[arg(
        long = "allow-privilege",
        value_name = "[PLUGIN:]FIELD[=VALUE]",
        env = "BOSON_ALLOWED_PRIVILEGES",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    privileges: Vec<Grant<Privilege>>,
    /// Allow plugins to create objects of this custom resource: `external-secrets.io/v1/ExternalSecret`. PLURAL is
    /// needed if it is irregular. The operator needs RBAC rules for it
    #[arg(
        long = "allow-kind",
        value_name = "[PLUGIN:]GROUP/VERSION/KIND[=PLURAL]",
        env = "BOSON_ALLOWED_KINDS",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    kinds: Vec<Grant<Kind>>,
    /// Allow plugins to set this label; KEY may end in `*`: `example.com/*`. Labels of the operator stay reserved
    /// [default: any]
    #[arg(
        long = "allow-label",
        value_name = "[PLUGIN:]KEY",
        env = "BOSON_ALLOWED_LABELS",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    labels: Option<Vec<Grant<KeyPattern>>>,
    /// Allow plugins to set this annotation; KEY may end in `*` [default: any]
    #[arg(
        long = "allow-annotation",
        value_name = "[PLUGIN:]KEY",
        env = "BOSON_ALLOWED_ANNOTATIONS",
        value_delimiter = ',',
        help_heading = "Plugins"
    )]
    annotations: Option<Vec<Grant<KeyPattern>>>,
}

impl PermissionArguments {
    /// All of them.
    ///
    /// # Errors
    /// Two kinds have the same name.
    pub fn permissions(&self) -> Result<Permissions, Vec<Diagnostic>> {
        let conflict = |kinds: ConflictingKinds| vec![Diagnostic::error(codes::KINDS_CONFLICT, kinds.to_string())];
        let permissions = Permissions::new(self.kinds.clone(), self.privileges.clone()).map_err(conflict)?;
        Ok(permissions.with_keys(self.labels.clone(), self.annotations.clone()))
    }
}

/// `STAGE[:NAME]=VALUE`.
#[derive(Clone, Debug)]
pub struct OfPlugin<T> {
    /// For this stage.
    pub stage: Stage,
    /// Name of the plugin.
    pub name: Option<String>,
    pub value: T,
}

/// `STAGE[:NAME]=FILE`.
pub type Replacement = OfPlugin<PathBuf>;

/// `STAGE[:NAME]=GROUP[,GROUP]`: names of instance groups.
pub type SelectedGroups = OfPlugin<Vec<String>>;

fn selected_groups(text: &str) -> Result<SelectedGroups, String> {
    let OfPlugin { stage, name, value } = of_plugin(text, "GROUP")?;
    if !stage.is_by_group() {
        return Err(format!("a plugin of the stage '{stage}' serves all instance groups"));
    }
    let value: Vec<String> = value.split(',').map(str::to_string).collect();
    if value.iter().any(String::is_empty) {
        Err("the name of an instance group is missing".to_string())
    } else {
        Ok(OfPlugin { stage, name, value })
    }
}

fn replacement(text: &str) -> Result<Replacement, String> {
    let OfPlugin { stage, name, value } = of_plugin(text, "FILE")?;
    if value.is_empty() {
        return Err("the name of the file is missing".to_string());
    }
    let value = value.into();
    Ok(OfPlugin { stage, name, value })
}

/// `what`: the kind of value, for messages.
fn of_plugin<'t>(text: &'t str, what: &str) -> Result<OfPlugin<&'t str>, String> {
    let expected = || format!("expected STAGE={what} or STAGE:NAME={what}");
    let (plugin, value) = text.split_once('=').ok_or_else(expected)?;
    let (stage, name) = match plugin.split_once(':') {
        Some((_, "")) => return Err("the name after the colon is missing".to_string()),
        Some((stage, name)) => (stage, Some(name.to_string())),
        None => (plugin, None),
    };
    let stage = Stage::named(stage).ok_or_else(|| {
        let names = Stage::ALL.map(Stage::name);
        match closest(stage, names) {
            Some(near) => format!("unknown stage '{stage}'; did you mean '{near}'?"),
            None => format!("unknown stage '{stage}'; the stages are {}", names.join(", ")),
        }
    })?;
    Ok(OfPlugin { stage, name, value })
}
