//! The parts of the input that determine a field of an object that the stage `bpm` returned: of the manifest, of
//! rendered bpm.yml files, and of the command's options.

use super::influence::{Influences, MAX_CALLS, influences};
use super::observed::Calls;
use super::{Input, MAX_FIELDS, Step, value_in};
use crate::bundle::{Bundle, Writer};
use crate::changes::identity;
use crate::convert::{Inputs, places};
use crate::diagnostic::{Diagnostic, Place};
use crate::resolved_document;
use crate::stage::{Deployment, DeploymentRequest, GroupRequest, Hook, JobFiles, Named, PluginRef, Settings, View};
use crate::{Stage, Stages};
use boson_document::{Pointer, Tree};

/// The step that made a field of an object of an instance group.
pub fn of_group(
    stages: &dyn Stages,
    inputs: &Inputs<'_>,
    request: &GroupRequest,
    object: &Tree,
    field: &Pointer,
) -> Step {
    let bpm = |job: &JobFiles| Tree::Array(job.bpm.iter().map(|copy| copy.bpm.clone()).collect());
    let input = Tree::object()
        .with("group", request.group.clone())
        .with("bpm", Tree::Array(request.jobs.iter().map(bpm).collect()))
        .with("options", options(inputs.deployment));
    let group = resolved_document::name(&request.group);
    let plugin = PluginRef::Rule(Stage::Bpm, Some(group));
    let (input, settings) = with_settings(input, stages, plugin);
    let found = influences(&input, &|input| {
        let deployment = with_options(inputs.deployment, input.get("options")?);
        let request = GroupRequest {
            deployment,
            group: input.get("group")?.clone(),
            document_name: request.document_name.clone(),
            pointer: request.pointer.clone(),
            jobs: with_bpm(&request.jobs, input.items("bpm")),
            resolved_secret: request.resolved_secret.clone(),
        };
        let changed = changed_settings(stages, plugin, &settings, input);
        let stages = changed.as_deref().unwrap_or(stages);
        value_in(&stages.convert_group(&request).ok()?.0, object, field)
    });
    let container = container(object, field).map(|name| format!(", container '{name}',"));
    let container = container.unwrap_or_default();
    step(
        format!("made {}{container} from the instance group '{group}'", identity(object)),
        &found,
        &|place| of_settings(&settings, place.tokens()).or_else(|| input_of_group(inputs, request, place)),
    )
}

/// The container that a field belongs to. Its name has those of the job and the process.
fn container<'t>(object: &'t Tree, field: &Pointer) -> Option<&'t str> {
    let tokens = field.tokens();
    let list = tokens
        .iter()
        .position(|token| token == "containers" || token == "initContainers")?;
    Pointer::from(tokens.get(..list + 2)?.to_vec())
        .find(object)?
        .str("name")
}

/// The step that made a field of an object of the deployment itself.
pub fn of_deployment(stages: &dyn Stages, inputs: &Inputs<'_>, object: &Tree, field: &Pointer) -> Step {
    let variable = |one: &crate::stage::Variable| {
        Tree::object()
            .with("name", one.name.as_str())
            .with("type", one.kind.as_str())
            .with("options", one.options.clone())
    };
    let input = Tree::object()
        .with("manifest", inputs.manifest.tree.clone())
        .with(
            "variables",
            Tree::Array(inputs.variables.iter().map(variable).collect()),
        )
        .with("options", options(inputs.deployment));
    let plugin = PluginRef::Rule(Stage::Bpm, None);
    let (input, settings) = with_settings(input, stages, plugin);
    let found = influences(&input, &|input| {
        let deployment = with_options(inputs.deployment, input.get("options")?);
        let mut variables = inputs.variables.to_vec();
        for (variable, changed) in variables.iter_mut().zip(input.items("variables")) {
            variable.name = changed.str("name")?.to_string();
            variable.kind = changed.str("type")?.to_string();
            variable.options = changed.get("options")?.clone();
        }
        let manifest = Named::new(inputs.manifest.name, input.get("manifest")?);
        let changed = changed_settings(stages, plugin, &settings, input);
        let stages = changed.as_deref().unwrap_or(stages);
        let request = DeploymentRequest {
            deployment: &deployment,
            manifest,
            variables: &variables,
        };
        value_in(&stages.convert_deployment(request).ok()?.0, object, field)
    });
    step(
        format!("made {} for the deployment", identity(object)),
        &found,
        &|place| {
            let (first, rest) = place.tokens().split_first()?;
            match first.as_str() {
                SETTINGS_KEY => of_settings(&settings, place.tokens()),
                "manifest" => Some(in_manifest(inputs, &Pointer::from(rest.to_vec()))),
                "variables" => {
                    let (nth, rest) = rest.split_first()?;
                    let variable = inputs.variables.get(nth.parse::<usize>().ok()?)?;
                    Some(in_manifest(inputs, &Pointer::parse(&variable.pointer)?.join(rest)))
                }
                _ => Some(option(rest)),
            }
        },
    )
}

