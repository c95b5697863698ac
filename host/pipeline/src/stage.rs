//! The stages as the pipeline calls them: requests and replies in our own nouns (the contract of `wit/`, without its bindings).
//!
//! `Stages` is implemented by whoever can run plugins; the pipeline does not know how.

use crate::diagnostic::{Diagnostic, Severity};
use boson_deployment::instances::{self, Spread};
use boson_document::Tree;
use std::fmt;
use std::sync::Arc;

/// The stages, in the order of the flow. The one table of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// Hook over the finished objects.
    Resources,
}

// === impl Stage ===

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Ops,
        Self::Variables,
        Self::Links,
        Self::Render,
        Self::Bpm,
        Self::Resources,
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
        }
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
    /// The plugin is: it trapped, ran into a limit, or its reply was malformed. One diagnostic, made by whoever ran it.
    Plugin(Box<Diagnostic>),
}

// === impl StageError ===

impl StageError {
    /// What to tell.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        match self {
            Self::Input(diagnostics) => diagnostics,
            Self::Plugin(diagnostic) => vec![*diagnostic],
        }
    }
}

/// What a call gives.
pub type Reply<T> = Result<(T, Vec<Diagnostic>), StageError>;

/// A named document.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Name, for diagnostics.
    pub name: &'a str,
    /// Content.
    pub tree: &'a Tree,
}

/// Where a part of a document comes from (`wit/ops`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Pointer into the result.
    pub pointer: String,
    /// The document it comes from.
    pub document: String,
    /// Pointer into that document.
    pub source: String,
}

/// Reply of ops.apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The result.
    pub document: Tree,
    /// What does not come from the same pointer of the input.
    pub origins: Vec<Origin>,
}

/// A variable of the manifest.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name.
    pub name: String,
    /// Type; none: expected from elsewhere.
    pub kind: Option<String>,
    /// Options as written, or null.
    pub options: Tree,
    /// `no-overwrite`, `overwrite`, `converge`.
    pub update_mode: Option<String>,
    /// Links that it consumes, or null.
    pub consumes: Tree,
    /// Place of the entry.
    pub pointer: String,
}

/// A variable that a document refers to, and the first place that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name, without sub-keys.
    pub name: String,
    /// Place.
    pub pointer: String,
}

/// Reply of variables.plan.
#[derive(Clone, Debug)]
pub struct VariablesPlan {
    /// In the order of the manifest.
    pub definitions: Vec<Definition>,
    /// Sorted, each name once.
    pub references: Vec<Reference>,
}

/// Reply of variables.interpolate.
#[derive(Clone, Debug)]
pub struct Interpolated {
    /// The result.
    pub document: Tree,
    /// Names that had no value, sorted.
    pub missing: Vec<Reference>,
    /// Names that were used, sorted.
    pub used: Vec<String>,
}

/// The deployment at hand and where it goes.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Name.
    pub name: String,
    /// Kubernetes namespace.
    pub namespace: String,
    /// `cluster.local`.
    pub cluster_domain: String,
    /// Image with the `host` binary.
    pub operator_image: String,
    /// Stands in for every release's `url`.
    pub registry: Option<String>,
    /// What `instances` of a group means.
    pub spread: Spread,
    /// Jobs without bpm information run by their monit files.
    pub monit: bool,
}

// === impl Deployment ===

impl Deployment {
    /// What the contract's record has no field for; the defaults are left out.
    pub fn extensions(&self) -> Vec<(String, String)> {
        match self.spread {
            Spread::Total => Vec::new(),
            Spread::PerZone => vec![(instances::EXTENSION.into(), self.spread.name().into())],
        }
    }
}

/// A job's spec file.
#[derive(Clone, Debug)]
pub struct JobSpec<'a> {
    /// Release.
    pub release: &'a str,
    /// Job.
    pub job: &'a str,
    /// The file.
    pub spec: &'a Tree,
    /// Its name, for diagnostics.
    pub document_name: &'a str,
}

/// A group with all that rendering and conversion need (`wit/links`).
#[derive(Clone, Debug)]
pub struct ResolvedGroup {
    /// Name.
    pub name: String,
    /// The ig-resolved document.
    pub document: Tree,
}

/// A link that a job provides.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Instance group.
    pub group: String,
    /// Job.
    pub job: String,
    /// Exposed properties.
    pub properties: Tree,
}

/// Reply of links.resolve.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// In the order of the manifest.
    pub groups: Vec<ResolvedGroup>,
    /// All links provided.
    pub providers: Vec<Provider>,
}

/// A template to render.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// `<job>/<source>`.
    pub name: &'a str,
    /// ERB.
    pub text: &'a str,
}

/// A rendered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Name of the template.
    pub name: String,
    /// Content.
    pub content: String,
}

