//! From the inputs of a deployment to its objects in the cluster: the same steps as `host convert`, but with a Secret
//! after each step, and stopping where the cluster has to do something first.

use super::act;
use super::conversion::variables::{Depth, request_values};
use super::conversion::{self, Work, with_tracing};
use super::error::DeployError;
use super::inputs;
use super::manifest::Manifest;
use super::observe;
use super::plan::events::causes::Causes;
use super::plan::held_back::HeldBack;
use super::plan::pods::instance_states::InstanceStates;
use super::plan::{self, Applying, Desired, Live, Plan, Settings};
use super::reconcile::Reconcile;
use super::status::{Done, shadow_results};
use boson_api::deployment::ConversionMode;
use boson_cluster::client::written;
use boson_document::Tree;
use boson_in_pod::Values;
use boson_manifest::group::InstanceGroup;
use serde_json::Value;
use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

/// Converts and applies the deployment.
pub async fn deploy(run: &Reconcile<'_>) -> Result<Done, DeployError> {
    let mut work = prepare(run).await?;
    let desired = convert(run, &mut work).await?;
    let manifest = work.manifest;
    act::plugins::copy(run).await?;
    let applied = apply(run, &desired, &manifest).await?;
    // List again to include new versions; else the oldest would stay until the next change.
    let existing = if written::any() {
        observe::documents(run).await?
    } else {
        work.existing
    };
    act::garbage::collect(run, &work.series, existing, &applied.wanted).await?;
    act::plugins::count_shadows(run);
    let shadows = shadow_results(&run.plugins.shadows, &manifest);
    let mut warnings = run.plugins.warnings.clone();
    warnings.extend(plan::events::idle_wrappers::warnings(&run.plugins.uses, &manifest.tree));
    if desired.held_back.is_empty() {
        warnings.extend(instance_states(run).unknown_instances(&applied.wanted));
    }
    warnings.extend(manifest.secrets.scrub(manifest.warnings, &manifest.sources));
    Ok(Done {
        groups: count_stateful_sets(&applied.wanted),
        held_back: desired.held_back.problem(),
        outdated: applied.outdated,
        removed: work.removed,
        warnings,
        shadows,
    })
}

/// The desired manifest: with ops, and with the values of all variables. Waits until all values exist.
async fn prepare(run: &Reconcile<'_>) -> Result<Work, DeployError> {
    let stages = with_tracing(run.plugins.stages.clone());
    let documents = inputs::documents(run).await?;
    let mut manifest = conversion::merge(stages.clone(), documents, run.deployment.name.clone()).await?;
    run.progress.known().groups = Some(count_services(&manifest.tree));
    let without_values = if boson_pipeline::convert::has_hooks(&*stages) {
        manifest.tree.clone()
    } else {
        Arc::default()
    };
    let (mut held, errors) = inputs::given(run, stages.clone(), &manifest).await?;
    manifest.check_errors(errors)?;
    let given = Values::of(&held).map_err(|errors| manifest.errors(errors))?.given;
    act::documents::store_manifest(run, &manifest).await?;
    let requested = request_values(run, stages.clone(), &mut manifest, &given, Depth::Releases).await?;
    let removed = act::variables::request(run, &manifest, requested.secrets).await?;
    held.extend(inputs::generated(run, &requested.variables).await?);
    let values = Values::of(&held).map_err(|errors| manifest.errors(errors))?;
    manifest.secrets_mut().add(values.secrets());
    let mut work = Work {
        stages,
        manifest,
        without_values,
        variables: requested.variables,
        removed,
        held,
        values,
        existing: observe::documents(run).await?,
        series: BTreeSet::new(),
        desired: String::new(),
        provenance: String::new(),
        external: None,
        held_back: HeldBack::default(),
    };
    if run.mode == ConversionMode::Jobs {
        act::plugins::copy(run).await?;
    }
    conversion::interpolate(run, &mut work).await?;
    let manifest = &mut work.manifest;
    Arc::make_mut(&mut manifest.secrets).except_names(&manifest.tree);
    run.progress.known().steps = 1;
    Ok(work)
}

