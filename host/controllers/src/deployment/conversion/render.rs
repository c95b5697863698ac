//! The step that renders templates. A group that cannot be rendered is held back; the others continue.

use super::work::{CONVERSION_THREADS, Gathered, Rendered, RenderedGroup, Work, series};
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::jobs;
use crate::deployment::manifest::name_error;
use crate::deployment::plan::documents::{Document, Stored};
use crate::deployment::plan::pods::revisions::{Indexes, Revisions};
use crate::deployment::reconcile::Reconcile;
use boson_api::deployment::ConversionMode;
use boson_cluster::objects::versioned::Series;
use boson_document::{Report, Tree};
use boson_manifest::group::InstanceGroup;
use boson_pipeline::convert::bpm_document::{self, BpmDocument};
use boson_pipeline::convert::job_sources::{self, Remaining};
use boson_pipeline::convert::{Origin, stored_documents};
use boson_pipeline::stage::ResolvedGroup;
use boson_pipeline::{Stage, StageError, plain};

/// A document for each group; none if the group cannot be rendered.
type Each = Vec<Option<Stored>>;

/// The rendered BPM configuration of every group. All other templates are rendered, too, to find errors early.
pub async fn render(run: &Reconcile<'_>, work: &mut Work, gathered: Vec<Gathered>) -> Result<Rendered, DeployError> {
    let names: Vec<String> = gathered.iter().map(|one| one.group.name.clone()).collect();
    let series = series(&names, &work.manifest, |group| run.ownership().bpm(group))?;
    let stored = match run.mode {
        ConversionMode::InProcess => here(run, work, &gathered, &series).await?,
        ConversionMode::Jobs => in_pods(run, work, &gathered, &series).await?,
    };
    // The versions that pods of a group use are retained while the group is held back.
    work.series.extend(series.iter().map(|series| series.name.clone()));
    let (mut rendered, mut remaining) = (Rendered::default(), Remaining::default());
    for (gathered, one) in gathered.into_iter().zip(stored) {
        let Some(one) = one else { continue };
        let name = &gathered.group.name;
        let document = bpm_document::read(&work.read(&one, stored_documents::BPM)?);
        let BpmDocument { jobs, files, instances } = document.map_err(|error| work.manifest.error(error))?;
        let indexes = Indexes {
            spread: run.deployment.spread,
            first_zone: first_zone(&work.manifest.tree, name),
        };
        let revisions = |digests| Revisions::of(&one.secret.metadata, &work.existing, digests, &indexes);
        let revisions = instances.and_then(revisions);
        let mut annotations = work.annotations(Some(name));
        annotations.extend(revisions.iter().flat_map(Revisions::annotations));
        work.stamp(run, &one, &annotations).await?;
        let sources = one.find(job_sources::KEY);
        if let Some(packed) = sources.and_then(|stored| job_sources::pack(stored, &mut remaining)) {
            let tags = plain::tags(&work.manifest.tree, Some(name));
            let sources = &mut rendered.sources;
            let added = sources.add(run.ownership(), name, &gathered.secret, packed, tags);
            added.map_err(|error| work.manifest.error(name_error(&error)))?;
        }
        for file in files {
            work.manifest.sources_mut().add_document(file, true);
        }
        rendered.revisions.extend(revisions.map(|one| (name.clone(), one)));
        rendered.groups.push(RenderedGroup { gathered, jobs });
    }
    Ok(rendered)
}

fn first_zone(manifest: &Tree, group: &str) -> Option<String> {
    let found = InstanceGroup::all(manifest).find(|one| one.name == group)?;
    found.azs(&mut Report::default()).into_iter().next()
}

async fn here(
    run: &Reconcile<'_>,
    work: &mut Work,
    gathered: &[Gathered],
    series: &[Series],
) -> Result<Each, DeployError> {
    let releases = inputs::releases(run, &work.manifest).await?;
    let resolved: Vec<ResolvedGroup> = gathered.iter().map(|one| one.group.clone()).collect();
    let rendered = work.call(move |stages, manifest| {
        let (origin, filter, threads) = (
            Origin::Manifest(manifest.named()),
            manifest.filter(),
            CONVERSION_THREADS,
        );
        let mut reported = Vec::new();
        let rendered = stored_documents::rendered(stages, origin, &resolved, &releases, filter, threads, &mut reported);
        Ok((rendered.map_err(StageError::Input)?, reported))
    });
    let rendered = rendered.await?;
    let (mut documents, mut is_rendered) = (Vec::new(), Vec::new());
    for ((one, series), rendered) in gathered.iter().zip(series).zip(rendered) {
        let name = &one.group.name;
        is_rendered.push(rendered.is_ok());
        match rendered {
            Ok(texts) => documents.push(Document {
                series,
                texts,
                annotations: work.annotations(Some(name)),
            }),
            Err(errors) => work.held_back.add([name.clone()], work.manifest.problem(errors)),
        }
    }
    let mut stored = work.store(run, documents).await?.into_iter();
    let each = is_rendered.into_iter();
    let each = each.map(|is_rendered| is_rendered.then(|| stored.next()).flatten());
    Ok(each.collect())
}

async fn in_pods(
    run: &Reconcile<'_>,
    work: &mut Work,
    gathered: &[Gathered],
    series: &[Series],
) -> Result<Each, DeployError> {
    let releases = inputs::images(run, &work.manifest)?;
    let groups = gathered.iter().zip(series).map(|(one, series)| jobs::Rendering {
        name: &one.group.name,
        series,
        resolved: &one.secret,
    });
    let groups: Vec<_> = groups.collect();
    let site = work.site(run, Stage::Render).await?;
    let job = jobs::rendering(&site, &groups, &releases)?;
    let outputs = jobs::output_by_group(run, &job, series, &mut work.manifest).await?;
    let failed = gathered
        .iter()
        .zip(&outputs.stored)
        .filter(|(_, stored)| stored.is_none());
    if let Some(problem) = outputs.problem {
        work.held_back
            .add(failed.map(|(one, _)| one.group.name.clone()), problem);
    }
    Ok(outputs.stored)
}