/// The settings of a plugin of `resources` that determine a field.
pub fn settings_of_transform(
    stages: &dyn Stages,
    inputs: &Inputs<'_>,
    calls: &Calls,
    nth: usize,
    object: &Tree,
    field: &Pointer,
) -> Vec<Input> {
    let plugin = PluginRef::Resources(nth);
    let (input, settings) = with_settings(Tree::object(), stages, plugin);
    let Some((_, before)) = calls.transforms.get(nth) else {
        return Vec::new();
    };
    let view = View {
        target: inputs.target.name(),
        manifest: Named::new(inputs.manifest.name, inputs.without_values),
        groups: &calls.summaries,
        objects: before,
    };
    let hook = Hook {
        nth: 0,
        deployment: inputs.deployment,
        view,
    };
    let found = influences(&input, &|input| {
        let changed = changed_settings(stages, plugin, &settings, input)?;
        let edits = changed.transform(hook).ok()?.0;
        let mut bundle = Bundle::of_host(inputs.deployment).with_kinds(inputs.permissions.kinds());
        bundle.add(before.clone(), "the host").ok()?;
        let author = &changed.author(PluginRef::Resources(0));
        let is_ordered = true;
        bundle.edit(edits, Writer { author, is_ordered }).ok()?;
        value_in(bundle.objects(), object, field)
    });
    let all = found.value.iter().take(MAX_FIELDS);
    all.filter_map(|place| of_settings(&settings, place.tokens())).collect()
}

/// The member of an input with the settings of the plugin.
const SETTINGS_KEY: &str = "settings";

/// An input with the settings of the plugin.
fn with_settings(input: Tree, stages: &dyn Stages, plugin: PluginRef<'_>) -> (Tree, Option<Settings>) {
    let settings = stages.settings(plugin);
    let tree = settings.as_ref().map(|settings| settings.tree.clone());
    (input.with_some(SETTINGS_KEY, tree), settings)
}

/// The plugin with the settings of an input; `None` if it has its own.
fn changed_settings(
    stages: &dyn Stages,
    plugin: PluginRef<'_>,
    own: &Option<Settings>,
    input: &Tree,
) -> Option<Box<dyn Stages>> {
    let settings = input.get(SETTINGS_KEY)?;
    let is_own = own.as_ref().is_some_and(|own| own.tree == *settings);
    match (plugin, is_own) {
        (PluginRef::Rule(..), true) => None,
        _ => stages.with_settings(plugin, settings),
    }
}

fn of_settings(settings: &Option<Settings>, tokens: &[String]) -> Option<Input> {
    let (first, rest) = tokens.split_first().filter(|(first, _)| *first == SETTINGS_KEY)?;
    let pointer = Pointer::from(rest.to_vec());
    let document = settings.as_ref()?.document.clone();
    Some(Input {
        of: format!("the {first} of the plugin"),
        place: document.map(|document| Place::new(document, &pointer)),
        pointer: Some(pointer),
    })
}

fn step(what: String, found: &Influences, input: &dyn Fn(&Pointer) -> Option<Input>) -> Step {
    let inputs: Vec<Input> = found.value.iter().filter_map(input).collect();
    let mut unknown = Vec::new();
    if !found.is_complete {
        unknown.push(format!("other inputs: the search ended after {MAX_CALLS} calls"));
    }
    if inputs.len() > MAX_FIELDS {
        unknown.push(format!(
            "{} more inputs, which are not shown",
            inputs.len() - MAX_FIELDS
        ));
    }
    let what = if inputs.is_empty() {
        format!("{what}; no input alone changes the value")
    } else {
        what
    };
    Step {
        by: String::new(),
        what,
        inputs: inputs.into_iter().take(MAX_FIELDS).collect(),
        unknown,
    }
}