async fn convert(run: &Reconcile<'_>, work: &mut Work) -> Result<Desired, DeployError> {
    let (gathered, providers) = conversion::gather(run, work).await?;
    // Links that cannot be stored are reported before minutes of rendering.
    let links = conversion::links::secrets(run, &mut work.manifest, &providers)?;
    run.progress.known().steps = 2;
    let rendered = conversion::render(run, work, gathered).await?;
    run.progress.known().steps = 3;
    let objects = conversion::objects(run, work, rendered.groups).await?;
    let mut objects = conversion::links::add(run, work, objects, links)?;
    for (group, revisions) in rendered.revisions {
        revisions.annotate_pods(&group, &mut objects);
    }
    plan::pods::serial::annotate(&plan::pods::serial::update_after(&work.manifest.tree), &mut objects);
    Ok(Desired {
        objects,
        manifest: mem::take(&mut work.desired),
        sources: rendered.sources,
        held_back: mem::take(&mut work.held_back),
    })
}

/// Observes the objects in the cluster, plans the way to the desired ones, and acts. Returns what was done.
async fn apply(run: &Reconcile<'_>, desired: &Desired, manifest: &Manifest) -> Result<Applying, DeployError> {
    let mut live = observe::live(run, &desired.objects).await?;
    let plan = loop {
        match plan_changes(run, desired, &mut live).await? {
            Plan::Retain(retaining) => return Err(act::retain(run, &retaining).await?),
            Plan::Apply(plan) if reserve_rollout_slot(run, &plan) => break plan,
            // Then no group rolls, which needs no slot.
            Plan::Apply(_) => live.may_roll = false,
        }
    };
    let live: Vec<Value> = live
        .objects
        .into_iter()
        .filter(|object| !desired.held_back.owns(object))
        .collect();
    if let Some(error) = instance_states(run).ignored_instance_error(&plan.wanted, &live) {
        return Err(manifest.refused(vec![error]));
    }
    act::act(run, &plan, manifest).await?;
    Ok(*plan)
}

/// The plan, without objects that another write would not change.
async fn plan_changes(run: &Reconcile<'_>, desired: &Desired, live: &mut Live) -> Result<Plan, DeployError> {
    let settings = Settings {
        names: &run.names,
        mode: run.mode,
        retain: run.object.spec.retain(),
        operator_image: &run.deployment.operator_image,
        is_paused: run.object.spec.paused,
        states: instance_states(run),
        causes: Causes {
            status: run.object.status.as_ref(),
            generation: run.object.metadata.generation,
            inputs: run.progress.known().inputs.iter().cloned().collect(),
            plugins: &run.plugins.uses,
        },
    };
    let plan = plan::plan(desired, live, &settings);
    Ok(
        if observe::skip_unchangeable(run, plan.drifted(), &mut live.objects).await? {
            plan::plan(desired, live, &settings).with_additions_of(plan)
        } else {
            plan
        },
    )
}

/// The desired states of its instances.
fn instance_states<'r>(run: &'r Reconcile<'_>) -> InstanceStates<'r> {
    InstanceStates {
        all: &run.object.spec.instances,
        spread: run.deployment.spread,
    }
}

/// Reserves a slot for the group that rolls, if any. False if another deployment has reserved the last one since the
/// cluster was observed.
fn reserve_rollout_slot(run: &Reconcile<'_>, plan: &Applying) -> bool {
    let Some(group) = &plan.rolls else { return true };
    let (image, most) = (&run.deployment.operator_image, run.context.conversion.roll_outdated);
    let has_slot = run.context.memory.rollouts.take(run.key(), most, Instant::now());
    if has_slot {
        tracing::info!(group, image, "the operator rolls an instance group to its own image");
    }
    has_slot
}

/// How many instance groups of a manifest are services.
fn count_services(manifest: &Tree) -> i32 {
    let services = InstanceGroup::all(manifest).filter(InstanceGroup::is_service);
    i32::try_from(services.count()).unwrap_or(i32::MAX)
}

/// How many of these objects are instance groups that are services.
fn count_stateful_sets(objects: &[Value]) -> i32 {
    let sets = objects.iter().filter(|object| plan::object::is_stateful_set(object));
    i32::try_from(sets.count()).unwrap_or(i32::MAX)
}
