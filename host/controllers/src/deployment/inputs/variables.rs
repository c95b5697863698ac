//! Values of variables: those given by users, and those generated in the cluster.

use super::digests;
use crate::codes;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::{Manifest, name_error};
use crate::deployment::observe;
use crate::deployment::plan::variables::{State, state};
use crate::deployment::reconcile::Reconcile;
use boson_api::QuarksSecret;
use boson_document::Tree;
use boson_in_pod::{Held, Origin, Values, secrets};
use boson_pipeline::Diagnostic;
use boson_pipeline::listing::first_of;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::{SharedStages, Variable};
use boson_pipeline::variables;

/// Variables without a value that a message names: a deployment of Cloud Foundry waits for hundreds at first.
const MAX_NAMED_VARIABLES: usize = 5;

/// The values given by the user, from `spec.vars` and the Secrets of implicit variables, as far as they exist, and what
/// is wrong with the others.
pub async fn given(
    run: &Reconcile<'_>,
    stages: SharedStages,
    manifest: &Manifest,
) -> Result<(Vec<Held>, Vec<Diagnostic>), DeployError> {
    let (mut held, mut errors) = (Vec::new(), Vec::new());
    for variable in &run.object.spec.vars {
        match observe::secret(run, &variable.secret).await? {
            Some(secret) => {
                run.progress.uses([digests::variable(&variable.name, &secret.metadata)]);
                held.push(Held::whole(Origin::Given, &variable.name, &secret));
            }
            None => errors.push(missing(&variable.secret, &variable.name)),
        }
    }
    let table = match Values::of(&held) {
        Ok(values) => values.given,
        Err(more) => return Err(manifest.errors(errors.into_iter().chain(more).collect())),
    };
    let known: Vec<String> = table.names().map(str::to_string).collect();
    let known = || defined(&manifest.tree).chain(known.iter().map(String::as_str));
    let wanted = manifest.blocking(move |manifest| {
        variables::wanted(&*stages, manifest.named(), &table).map(|(wanted, _)| wanted.implicit)
    });
    for reference in wanted.await?.map_err(|error| manifest.stage_error(error))? {
        let (variable, key) = secrets::implicit(&reference.name);
        let secret = run
            .names
            .implicit_variable(variable)
            .map_err(|error| manifest.error(name_error(&error)))?;
        match observe::secret(run, &secret).await? {
            Some(found) => match Held::implicit(&reference.name, key, &found) {
                Ok(value) => {
                    run.progress.uses([digests::variable(variable, &found.metadata)]);
                    held.push(value);
                }
                Err(error) => errors.push(error),
            },
            None => errors.push(
                missing(&secret, variable)
                    .suggest(variable, known())
                    .in_document(&manifest.name)
                    .at(&reference.pointer),
            ),
        }
    }
    Ok((held, errors))
}

/// The generated values, once all exist.
pub async fn generated(run: &Reconcile<'_>, variables: &[Variable]) -> Result<Vec<Held>, DeployError> {
    let (mut held, mut failed) = (Vec::new(), Vec::new());
    // Those for which a QuarksSecret says why come first: the others arrive by themselves.
    let (mut explained, mut coming) = (Vec::new(), Vec::new());
    for variable in variables {
        let name = run.names.variable(&variable.name);
        let name = name.map_err(|error| DeployError::invalid(vec![name_error(&error)], &Sources::default()))?;
        let asked: Option<QuarksSecret> = run.context.cluster.get(run.namespace, &name).await?;
        let secret = observe::secret(run, &name).await?;
        match (state(asked.as_ref(), secret.is_some()), secret) {
            (State::Generated, Some(secret)) => {
                run.progress.uses([digests::variable(&variable.name, &secret.metadata)]);
                held.push(Held::whole(Origin::Generated, &variable.name, &secret));
            }
            (State::Waiting(Some(why)), _) => explained.push(format!("{} ({why})", variable.name)),
            (State::Failed(why), _) => failed.push(no_value(&variable.name, &name, &why)),
            (State::Waiting(None) | State::Generated, _) => coming.push(variable.name.clone()),
        }
    }
    if !failed.is_empty() {
        // Not `Waiting`, which would promise that the value arrives without a change.
        return Err(DeployError::conflict(failed));
    }
    let waiting = [explained, coming].concat();
    if waiting.is_empty() {
        Ok(held)
    } else {
        let names = first_of(&waiting, MAX_NAMED_VARIABLES, " and ");
        Err(DeployError::Waiting(format!("the values of {names}")))
    }
}

/// The value of a variable cannot be generated.
fn no_value(variable: &str, quarks_secret: &str, why: &str) -> Diagnostic {
    let message = format!("variable '{variable}' has no value: {why}");
    Diagnostic::error(codes::DEPLOYMENT_VARIABLE, message).help(format!(
        "see the conditions of QuarksSecret '{quarks_secret}'; the deployment continues automatically"
    ))
}

/// Names of the variables that the manifest defines.
fn defined(manifest: &Tree) -> impl Iterator<Item = &str> {
    let definitions = manifest.items("variables").iter();
    definitions.filter_map(|definition| definition.str("name"))
}

fn missing(secret: &str, variable: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DEPLOYMENT_NO_VALUE,
        format!("there is no Secret '{secret}' with the value of variable '{variable}'"),
    )
    .help("create it; the deployment then continues automatically")
}
