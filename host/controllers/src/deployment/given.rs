//! Values of variables: those given by users, and those generated in the cluster.

use super::flow::{Flow, unnamed};
use super::inputs;
use super::manifest::{Manifest, SharedStages, blocking};
use super::retain;
use super::stop::Stop;
use boson_api::deployment::ConversionMode;
use boson_api::{ConditionStatus, QuarksSecret};
use boson_cluster::client::{Error, resource};
use boson_cluster::objects;
use boson_document::{Tree, closest, did_you_mean};
use boson_in_pod::{Held, Origin, Values, secrets};
use boson_manifest::labels;
use boson_manifest::names::NameError;
use boson_pipeline::bundle::Bundle;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::stage::{Deployment, Named, Variable};
use boson_pipeline::variables::{self, Table};
use boson_pipeline::{Diagnostic, Stage, StageError, Stages, convert};
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use serde_json::Value;

/// Reason of a QuarksSecret that waits for another object.
const WAITING: &str = "Waiting";

/// What a manifest needs before it can be converted.
pub(super) struct Asked {
    pub manifest: Manifest,
    /// Variables that need a value.
    pub variables: Vec<Variable>,
    /// A QuarksSecret for each.
    pub secrets: Vec<Value>,
    /// Reported only by checks: the desired manifest gives the same warnings again.
    pub warnings: Vec<Diagnostic>,
}

/// How much the checks of a manifest read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Only the manifest, for an answer within the time limit of a webhook.
    Manifest,
    /// Also the releases, if the manifest has errors: links may have more.
    Releases,
}

/// The result of the checks.
struct Checked {
    variables: Vec<Variable>,
    objects: Vec<Tree>,
    warnings: Vec<Diagnostic>,
    /// The plugin that made the objects.
    plugin: String,
}

/// Errors of the checks.
struct Refused {
    errors: Vec<Diagnostic>,
    /// The manifest with the given values, if the checks came that far.
    document: Option<Tree>,
}

// === impl Flow ===

