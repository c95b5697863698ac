//! `env.bosh.agent.settings.preRenderOps`: operations of an instance group on what the conversion made of it.
//! `instanceGroup` changes the resolved document, before templates are rendered; `bpm` changes the rendered bpm.yml of
//! the group's jobs, in the document `{configs: {<job>: <bpm.yml>}}`. Both follow the rules of the ops stage.

use super::places;
use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::resolved_document;
use crate::stage::{JobFiles, Named, Reply, ResolvedGroup, Stage, StageError, Stages};
use crate::yaml::{self, Dialect, Document};
use boson_document::{Map, Pointer, Tree};
use std::slice;

/// Path of the operations in an instance group.
const SETTINGS_PATH: [&str; 5] = ["env", "bosh", "agent", "settings", "preRenderOps"];
/// Member of the changed document with the rendered files, by job.
const CONFIGS_KEY: &str = "configs";

/// What operations change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    InstanceGroup,
    Bpm,
}

/// The operations of one group on one part.
struct Operations<'a> {
    group: &'a str,
    part: Part,
    list: &'a Tree,
    /// Name of the manifest in diagnostics.
    manifest: &'a str,
}

/// Applies the operations on the resolved documents.
///
/// # Errors
/// The operations that fail, of all groups, with their places in the manifest.
pub fn to_groups(stages: &dyn Stages, groups: &mut [ResolvedGroup], manifest: Named<'_>) -> Reply<()> {
    let (mut reported, mut errors) = (Vec::new(), Vec::new());
    for group in groups {
        let operations = Operations::of(&group.name, &group.document, Part::InstanceGroup, manifest.name);
        let Some(operations) = operations else { continue };
        match operations.apply(stages, &group.document) {
            Ok((document, notes)) => {
                group.document = document;
                reported.extend(notes);
            }
            Err(StageError::Input(found)) => errors.extend(found),
            Err(error) => return Err(error),
        }
    }
    in_manifest(&mut reported, manifest);
    in_manifest(&mut errors, manifest);
    if errors.is_empty() {
        return Ok(((), reported));
    }
    errors.extend(reported);
    Err(StageError::Input(errors))
}

/// Applies the operations on the rendered bpm.yml of a group's jobs. `documents`: the rendered files, which diagnostics
/// name: one that changes is replaced. Places in the manifest are those of [`in_manifest`], which leads them to the
/// group.
///
/// # Errors
/// The operations that fail.
pub fn to_bpm(
    stages: &dyn Stages,
    group: &ResolvedGroup,
    jobs: &mut [JobFiles],
    documents: &mut Vec<Document>,
    manifest: &str,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let Some(operations) = Operations::of(&group.name, &group.document, Part::Bpm, manifest) else {
        return Ok(Vec::new());
    };
    let rendered: Vec<Vec<Tree>> = jobs
        .iter()
        .map(|job| job.bpm.iter().map(|copy| copy.bpm.clone()).collect())
        .collect();
    let most = rendered.iter().map(Vec::len).max().unwrap_or(0);
    let mut reported = Vec::new();
    for nth in 0..most.max(1) {
        // Jobs whose instances agree have fewer files than others: their last one represents all.
        let pairs = jobs.iter().zip(&rendered);
        let configs = pairs.filter_map(|(job, copies)| {
            let copy = copies.get(nth).or(copies.last())?;
            Some((job.job.clone(), copy.clone()))
        });
        let document = Tree::object().with(CONFIGS_KEY, configs.collect::<Tree>());
        let (changed, notes) = operations.apply(stages, &document)?;
        if nth == 0 {
            reported.extend(notes);
            reported.extend(operations.without_effect(&changed, jobs));
        }
        for job in jobs.iter_mut() {
            let now = changed.get(CONFIGS_KEY).and_then(|configs| configs.get(&job.job));
            let (Some(copy), Some(now)) = (job.bpm.get_mut(nth), now) else {
                continue;
            };
            if *now == copy.bpm {
                continue;
            }
            let text = yaml::write_manifest(slice::from_ref(now));
            let file = yaml::read_as(Dialect::Bpm, &copy.document_name, &text)?;
            copy.bpm = file.tree.clone();
            documents.retain(|one| one.name != file.name);
            documents.push(file);
        }
    }
    Ok(reported)
}

/// The files of all jobs on one pod, changed by the group's operations. `resolved`: the document of the group;
/// `configs`: the files, by job. Nothing where the group has no operations.
///
/// # Errors
/// The operations that fail.
pub fn in_pod(
    stages: &dyn Stages,
    group: &str,
    resolved: &Tree,
    configs: &Tree,
    manifest: &str,
) -> Result<Option<Tree>, Vec<Diagnostic>> {
    let Some(operations) = Operations::of(group, resolved, Part::Bpm, manifest) else {
        return Ok(None);
    };
    let document = Tree::object().with(CONFIGS_KEY, configs.clone());
    let (changed, _) = operations.apply(stages, &document)?;
    Ok(Some(changed.get(CONFIGS_KEY).cloned().unwrap_or_default()))
}

/// The stages of a step of the conversion or of a pod: this one, and the ops stage if the step also applies operations.
pub fn stages(stage: Stage, with_operations: bool) -> Vec<Stage> {
    let ops = with_operations.then_some(Stage::Ops);
    ops.into_iter().chain([stage]).collect()
}

