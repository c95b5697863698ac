//! How a reconcile of a deployment ended, and the state that it observed.

use super::errands::Errands;
use super::shadows::ShadowResult;
use crate::deployment::error::{DeployError, DeployProblem};
use crate::deployment::progress::Known;
use boson_api::deployment::{Input, PluginUse};
use boson_api::{BoshDeploymentStatus, OutdatedGroup};
use boson_cluster::cache::GroupProblem;
use boson_cluster::client::Error;
use boson_pipeline::Diagnostic;
use boson_plugins::PluginProblem;

pub const CONVERSION_STEPS: i32 = 3;

/// A conversion whose objects were applied.
pub struct Done {
    /// How many of the desired objects are instance groups that are services.
    pub groups: i32,
    /// What is wrong with the instance groups that cannot be converted.
    pub held_back: Option<DeployProblem>,
    /// Groups whose pods keep an older operator image.
    pub outdated: Vec<OutdatedGroup>,
    /// Variables that the manifest no longer has; their values are retained.
    pub removed: Vec<String>,
    /// What has no effect, as `host convert` prints it.
    pub warnings: Vec<Diagnostic>,
    /// What shadow plugins would change.
    pub shadows: Vec<ShadowResult>,
}

/// The state that a reconcile observed.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub generation: Option<i64>,
    pub outcome: Outcome,
    pub wrote: bool,
    /// How many of the [`CONVERSION_STEPS`] are completed.
    pub steps: i32,
    /// Errands that were started, and their results; none: unknown.
    pub errands: Option<Errands>,
    /// How many instance groups are services; none: not known yet.
    pub groups: Option<i32>,
    /// How many of them are ready.
    pub ready: i32,
    /// Why the others are not, by name.
    pub group_problems: Vec<(String, GroupProblem)>,
    /// How far the rollouts are that are not complete, by name.
    pub rollouts: Vec<(String, GroupProblem)>,
    /// Digest of the documents and given values; none if they were not read.
    pub inputs_digest: Option<String>,
    /// What the objects are made from; none if that has not changed.
    pub inputs: Option<Vec<Input>>,
    /// Groups whose pods keep an older operator image; none: unknown.
    pub outdated: Option<Vec<OutdatedGroup>>,
    /// Variables that the manifest no longer has; none: unknown.
    pub removed: Option<Vec<String>>,
    /// The version for which post-deploy scripts were started now.
    pub post_deploy: Option<String>,
    /// Digest of the warnings that were emitted as events.
    pub warned: Option<String>,
    pub plugins: Vec<PluginUse>,
    /// What is wrong with plugins that are refused.
    pub plugin_problems: Vec<PluginProblem>,
    /// Names of plugins that are being loaded.
    pub loading: Vec<String>,
    /// What shadow plugins would change; none: not known.
    pub shadows: Option<Vec<ShadowResult>>,
}

/// How a reconcile ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All objects are up to date.
    #[default]
    Applied,
    /// Some instance groups cannot be converted; the objects of all others are up to date.
    Partly(DeployProblem),
    /// Something is missing that arrives without a change by the user.
    Waiting(String),
    Invalid(DeployProblem),
    /// The cluster refuses the converted objects.
    Refused(DeployProblem),
}

// === impl Observed ===

impl Observed {
    /// A reconcile that ended like this; all else is unknown.
    pub fn ended(generation: Option<i64>, outcome: Outcome) -> Self {
        Self {
            generation,
            outcome,
            ..Self::default()
        }
    }

    /// After a conversion, as far as the conversion itself knows it.
    ///
    /// # Errors
    /// A call to the API server failed that is repeated.
    pub fn after(generation: Option<i64>, result: Result<Done, DeployError>, known: &Known) -> Result<Self, Error> {
        let ended = |outcome| Self {
            steps: known.steps,
            groups: known.groups,
            inputs_digest: known.inputs_digest.clone(),
            ..Self::ended(generation, outcome)
        };
        let outcome = match result {
            Ok(done) => {
                let outcome = done.held_back.map_or(Outcome::Applied, Outcome::Partly);
                let groups = match outcome {
                    Outcome::Applied => Some(done.groups),
                    // Groups that are held back count, too.
                    _ => known.groups,
                };
                return Ok(Self {
                    steps: CONVERSION_STEPS,
                    groups,
                    inputs: Some(known.inputs.iter().cloned().collect()),
                    outdated: Some(done.outdated),
                    removed: Some(done.removed),
                    shadows: Some(done.shadows),
                    ..ended(outcome)
                });
            }
            Err(DeployError::Waiting(what)) => Outcome::Waiting(what),
            Err(DeployError::Invalid(problem)) => Outcome::Invalid(problem),
            Err(DeployError::Refused(problem)) => Outcome::Refused(problem),
            Err(DeployError::Api(error)) if error.is_lasting() => Outcome::Refused(DeployProblem::refused(&error)),
            Err(DeployError::Api(error)) => return Err(error),
        };
        Ok(ended(outcome))
    }

    /// The state last observed, with the outcome of this reconcile, which ended before its first step.
    pub fn as_before(
        old: &BoshDeploymentStatus,
        generation: Option<i64>,
        outcome: Outcome,
        plugin_problems: Vec<PluginProblem>,
    ) -> Self {
        Self {
            ready: old.deployed_instance_groups.unwrap_or(0),
            warned: old.warned.clone(),
            plugin_problems,
            ..Self::ended(generation, outcome)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(held_back: Option<DeployProblem>) -> Result<Done, DeployError> {
        Ok(Done {
            groups: 2,
            held_back,
            outdated: Vec::new(),
            removed: vec!["old".into()],
            warnings: Vec::new(),
            shadows: Vec::new(),
        })
    }

    #[test]
    fn what_a_conversion_made_is_known_only_once_it_was_applied() {
        let known = Known {
            steps: 1,
            groups: Some(3),
            ..Known::default()
        };
        let after = |result| Observed::after(Some(1), result, &known).unwrap();
        let applied = after(done(None));
        assert_eq!((applied.steps, applied.groups), (CONVERSION_STEPS, Some(2)));
        assert_eq!(applied.removed, Some(vec!["old".to_string()]));
        let problem = DeployProblem {
            reason: "X".into(),
            message: "no".into(),
            ..DeployProblem::default()
        };
        let partly = after(done(Some(problem.clone())));
        assert_eq!(
            (partly.steps, partly.groups),
            (CONVERSION_STEPS, Some(3)),
            "held back groups count"
        );
        let stopped = after(Err(DeployError::Invalid(problem)));
        assert_eq!((stopped.steps, stopped.groups, stopped.removed), (1, Some(3), None));
    }
}