impl Flow<'_> {
    /// The values given by the user: `spec.vars`, and the Secrets of implicit variables.
    pub(super) async fn given(&self, stages: SharedStages, manifest: &Manifest) -> Result<Vec<Held>, Stop> {
        let (held, errors) = self.given_so_far(stages, manifest).await?;
        match errors.is_empty() {
            true => Ok(held),
            false => Err(manifest.fail(errors)),
        }
    }

    /// All errors that can be found before values exist: those of the checks, and those of links. Both are reported at once, as `host convert` does.
    async fn refused(
        &self,
        stages: SharedStages,
        mut manifest: Manifest,
        errors: Vec<Diagnostic>,
        document: Option<Tree>,
        depth: Depth,
    ) -> Stop {
        let is_deep = depth == Depth::Releases && self.mode == ConversionMode::InProcess;
        let Some(document) = document.filter(|_| is_deep) else {
            return manifest.fail(errors);
        };
        manifest.tree = document;
        // Without releases, their images are reported after these errors are fixed.
        let Ok(releases) = self.releases(&manifest).await else {
            return manifest.fail(errors);
        };
        let deployment = self.deployment.clone();
        let all = blocking(move || {
            let gathered = convert::gather(&*stages, &deployment, manifest.named(), &releases);
            let more = gathered.err().map(StageError::into_diagnostics).unwrap_or_default();
            manifest.fail(convert::together(errors, more))
        });
        all.await.unwrap_or_else(|stop| stop)
    }

    /// The given values that exist, and what is wrong with the others.
    pub(super) async fn given_so_far(
        &self,
        stages: SharedStages,
        manifest: &Manifest,
    ) -> Result<(Vec<Held>, Vec<Diagnostic>), Stop> {
        let (mut held, mut errors) = (Vec::new(), Vec::new());
        for variable in &self.object.spec.vars {
            match self.secret(&variable.secret).await? {
                Some(secret) => {
                    self.progress.uses([inputs::variable(&variable.name, &secret.metadata)]);
                    held.push(Held::whole(Origin::Given, &variable.name, &secret));
                }
                None => errors.push(missing(&variable.secret, &variable.name, None)),
            }
        }
        let table = match Values::of(&held) {
            Ok(values) => values.given,
            Err(more) => return Err(manifest.fail(errors.into_iter().chain(more).collect())),
        };
        let known: Vec<String> = table.names().map(str::to_string).collect();
        let known = || defined(&manifest.tree).chain(known.iter().map(String::as_str));
        let (name, tree) = (manifest.name.clone(), manifest.tree.clone());
        let wanted = blocking(move || {
            let named = Named {
                name: &name,
                tree: &tree,
            };
            variables::wanted(&*stages, named, &table).map(|(wanted, _)| wanted.implicit)
        });
        for reference in wanted.await?.map_err(|error| manifest.wrong(error))? {
            let (variable, key) = secrets::implicit(&reference.name);
            let secret = self
                .names
                .implicit_variable(variable)
                .map_err(|error| manifest.one(unnamed(&error)))?;
            match self.secret(&secret).await? {
                Some(found) => match secrets::of_implicit(&found, key) {
                    Ok(_) => {
                        self.progress.uses([inputs::variable(variable, &found.metadata)]);
                        held.push(Held::implicit(&reference.name, key, &found));
                    }
                    Err(error) => errors.push(error),
                },
                None => errors.push(
                    missing(&secret, variable, closest(variable, known()))
                        .in_document(&manifest.name)
                        .at(&reference.pointer),
                ),
            }
        }
        Ok((held, errors))
    }

    /// Applies a QuarksSecret for each value that is not given. Also returns the variables that the manifest no longer has: their QuarksSecrets are
    /// retained, so that a variable that is added again has its old value.
    pub(super) async fn generate(
        &self,
        stages: SharedStages,
        manifest: Manifest,
        given: &Table,
    ) -> Result<(Manifest, Vec<Variable>, Vec<String>), Stop> {
        let mut asked = self.asked(stages, manifest, given, Depth::Releases).await?;
        let mut live = self.live(&resource(labels::API_VERSION, "QuarksSecret")).await?;
        if !asked.secrets.is_empty() {
            let policy = self.first_policy(&asked.manifest.tree, &live).await?;
            retain::set(&mut asked.secrets, policy);
        }
        let removed = removed(&asked.secrets, &live);
        let plan = self.differences(asked.secrets, &mut live).await?;
        self.vacant(plan.new_objects()).await?;
        for object in &plan.apply {
            let written = self.write(object).await.map_err(Stop::from);
            written.map_err(|stop| asked.manifest.or_refused(stop))?;
        }
        Ok((asked.manifest, asked.variables, removed))
    }

    /// The QuarksSecrets to apply, after the checks of the manifest that need no values.
    pub(super) async fn asked(
        &self,
        stages: SharedStages,
        mut manifest: Manifest,
        given: &Table,
        depth: Depth,
    ) -> Result<Asked, Stop> {
        // The checked document holds given values, and checks may quote what they refuse.
        manifest.secrets.add(Secrets::of(&given.to_tree()));
        let (deployment, given, own) = (self.deployment.clone(), given.clone(), stages.clone());
        let (manifest, result) = blocking(move || {
            let result = checked(&*own, &manifest, &deployment, &given);
            (manifest, result)
        })
        .await?;
        let Checked {
            variables,
            objects,
            warnings,
            plugin,
        } = match result {
            Ok(checked) => checked,
            Err(Refused { errors, document }) => {
                return Err(self.refused(stages, manifest, errors, document, depth).await);
            }
        };
        let secrets = objects
            .into_iter()
            .filter(|object| object.str("kind") == Some("QuarksSecret"));
        let mut bundle = Bundle::new(&self.deployment);
        let checked = bundle.add(secrets.collect(), &plugin);
        checked.map_err(|errors| manifest.fail(errors))?;
        let secrets = self.own(bundle.into_objects(), &manifest)?;
        Ok(Asked {
            manifest,
            variables,
            secrets,
            warnings,
        })
    }

    /// The generated values, once all exist.
    pub(super) async fn generated(&self, variables: &[Variable]) -> Result<Vec<Held>, Stop> {
        let (mut held, mut waiting, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for variable in variables {
            let name = self
                .names
                .variable(&variable.name)
                .map_err(|error| unnamed_stop(&error))?;
            let asked: Option<QuarksSecret> = self.context.cluster.get(self.namespace, &name).await?;
            let settled = asked.as_ref().is_some_and(is_settled);
            match (self.secret(&name).await?, asked.as_ref().and_then(trouble)) {
                (Some(secret), _) if settled => {
                    self.progress.uses([inputs::variable(&variable.name, &secret.metadata)]);
                    held.push(Held::whole(Origin::Generated, &variable.name, &secret));
                }
                (_, Some((WAITING, why))) => waiting.push(format!("{} ({why})", variable.name)),
                (_, Some((_, why))) => failed.push(no_value(&variable.name, &name, why)),
                (_, None) => waiting.push(variable.name.clone()),
            }
        }
        if !failed.is_empty() {
            // Not `Waiting`, which would promise that the value arrives without a change.
            return Err(Stop::taken(failed, &Sources::default()));
        }
        if waiting.is_empty() {
            Ok(held)
        } else {
            Err(Stop::Waiting(format!("the values of {}", waiting.join(", "))))
        }
    }

    pub(super) async fn secret(&self, name: &str) -> Result<Option<Secret>, Error> {
        self.context.cluster.get(self.namespace, name).await
    }
}

