//! A call of a plugin and its answer as values, so that a wrapper of the stages is written once for all functions.

use super::{
    Addresses, Applied, Deployment, DeploymentRequest, Edit, GroupRequest, Interpolated, LinksRequest, MANIFEST, Named,
    Rendered, Reply, Resolved, Stage, StageError, Template, VariableRules, VariablesPlan, View,
};
use crate::author::Author;
use crate::diagnostic::Diagnostic;
use crate::resolved_document;
use boson_document::Tree;
use std::iter;

/// A call of a function of the contract. It can be made twice without a clone.
///
/// It has no `Debug`: requests hold values of variables.
#[derive(Clone, Copy)]
pub enum Call<'a> {
    Apply {
        document: Named<'a>,
        files: &'a [Named<'a>],
    },
    Find {
        document: Named<'a>,
        path: &'a str,
    },
    Plan {
        document: Named<'a>,
        rules: VariableRules,
    },
    Interpolate {
        document: Named<'a>,
        values: &'a Tree,
        rules: VariableRules,
    },
    Resolve(LinksRequest<'a>),
    Addresses(LinksRequest<'a>),
    Render {
        group: Option<&'a str>,
        templates: &'a [Template<'a>],
        context: &'a Tree,
    },
    ConvertDeployment(DeploymentRequest<'a>),
    ConvertGroup(&'a GroupRequest),
    Transform(Hook<'a>),
    Check(Hook<'a>),
}

/// A call of a plugin of `resources` or `checks`.
#[derive(Clone, Copy)]
pub struct Hook<'a> {
    /// Number of the plugin in its stage, from 0.
    pub nth: usize,
    pub deployment: &'a Deployment,
    pub view: View<'a>,
}

/// A plugin of the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginRef<'a> {
    /// The rule of a stage with its wrappers; those for some instance groups only if this is one of them. Without a
    /// group: for the deployment as a whole.
    Rule(Stage, Option<&'a str>),
    /// That of the stage `resources` with this number.
    Resources(usize),
    /// That of the stage `checks` with this number.
    Check(usize),
}

/// What the host knows of a plugin.
#[derive(Clone, Debug)]
pub struct PluginInfo {
    /// Of a rule with wrappers, the outermost one.
    pub author: Author,
    /// `resources`: its place among the others was set explicitly, so it may override fields that an earlier plugin has
    /// set.
    pub is_ordered: bool,
    pub policy: CheckPolicy,
}

/// What a plugin of `checks` may stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckPolicy {
    /// Its errors fail the conversion.
    pub is_enforced: bool,
    /// If it fails itself (it traps, exceeds a limit, or gives a malformed reply), the conversion continues with a
    /// warning.
    pub is_optional: bool,
}

/// Defines [`Answer`], and its conversions from and to the values.
macro_rules! answers {
    ($($name:ident($value:ty)),* $(,)?) => {
        /// The value of a reply: that of the function with a similar name.
        #[derive(Clone)]
        pub enum Answer {
            $($name($value)),*
        }

        $(
            impl From<$value> for Answer {
                fn from(value: $value) -> Self {
                    Self::$name(value)
                }
            }

            impl TryFrom<Answer> for $value {
                type Error = StageError;

                fn try_from(answer: Answer) -> Result<Self, StageError> {
                    match answer {
                        Answer::$name(value) => Ok(value),
                        _ => Err(other_function()),
                    }
                }
            }
        )*
    };
}

answers! {
    Applied(Applied),
    Found(Tree),
    Planned(VariablesPlan),
    Interpolated(Interpolated),
    Resolved(Resolved),
    Addresses(Addresses),
    Rendered(Vec<Rendered>),
    Objects(Vec<Tree>),
    Edits(Vec<Edit>),
    Checked(()),
}

fn other_function() -> StageError {
    let message = "a call has the answer of another function";
    StageError::Plugin(Diagnostic::reported_error("plugin-malformed-reply", message))
}

/// The reply of a call whose function is known.
pub(super) fn typed<T: TryFrom<Answer, Error = StageError>>(reply: Reply<Answer>) -> Reply<T> {
    let (answer, diagnostics) = reply?;
    Ok((answer.try_into()?, diagnostics))
}

// === impl PluginRef ===

impl PluginRef<'_> {
    pub fn stage(self) -> Stage {
        match self {
            Self::Rule(stage, _) => stage,
            Self::Resources(_) => Stage::Resources,
            Self::Check(_) => Stage::Checks,
        }
    }
}

// === impl PluginInfo ===

impl PluginInfo {
    /// What the host itself does in a stage.
    pub fn built_in(stage: Stage) -> Self {
        Self {
            author: Author::built_in(stage.name()),
            is_ordered: false,
            policy: CheckPolicy::default(),
        }
    }
}

// === impl CheckPolicy ===

impl CheckPolicy {
    /// Its errors fail the conversion, and so does its own failure.
    pub const ENFORCED: Self = Self {
        is_enforced: true,
        is_optional: false,
    };
}

// === impl Call ===

impl<'a> Call<'a> {
    pub fn stage(self) -> Stage {
        self.plugin().stage()
    }

    /// Its name in the contract.
    pub fn function(self) -> &'static str {
        match self {
            Self::Apply { .. } => "apply",
            Self::Find { .. } => "find",
            Self::Plan { .. } => "plan",
            Self::Interpolate { .. } => "interpolate",
            Self::Resolve(_) => "resolve",
            Self::Addresses(_) => "addresses",
            Self::Render { .. } => "render",
            Self::ConvertDeployment(_) => "convert-deployment",
            Self::ConvertGroup(_) => "convert-group",
            Self::Transform(_) => "transform",
            Self::Check(_) => "check",
        }
    }

    /// The plugin that is called.
    pub fn plugin(self) -> PluginRef<'a> {
        match self {
            Self::Apply { .. } | Self::Find { .. } => PluginRef::Rule(Stage::Ops, None),
            Self::Plan { .. } | Self::Interpolate { .. } => PluginRef::Rule(Stage::Variables, None),
            Self::Resolve(_) | Self::Addresses(_) => PluginRef::Rule(Stage::Links, None),
            Self::Render { group, .. } => PluginRef::Rule(Stage::Render, group),
            Self::ConvertDeployment(_) => PluginRef::Rule(Stage::Bpm, None),
            Self::ConvertGroup(request) => PluginRef::Rule(Stage::Bpm, Some(resolved_document::name(&request.group))),
            Self::Transform(hook) => PluginRef::Resources(hook.nth),
            Self::Check(hook) => PluginRef::Check(hook.nth),
        }
    }

    /// The deployment that the request names.
    pub fn deployment(self) -> Option<&'a Deployment> {
        match self {
            Self::Resolve(request) | Self::Addresses(request) => Some(request.deployment),
            Self::ConvertDeployment(request) => Some(request.deployment),
            Self::ConvertGroup(request) => Some(&request.deployment),
            Self::Transform(hook) | Self::Check(hook) => Some(hook.deployment),
            _ => None,
        }
    }

    /// What plugins of `resources` and `checks` see.
    pub fn view(self) -> Option<View<'a>> {
        match self {
            Self::Transform(hook) | Self::Check(hook) => Some(hook.view),
            _ => None,
        }
    }

    /// Names of the documents that the call passes. An error that names none is about the first one.
    pub fn documents(self) -> Vec<&'a str> {
        match self {
            Self::Apply { document, files } => {
                let files = files.iter().map(|file| file.name);
                iter::once(document.name).chain(files).collect()
            }
            Self::Find { document, .. } | Self::Plan { document, .. } | Self::Interpolate { document, .. } => {
                vec![document.name]
            }
            Self::ConvertDeployment(request) => vec![request.manifest.name],
            Self::Resolve(request) | Self::Addresses(request) => {
                let specs = request.jobs.iter().map(|job| &*job.document_name);
                iter::once(request.manifest.name).chain(specs).collect()
            }
            Self::Render { templates, .. } => templates.iter().map(|template| &*template.name).collect(),
            Self::ConvertGroup(request) => {
                let copies = request.jobs.iter().flat_map(|job| &job.bpm);
                let copies = copies.map(|copy| copy.document_name.as_str());
                iter::once(request.document_name.as_str()).chain(copies).collect()
            }
            Self::Transform(_) | Self::Check(_) => vec![MANIFEST],
        }
    }

    /// The answer where there is no such plugin of `resources` or `checks`.
    pub fn nothing(self) -> Answer {
        match self {
            Self::Transform(_) => Answer::Edits(Vec::new()),
            _ => Answer::Checked(()),
        }
    }

    /// The same call for the only plugin of its stage.
    #[must_use]
    pub fn of_only(self) -> Self {
        match self {
            Self::Transform(hook) => Self::Transform(Hook { nth: 0, ..hook }),
            Self::Check(hook) => Self::Check(Hook { nth: 0, ..hook }),
            other => other,
        }
    }
}