fn input_of_group(inputs: &Inputs<'_>, request: &GroupRequest, place: &Pointer) -> Option<Input> {
    let (first, rest) = place.tokens().split_first()?;
    match first.as_str() {
        "bpm" => {
            let [job, copy, rest @ ..] = rest else { return None };
            let job = request.jobs.get(job.parse::<usize>().ok()?)?;
            let copy = job.bpm.get(copy.parse::<usize>().ok()?)?;
            let pointer = Pointer::from(rest.to_vec());
            Some(Input {
                of: format!(
                    "the rendered bpm.yml of the job '{}' of the release '{}'",
                    job.job, job.release
                ),
                place: Some(Place::new(&copy.document_name, &pointer)),
                pointer: Some(pointer),
            })
        }
        "group" => Some(in_resolved(inputs, request, rest)),
        _ => Some(option(rest)),
    }
}

/// A part of a resolved document: of the manifest, if it is there.
fn in_resolved(inputs: &Inputs<'_>, request: &GroupRequest, tokens: &[String]) -> Input {
    let manifest = inputs.manifest;
    let pointer = match tokens {
        [list, nth, rest @ ..] if list == "instance_groups" && nth == "0" => {
            Pointer::parse(&request.pointer).map(|group| as_written(inputs, request, &group.join(rest)))
        }
        [list, nth, rest @ ..] => {
            let named = nth
                .parse::<usize>()
                .ok()
                .and_then(|nth| request.group.items(list).get(nth));
            let name = named.and_then(|named| named.str("name").or_else(|| named.str("alias")));
            let is_it = |one: &Tree| name.is_some() && one.str("name").or_else(|| one.str("alias")) == name;
            let index = manifest.tree.items(list).iter().position(is_it);
            index.map(|index| Pointer::root().at(list).at(index).join(rest))
        }
        tokens => Some(Pointer::from(tokens.to_vec())),
    };
    match pointer.filter(|pointer| pointer.find(manifest.tree).is_some()) {
        Some(pointer) => in_manifest(inputs, &pointer),
        None => Input {
            of: "the resolved document of the group: not in the manifest, but from a link, a default of a job spec, or an \
                 addon"
                .into(),
            pointer: Some(Pointer::from(tokens.to_vec())),
            place: None,
        },
    }
}

/// As diagnostics about the resolved document are moved to the manifest.
fn as_written(inputs: &Inputs<'_>, request: &GroupRequest, pointer: &Pointer) -> Pointer {
    let manifest = inputs.manifest;
    let entry = resolved_document::group(&request.group);
    let mut one = [Diagnostic::reported_warning("blame", "")
        .in_document(manifest.name)
        .at(pointer.to_string())];
    places::of_jobs(&mut one, manifest, entry, &request.pointer, &request.jobs);
    places::as_written(&mut one, manifest.name, manifest.tree);
    let [one] = one;
    let moved = one.place.pointer.as_deref().and_then(Pointer::parse);
    moved.unwrap_or_else(|| pointer.clone())
}

pub fn in_manifest(inputs: &Inputs<'_>, pointer: &Pointer) -> Input {
    Input {
        of: "the manifest".into(),
        pointer: Some(pointer.clone()),
        place: Some(Place::new(inputs.manifest.name, pointer)),
    }
}

/// The settings of a conversion that are no part of the manifest.
fn options(deployment: &Deployment) -> Tree {
    Tree::object()
        .with("name", deployment.name.as_str())
        .with("namespace", deployment.namespace.as_str())
        .with("cluster-domain", deployment.cluster_domain.as_str())
        .with("operator-image", deployment.operator_image.as_str())
        .with_some("registry", deployment.registry.as_deref())
}

fn with_options(deployment: &Deployment, options: &Tree) -> Deployment {
    let text = |name: &str, old: &str| options.str(name).unwrap_or(old).to_string();
    Deployment {
        name: text("name", &deployment.name),
        namespace: text("namespace", &deployment.namespace),
        cluster_domain: text("cluster-domain", &deployment.cluster_domain),
        operator_image: text("operator-image", &deployment.operator_image),
        registry: deployment.registry.as_deref().map(|old| text("registry", old)),
        ..deployment.clone()
    }
}

fn option(tokens: &[String]) -> Input {
    let name = tokens.first().map_or("", String::as_str);
    let of = match name {
        "name" => "the name of the deployment: --name, or `name` of the manifest".to_string(),
        name => format!("the option --{name}, or its default"),
    };
    Input {
        of,
        pointer: None,
        place: None,
    }
}

fn with_bpm(jobs: &[JobFiles], bpm: &[Tree]) -> Vec<JobFiles> {
    let mut jobs = jobs.to_vec();
    for (job, copies) in jobs.iter_mut().zip(bpm) {
        for (copy, tree) in job.bpm.iter_mut().zip(copies.as_array().into_iter().flatten()) {
            copy.bpm = tree.clone();
        }
    }
    jobs
}
