//! What becomes of instance groups: their documents, and the objects of the deployment.

use super::flow::{Flow, unnamed};
use super::manifest::{Manifest, Rules, blocking};
use super::secrets;
use super::stop::Stop;
use super::versions::{Content, Series};
use boson_document::{Tree, json};
use boson_pipeline::bundle::Bundle;
use boson_pipeline::convert::{bpm_document, rendering, steps};
use boson_pipeline::release::Release;
use boson_pipeline::stage::{Deployment, JobFiles, Reply, ResolvedGroup, Variable};
use boson_pipeline::{Diagnostic, StageError, Stages, plain};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;
use std::collections::BTreeSet;

/// Threads that render the templates of one deployment.
const THREADS: usize = 2;

/// A group with all that was found out about it.
pub(super) struct Gathered {
    group: ResolvedGroup,
    jobs: Vec<JobFiles>,
}

// === impl Flow ===

impl Flow<'_> {
    /// Keeps resolved document and rendered bpm of each group; tells the name of the Secret of each resolved document, and those of all series.
    pub(super) async fn keep_groups(
        &self,
        manifest: &Manifest,
        gathered: Vec<Gathered>,
        existing: &[Secret],
    ) -> Result<(Vec<Gathered>, Vec<String>, BTreeSet<String>), Stop> {
        // All that is too large is told before anything of any group is written.
        let (mut kept, mut errors) = (Vec::new(), Vec::new());
        for one in &gathered {
            match self.documents(one) {
                Ok(documents) => kept.push(documents),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(manifest.fail(errors));
        }
        let (mut names, mut all) = (Vec::new(), BTreeSet::new());
        for [(resolved, content), (bpm, rendered)] in kept {
            let version = self.version(&resolved, existing, content).await?;
            names.push(format!("{}-v{version}", resolved.name));
            self.version(&bpm, existing, rendered).await?;
            all.extend([resolved.name, bpm.name]);
        }
        Ok((gathered, names, all))
    }

    /// What is kept of a group: its resolved document, its rendered bpm.
    fn documents(&self, gathered: &Gathered) -> Result<[(Series, Content); 2], Diagnostic> {
        let group = &gathered.group.name;
        let resolved = self.whose().resolved(group).map_err(|error| unnamed(&error))?;
        let bpm = self.whose().bpm(group).map_err(|error| unnamed(&error))?;
        let secret = plain::resolved::resolved_secret(&self.names, &gathered.group, plain::FIRST_VERSION);
        let content = content_of(&secret.map_err(|error| *error)?);
        let rendered = secrets::content(&bpm.name, secrets::BPM, &bpm_document::write(&gathered.jobs))?;
        Ok([(resolved, content), (bpm, rendered)])
    }

    /// The objects of the deployment, ours by label and owner.
    pub(super) async fn convert(
        &self,
        stages: Rules,
        mut manifest: Manifest,
        variables: Vec<Variable>,
        gathered: Vec<Gathered>,
        resolved: Vec<String>,
    ) -> Result<(Manifest, Vec<Value>), Stop> {
        let deployment = self.deployment.clone();
        let (manifest, result) = blocking(move || {
            let result = convert_all(&*stages, &mut manifest, &deployment, &variables, &gathered, &resolved);
            (manifest, result)
        })
        .await?;
        let objects = result.map_err(|errors| manifest.fail(errors))?;
        let objects = self.own(objects, &manifest)?;
        Ok((manifest, objects))
    }
}

/// Resolves links and renders the bpm templates.
pub(super) async fn gather(
    stages: Rules,
    mut manifest: Manifest,
    deployment: Deployment,
    releases: Vec<Release>,
) -> Result<(Manifest, Vec<Gathered>), Stop> {
    blocking(move || {
        for job in releases.iter().flat_map(|release| &release.jobs) {
            manifest.sources.add_document(job.spec.clone(), false);
            for file in &job.templates {
                manifest.sources.add_text(&file.document_name, &file.text);
            }
        }
        let groups = steps::gather(&*stages, &deployment, manifest.named(), &releases);
        let (groups, said) = groups.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(said);
        let rendered = rendering::render(&*stages, &groups, &releases, THREADS);
        let rendered = rendered.map_err(|errors| manifest.fail(errors))?;
        manifest.warnings.extend(rendered.warnings);
        for document in rendered.documents {
            manifest.sources.add_document(document, true);
        }
        let gathered = groups.into_iter().zip(rendered.files);
        let gathered = gathered.map(|(group, jobs)| Gathered { group, jobs }).collect();
        Ok((manifest, gathered))
    })
    .await?
}

fn convert_all(
    stages: &dyn Stages,
    manifest: &mut Manifest,
    deployment: &Deployment,
    variables: &[Variable],
    gathered: &[Gathered],
    resolved: &[String],
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    let (mut objects, mut errors, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |reply: Reply<Vec<Tree>>| match reply {
        Ok((some, said)) => {
            objects.extend(some);
            warnings.extend(said);
        }
        Err(error) => errors.extend(error.into_diagnostics()),
    };
    take(stages.convert_deployment(deployment, manifest.named(), variables));
    for (one, secret) in gathered.iter().zip(resolved) {
        let jobs = one.jobs.clone();
        take(steps::group_objects(
            stages,
            deployment,
            manifest.named(),
            &one.group,
            jobs,
            secret,
        ));
    }
    manifest.warnings.extend(warnings);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut bundle = Bundle::new(deployment);
    bundle.add(objects, "bpm")?;
    for nth in 0..stages.transforms() {
        let reply = stages.transform(nth, deployment, bundle.objects());
        let (edits, said) = reply.map_err(StageError::into_diagnostics)?;
        manifest.warnings.extend(said);
        bundle.edit(edits, &format!("resources {}", nth + 1))?;
    }
    Ok(bundle.into_objects())
}

/// What a Secret that the pipeline made holds.
fn content_of(secret: &Tree) -> Content {
    let secret = serde_json::from_str::<Secret>(&json::to_text(secret)).unwrap_or_default();
    Content {
        data: secret.data.unwrap_or_default(),
        annotations: secret.metadata.annotations.unwrap_or_default(),
    }
}
