//! The stages as the pipeline calls them, with requests and replies of `boson_contract` (the contract of `wit/`,
//! without its bindings).
//!
//! `Stages` is implemented by the code that runs plugins; the pipeline does not depend on it.

mod call;

pub use call::{Answer, Call, CheckPolicy, Hook, PluginInfo, PluginRef};

use crate::author::Author;
use crate::diagnostic::{Diagnostic, Severity};
use crate::schema::SettingsError;
pub use boson_contract::bpm::{BpmCopy, DeploymentRequest, GroupRequest, JobFiles, ReleasePackage, Variable};
pub use boson_contract::links::{
    Addresses, Consumed, External, ExternalLink, JobSpec, LinksRequest, OtherDeployment, Provider, Resolved,
    ResolvedGroup,
};
pub use boson_contract::objects::{ConsumedLink, Edit, GroupSummary, JobSummary, MANIFEST, ObjectReference, View};
pub use boson_contract::ops::{Applied, Origin};
pub use boson_contract::render::{Rendered, Template};
pub use boson_contract::types::{Deployment, Named, Spread};
pub use boson_contract::variables::{Definition, Interpolated, Reference, Rules as VariableRules, VariablesPlan};
use boson_document::Tree;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Code of an exception that a plugin raised. Its text may quote the input.
pub const EXCEPTION: &str = "plugin-exception";

/// Codes with which a call ends without a reply, because of the plugin or of its input.
pub const CALL_FAILURES: [&str; 7] = [
    "plugin-trapped",
    EXCEPTION,
    "plugin-too-deep",
    "plugin-out-of-fuel",
    "plugin-over-memory",
    "plugin-over-output",
    "plugin-deadline",
];

/// The stages, in the order of the flow. Defined only here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Operations change the manifest.
    Ops,
    /// Definitions and placeholders.
    Variables,
    /// Instances, properties, links.
    Links,
    /// ERB templates.
    Render,
    /// An instance group becomes Kubernetes objects.
    Bpm,
    /// Plugins that edit the finished objects.
    Resources,
    /// Policies that the final objects must meet.
    Checks,
}

// === impl Stage ===

impl Stage {
    pub const ALL: [Self; 7] = [
        Self::Ops,
        Self::Variables,
        Self::Links,
        Self::Render,
        Self::Bpm,
        Self::Resources,
        Self::Checks,
    ];

    /// Name: of the WIT package, the world and the file `<name>.wasm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ops => "ops",
            Self::Variables => "variables",
            Self::Links => "links",
            Self::Render => "render",
            Self::Bpm => "bpm",
            Self::Resources => "resources",
            Self::Checks => "checks",
        }
    }

    /// Whether exactly one plugin is the rule of the stage. The other stages have any number of plugins, or none.
    pub fn has_rule(self) -> bool {
        !matches!(self, Self::Resources | Self::Checks)
    }

    /// Whether its calls are for one instance group, except those for the deployment as a whole.
    pub fn is_by_group(self) -> bool {
        matches!(self, Self::Render | Self::Bpm)
    }

    /// The stage of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a stage gave no reply.
#[derive(Clone, Debug, PartialEq)]
pub enum StageError {
    /// The user's input is wrong: at least one diagnostic is an error.
    Input(Vec<Diagnostic>),
    /// The plugin is at fault: it trapped, exceeded a limit, or gave a malformed reply. One diagnostic, written by the
    /// host.
    Plugin(Diagnostic),
}

impl From<StageError> for Vec<Diagnostic> {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Input(diagnostics) => diagnostics,
            StageError::Plugin(diagnostic) => vec![diagnostic],
        }
    }
}

/// Reply of a call.
pub type Reply<T> = Result<(T, Vec<Diagnostic>), StageError>;

/// The settings of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub tree: Tree,
    /// Name of their document; `None`: they are the plugin's defaults.
    pub document: Option<String>,
}