/// Whether a group of the manifest has operations on its resolved document.
pub fn are_on_groups(manifest: &Tree) -> bool {
    let mut groups = manifest.items("instance_groups").iter();
    groups.any(|group| of_group(group, Part::InstanceGroup).is_some())
}

/// Whether pods of this resolved document apply operations.
pub fn are_in_pod(document: &Tree) -> bool {
    list(document, Part::Bpm).is_some()
}

/// Leads diagnostics to the place of their group or job in the manifest: until then, these are named
/// (`/instance_groups/name=web/jobs/name=app/..`), since a pod that works on one group does not know its position.
pub fn in_manifest(diagnostics: &mut [Diagnostic], manifest: Named<'_>) {
    for one in diagnostics {
        let place = &mut one.place;
        if place.document.as_deref() != Some(manifest.name) {
            continue;
        }
        let Some(found) = place.pointer.as_deref().and_then(Pointer::parse) else {
            continue;
        };
        let [groups, name, below @ ..] = found.tokens() else {
            continue;
        };
        if let Some(name) = name.strip_prefix("name=").filter(|_| groups == "instance_groups") {
            let group = places::of_group(manifest.tree, name);
            let job = match below {
                [jobs, job, below @ ..] if jobs == "jobs" => job.strip_prefix("name=").map(|job| (job, below)),
                _ => None,
            };
            place.pointer = match job {
                Some((job, below)) => places::of_job(manifest.tree, name, job).map(|job| job.join(below).to_string()),
                None => Pointer::parse(&group).map(|group| group.join(below).to_string()),
            };
        }
    }
}

fn list(document: &Tree, part: Part) -> Option<&Tree> {
    of_group(resolved_document::group(document), part)
}

fn of_group(group: &Tree, part: Part) -> Option<&Tree> {
    group
        .find(&SETTINGS_PATH)?
        .get(part.name())
        .filter(|list| !list.is_null())
}

// === impl Part ===

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::InstanceGroup => "instanceGroup",
            Self::Bpm => "bpm",
        }
    }
}

// === impl Operations ===

impl<'a> Operations<'a> {
    /// Those in the resolved document of a group, if it has any.
    fn of(group: &'a str, document: &'a Tree, part: Part, manifest: &'a str) -> Option<Self> {
        let list = list(document, part)?;
        Some(Self {
            group,
            part,
            list,
            manifest,
        })
    }

    fn apply(&self, stages: &dyn Stages, document: &Tree) -> Reply<Tree> {
        let name = format!("preRenderOps.{} of instance group '{}'", self.part.name(), self.group);
        let changed = match self.part {
            Part::InstanceGroup => format!("the resolved document of instance group '{}'", self.group),
            Part::Bpm => format!("the bpm.yml of the jobs of instance group '{}'", self.group),
        };
        let (document, file) = (Named::new(&changed, document), Named::new(&name, self.list));
        match stages.apply(document, slice::from_ref(&file)) {
            Ok((applied, reported)) => Ok((applied.document, self.placed(reported, &name))),
            Err(StageError::Input(reported)) => Err(StageError::Input(self.placed(reported, &name))),
            Err(StageError::Plugin(broken)) => Err(StageError::Input(self.placed(vec![broken], &name))),
        }
    }

    fn at(&self) -> Pointer {
        let group = Pointer::root().at("instance_groups").at(format!("name={}", self.group));
        SETTINGS_PATH
            .iter()
            .fold(group, |place, key| place.at(key))
            .at(self.part.name())
    }

    /// The operations are a part of the manifest.
    fn placed(&self, mut reported: Vec<Diagnostic>, name: &str) -> Vec<Diagnostic> {
        for one in &mut reported {
            let below = match one.place.document.as_deref() {
                Some(document) if document == name => one.place.pointer.as_deref().and_then(Pointer::parse),
                _ => None,
            };
            let below = below.unwrap_or_else(Pointer::root);
            one.place.document = Some(self.manifest.to_string());
            one.place.pointer = Some(self.at().join(below.tokens()).to_string());
        }
        reported
    }

    /// What operations on bpm.yml cannot do: a job gets its file, or loses it, by its release.
    fn without_effect(&self, changed: &Tree, jobs: &[JobFiles]) -> Vec<Diagnostic> {
        let configs = changed.get(CONFIGS_KEY).and_then(Tree::as_object);
        let configured: Vec<&String> = configs.into_iter().flat_map(Map::keys).collect();
        let with_file = jobs.iter().filter(|job| !job.bpm.is_empty());
        let with_file: Vec<&String> = with_file.map(|job| &job.job).collect();
        let added = configured.iter().filter(|job| !with_file.contains(job));
        let removed = with_file.iter().filter(|job| !configured.contains(job));
        let jobs = added.chain(removed).map(|job| format!("/{CONFIGS_KEY}/{job}"));
        let members = changed.as_object().into_iter().flat_map(Map::keys);
        let members = members.filter(|key| *key != CONFIGS_KEY).map(|key| format!("/{key}"));
        let warn = |name: String| {
            let text = format!(
                "The operations of preRenderOps.bpm have no effect on '{name}': they change the bpm.yml of the group's jobs, '/{CONFIGS_KEY}/<job>'"
            );
            Diagnostic::warning(codes::CONVERT_PRE_RENDER_OPS, text)
                .in_document(self.manifest)
                .at(self.at())
                .help("describe the processes of a job without bpm.yml in its property quarks.bpm")
        };
        members.chain(jobs).map(warn).collect()
    }
}