/// The checks of a manifest that need no values. Errors of the deployment's own objects leave a document whose links can be checked, too.
fn checked(
    stages: &dyn Stages,
    manifest: &Manifest,
    deployment: &Deployment,
    given: &Table,
) -> Result<Checked, Refused> {
    let wanted = variables::wanted(stages, manifest.named(), given);
    let (wanted, mut warnings) = wanted.map_err(|error| Refused {
        errors: error.into_diagnostics(),
        document: None,
    })?;
    let named = Named {
        name: &manifest.name,
        tree: &wanted.document,
    };
    match stages.convert_deployment(deployment, named, &wanted.variables) {
        Ok((objects, said)) => {
            warnings.extend(said);
            Ok(Checked {
                variables: wanted.variables,
                objects,
                warnings,
                plugin: stages.called(Stage::Bpm, 0),
            })
        }
        Err(error) => Err(Refused {
            errors: error.into_diagnostics(),
            document: Some(wanted.document),
        }),
    }
}

/// Whether the value is the one that this QuarksSecret asks for.
fn is_settled(asked: &QuarksSecret) -> bool {
    let status = asked.status.as_ref();
    status.and_then(|status| status.generated) == Some(true)
        && status.and_then(|status| status.observed_generation) == asked.meta().generation
}

/// Reason and message of its condition Ready, if that is False.
fn trouble(asked: &QuarksSecret) -> Option<(&str, &str)> {
    let conditions = asked.status.iter().flat_map(|status| &status.conditions);
    let mut troubles = conditions.filter(|one| one.kind == "Ready" && one.status == ConditionStatus::False);
    troubles.next().map(|one| (one.reason.as_str(), one.message.as_str()))
}

/// The value of a variable cannot be generated.
fn no_value(variable: &str, quarks_secret: &str, why: &str) -> Diagnostic {
    let message = format!("variable '{variable}' has no value: {why}");
    Diagnostic::error("deployment-variable", message).help(format!(
        "see the conditions of QuarksSecret '{quarks_secret}'; the deployment continues automatically"
    ))
}

/// The variables whose QuarksSecrets exist but are not wanted, sorted.
fn removed(wanted: &[Value], live: &[Value]) -> Vec<String> {
    let name = |object: &Value| object["metadata"]["name"].clone();
    let wanted: Vec<Value> = wanted.iter().map(name).collect();
    let unwanted = live
        .iter()
        .filter(|one| !wanted.contains(&name(one)) && !objects::is_going(one));
    let mut variables: Vec<String> = unwanted
        .filter_map(|one| serde_json::from_value(one.clone()).ok())
        .map(|one: QuarksSecret| variable_of(&one))
        .collect();
    variables.sort();
    variables.dedup();
    variables
}

/// The variable of a QuarksSecret, as the manifest names it; without one: the name of the QuarksSecret.
pub(crate) fn variable_of(secret: &QuarksSecret) -> String {
    let annotations = secret.metadata.annotations.as_ref();
    let variable = annotations.and_then(|annotations| annotations.get(labels::VARIABLE));
    let old = secret.metadata.labels.as_ref();
    let variable = variable.or(old.and_then(|labels| labels.get(labels::VARIABLE_NAME)));
    variable.or(secret.metadata.name.as_ref()).cloned().unwrap_or_default()
}

/// Names of the variables that the manifest defines.
fn defined(manifest: &Tree) -> impl Iterator<Item = &str> {
    let definitions = manifest.items("variables").iter();
    definitions.filter_map(|definition| definition.str("name"))
}

/// `near`: the name that the manifest may have meant.
fn missing(secret: &str, variable: &str, near: Option<&str>) -> Diagnostic {
    let help = "create it; the deployment then continues automatically";
    Diagnostic::error(
        "deployment-no-value",
        format!("there is no Secret '{secret}' with the value of variable '{variable}'"),
    )
    .help(near.map_or_else(|| help.to_string(), |near| did_you_mean(near, help)))
}

fn unnamed_stop(error: &NameError) -> Stop {
    Stop::wrong(vec![unnamed(error)], &Sources::default())
}