/// A rendered bpm.yml and the instances it holds for.
#[derive(Clone, Debug)]
pub struct BpmCopy {
    /// Name, for diagnostics.
    pub document_name: String,
    /// `spec.index` of each.
    pub instances: Vec<u32>,
    /// Content.
    pub bpm: Tree,
    /// The file as it was rendered: what is kept of it, so that places in it stay known.
    pub text: Arc<str>,
}

/// What the bpm stage has to know of a job's files.
#[derive(Clone, Debug)]
pub struct JobFiles {
    /// Job.
    pub job: String,
    /// Release.
    pub release: String,
    /// Destinations, relative to the job's directory.
    pub templates: Vec<String>,
    /// `monit` names a process.
    pub monitored: bool,
    /// What `monit` starts, of a job without bpm information: its first `start program`, as the template has it.
    pub start_program: Option<String>,
    /// Names of BOSH DNS that its file `dns/aliases.json` gives, on any of the instances: domain -> targets.
    pub aliases: Option<Tree>,
    /// One for each different rendering.
    pub bpm: Vec<BpmCopy>,
}

/// Request of bpm.convert-group.
#[derive(Clone, Debug)]
pub struct GroupRequest<'a> {
    /// Deployment.
    pub deployment: &'a Deployment,
    /// The ig-resolved document.
    pub group: &'a Tree,
    /// Manifest's document name and pointer of the group in it.
    pub document_name: &'a str,
    /// See `document_name`.
    pub pointer: &'a str,
    /// In the order of the group's jobs.
    pub jobs: Vec<JobFiles>,
    /// Name of the Secret with the ig-resolved document.
    pub resolved_secret: &'a str,
}

/// A variable that wants an object.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: String,
    /// Options, placeholders replaced.
    pub options: Tree,
    /// `no-overwrite`, `overwrite`, `converge`.
    pub update_mode: Option<String>,
    /// Place of its definition.
    pub pointer: String,
}

/// Names one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReference {
    /// `apps/v1`
    pub api_version: String,
    /// `StatefulSet`
    pub kind: String,
    /// Name.
    pub name: String,
}

/// Reply of resources.transform.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// RFC 6902 operations on one object each.
    pub patches: Vec<(ObjectReference, Tree)>,
    /// To remove.
    pub removals: Vec<ObjectReference>,
    /// To add.
    pub additions: Vec<Tree>,
}

/// The six stages. Every call is a fresh instance of a sealed plugin; calls may come from several threads at once.
pub trait Stages: Sync {
    /// ops.apply. `files`: name and operations of each ops file.
    fn apply(&self, document: Named<'_>, files: &[Named<'_>]) -> Reply<Applied>;
    /// ops.find.
    fn find(&self, document: Named<'_>, path: &str) -> Reply<Tree>;
    /// variables.plan.
    fn plan(&self, document: Named<'_>, rules: VariableRules) -> Reply<VariablesPlan>;
    /// variables.interpolate. `values`: object of name -> value.
    fn interpolate(&self, document: Named<'_>, values: &Tree, rules: VariableRules) -> Reply<Interpolated>;
    /// links.resolve.
    fn resolve(&self, document: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Resolved>;
    /// links.resolve with the setting `only: variables`: addresses that variables consume, before there are values. Object, name of the variable ->
    /// `alternative_names`, `common_name`.
    fn variable_addresses(&self, document: Named<'_>, deployment: &Deployment, jobs: &[JobSpec<'_>]) -> Reply<Tree>;
    /// render.render.
    fn render(&self, templates: &[Template<'_>], context: &Tree) -> Reply<Vec<Rendered>>;
    /// bpm.convert-deployment.
    fn convert_deployment(
        &self,
        deployment: &Deployment,
        document: Named<'_>,
        variables: &[Variable],
    ) -> Reply<Vec<Tree>>;
    /// bpm.convert-group.
    fn convert_group(&self, request: &GroupRequest<'_>) -> Reply<Vec<Tree>>;
    /// Units of fuel that the calls of this thread have used so far: what a part of a conversion costs is the difference.
    fn spent_here(&self) -> u64 {
        0
    }
    /// How many plugins of the resources stage there are.
    fn transforms(&self) -> usize;
    /// resources.transform of the plugin number `nth` (from 0) of that stage.
    fn transform(&self, nth: usize, deployment: &Deployment, objects: &[Tree]) -> Reply<Edits>;
    /// What messages call a stage's plugin; `nth` counts those of `resources`. One that does not ship with the host has a digest in its name.
    fn called(&self, stage: Stage, nth: usize) -> String {
        match stage {
            Stage::Resources => format!("resources {}", nth + 1),
            other => other.name().to_string(),
        }
    }
}

/// Whose rules the variables stage follows (its setting `rules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableRules {
    /// The director's.
    Director,
    /// `bosh interpolate`'s.
    Cli,
}

/// Splits off the errors: a stage whose diagnostics hold one has failed.
pub fn fail_on_errors<T>(value: T, diagnostics: Vec<Diagnostic>) -> Reply<T> {
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(StageError::Input(diagnostics));
    }
    Ok((value, diagnostics))
}