/// The stages. Every call uses a fresh instance of a sandboxed plugin; several threads may call at once.
pub trait Stages: Sync {
    /// Makes a call; of a plugin of `resources` or `checks` that does not exist, the answer is that there is nothing to
    /// do. The methods named after the functions make one, and return the value of that function.
    fn call(&self, call: Call<'_>) -> Reply<Answer>;
    /// None: there is no such plugin.
    fn info(&self, plugin: PluginRef<'_>) -> Option<PluginInfo>;
    /// Units of fuel that the calls of this thread have used so far: the cost of a part of a conversion is the
    /// difference.
    fn spent_here(&self) -> u64;
    /// The errors in the properties of a job, with its `properties_schema.json`. A foreign schema can take any amount
    /// of time and memory, so it is checked in a process that limits itself.
    ///
    /// # Errors
    /// The properties could not be checked: the rest of a sentence about the schema.
    fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String>;
    /// A rule without its outermost wrapper; `None` if there is no wrapper.
    fn below(&self, _: PluginRef<'_>) -> Option<Box<dyn Stages>> {
        None
    }
    fn settings(&self, _: PluginRef<'_>) -> Option<Settings> {
        None
    }
    /// The plugin alone with other settings, as number 0 of its stage.
    fn with_settings(&self, _: PluginRef<'_>, _settings: &Tree) -> Option<Box<dyn Stages>> {
        None
    }

    /// `files`: name and operations of each ops file.
    fn apply(&self, document: Named<'_>, files: &[Named<'_>]) -> Reply<Applied> {
        call::typed(self.call(Call::Apply { document, files }))
    }
    fn find(&self, document: Named<'_>, path: &str) -> Reply<Tree> {
        call::typed(self.call(Call::Find { document, path }))
    }
    fn plan(&self, document: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan> {
        call::typed(self.call(Call::Plan { document, rules }))
    }
    /// `values`: object of name -> value.
    fn interpolate(&self, document: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated> {
        call::typed(self.call(Call::Interpolate {
            document,
            values,
            rules,
        }))
    }
    fn resolve(&self, request: LinksRequest<'_>) -> Reply<Resolved> {
        call::typed(self.call(Call::Resolve(request)))
    }
    /// Of the links that variables consume, before there are values.
    fn addresses(&self, request: LinksRequest<'_>) -> Reply<Addresses> {
        call::typed(self.call(Call::Addresses(request)))
    }
    /// For a job of this instance group; if it is not known, with the wrappers of all groups.
    fn render(&self, group: Option<&str>, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>> {
        call::typed(self.call(Call::Render {
            group,
            templates,
            context,
        }))
    }
    fn convert_deployment(&self, request: DeploymentRequest<'_>) -> Reply<Vec<Tree>> {
        call::typed(self.call(Call::ConvertDeployment(request)))
    }
    fn convert_group(&self, request: &GroupRequest) -> Reply<Vec<Tree>> {
        call::typed(self.call(Call::ConvertGroup(request)))
    }
    fn transform(&self, hook: Hook<'_>) -> Reply<Vec<Edit>> {
        call::typed(self.call(Call::Transform(hook)))
    }
    /// An error that the plugin reports is in the reply.
    fn check(&self, hook: Hook<'_>) -> Reply<()> {
        call::typed(self.call(Call::Check(hook)))
    }
    fn author(&self, plugin: PluginRef<'_>) -> Author {
        let built_in = || PluginInfo::built_in(plugin.stage());
        self.info(plugin).unwrap_or_else(built_in).author
    }
    /// The plugins of `resources`, in order.
    fn transforms(&self) -> Vec<PluginInfo> {
        (0..).map_while(|nth| self.info(PluginRef::Resources(nth))).collect()
    }
    /// The plugins of `checks`, in order.
    fn checks(&self) -> Vec<PluginInfo> {
        (0..).map_while(|nth| self.info(PluginRef::Check(nth))).collect()
    }
    /// The plugin that would come after the last one of a stage.
    fn end(&self, stage: Stage) -> PluginRef<'_> {
        match stage {
            Stage::Resources => PluginRef::Resources(self.transforms().len()),
            Stage::Checks => PluginRef::Check(self.checks().len()),
            rule => PluginRef::Rule(rule, None),
        }
    }
}

/// Stages that several threads share.
pub type SharedStages = Arc<dyn Stages + Send + Sync>;

/// Separates the errors: a stage with an error among its diagnostics has failed.
pub fn fail_on_errors<T>(value: T, diagnostics: Vec<Diagnostic>) -> Reply<T> {
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(StageError::Input(diagnostics));
    }
    Ok((value, diagnostics))
}
