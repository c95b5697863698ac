//! Reads the documents of a deployment. Each is read once, however often it is referred to. Their total size is
//! limited, in bytes and by the memory budget of the namespace.

use super::digests::{self, Source};
use super::memory::reserve_memory;
use super::references::{Found, fetch, given, read_object, references, source};
use super::sizes::{self, Size};
use crate::deployment::error::DeployError;
use crate::deployment::manifest::blocking;
use crate::deployment::reconcile::Reconcile;
use boson_api::ReferenceType;
use boson_budget::{Class, Share};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::yaml::{self, Document};
use std::sync::Arc;

/// The documents of a deployment, as far as they could be read.
#[derive(Default)]
pub struct Documents {
    /// The manifest first, the others in the order of the specification; one that is named twice is in the list twice.
    pub read: Vec<Arc<Document>>,
    /// What is wrong with the others.
    pub errors: Vec<Diagnostic>,
    /// For the positions of diagnostics.
    pub sources: Sources,
    /// What each reference of the specification names, and its state. Without errors, these are the states of `read`.
    pub found: Vec<Source>,
    /// The memory that the conversion may use for them; none if there is nothing to convert.
    pub share: Option<Share>,
    /// The values in those of them that are Secrets.
    pub secrets: Secrets,
}

/// The documents that the references name.
#[derive(Default)]
struct Fetched {
    /// Each once.
    found: Vec<Result<Found, Diagnostic>>,
    /// How many references name each.
    times: Vec<usize>,
    /// By reference: the index of its document.
    order: Vec<usize>,
    /// By reference: what it names, and its state.
    sources: Vec<Source>,
    /// Set when they are too large together; later documents are not kept.
    size_error: Option<Diagnostic>,
}

/// Reads all documents, and notes their digests.
pub async fn read(run: &Reconcile<'_>) -> Result<Documents, DeployError> {
    let read = read_all(run).await?;
    run.progress.uses(read.found.iter().map(Source::input));
    let mut all = read.found.clone();
    all.extend(given(&run.context.cluster, run.namespace, &run.object.spec).await?);
    run.progress.known().inputs_digest = Some(digests::digest(&all));
    Ok(read)
}

/// Reads the documents that exist, and reports what is wrong with the others.
async fn read_all(run: &Reconcile<'_>) -> Result<Documents, DeployError> {
    let budget = &run.context.conversion.budget;
    let most = sizes::MAX_DOCUMENT_BYTES.min(budget.holder_limit(Class::Reading));
    let reading = reserve_memory(run, Class::Reading, most).await?;
    let fetched = fetch_all(run, most).await?;
    let is_paused = run.object.spec.paused;
    let (fetched, weight) = blocking(move || {
        let found = fetched.found.iter().flatten();
        let weight = sizes::of_conversion(found.map(|found| found.bytes.as_slice()), is_paused);
        (fetched, weight)
    })
    .await?;
    let most = budget.holder_limit(Class::Documents);
    let heavy = (weight > most).then(|| sizes::memory_error(&fetched.sizes(), weight, most));
    if let Some(error) = fetched.size_error.clone().or(heavy) {
        return Ok(Documents {
            errors: vec![error],
            found: fetched.sources,
            ..Documents::default()
        });
    }
    // A holder of the class Documents never waits for the class Reading, so this wait ends.
    let share = reserve_memory(run, Class::Documents, weight).await?;
    let read = blocking(move || parse(fetched, share)).await;
    drop(reading);
    read
}

async fn fetch_all(run: &Reconcile<'_>, most: u64) -> Result<Fetched, DeployError> {
    let all: Vec<_> = references(&run.object.spec).collect();
    let mut fetched = Fetched::default();
    let same = |one: usize, other: usize| {
        let of = |nth: usize| all.get(nth).map(|one| (one.to, one.key));
        of(one) == of(other)
    };
    for (nth, reference) in all.iter().enumerate() {
        if let Some(first) = (0..nth).find(|earlier| same(*earlier, nth)) {
            let (order, source) = (fetched.order.get(first).copied(), fetched.sources.get(first).cloned());
            fetched.order.extend(order);
            fetched.sources.extend(source);
            continue;
        }
        let to = reference.to;
        let found = match to.kind {
            // It would be dropped anyway: a server may answer any number of addresses.
            ReferenceType::Url if fetched.size_error.is_some() => None,
            ReferenceType::Url => Some(fetch(&*run.context.conversion.web, &to.name).await),
            _ => Some(read_object(&run.context.cluster, run.namespace, to, reference.key).await?),
        };
        let digest = found
            .as_ref()
            .and_then(|found| Some(found.as_ref().ok()?.digest.clone()));
        fetched.sources.push(source(reference, digest));
        fetched.order.push(fetched.found.len());
        if let Some(found) = found
            && fetched.size_error.is_none()
        {
            let times = (nth..all.len()).filter(|later| same(nth, *later)).count();
            let place = |error: Diagnostic| error.in_document("boshdeployment").at(&reference.pointer);
            fetched.found.push(found.map_err(place));
            fetched.times.push(times);
            fetched.size_error = sizes::size_error(&fetched.sizes(), most);
        }
    }
    Ok(fetched)
}

// === impl Fetched ===

impl Fetched {
    fn sizes(&self) -> Vec<Size<'_>> {
        let both = self.found.iter().zip(&self.times);
        let sizes = both.filter_map(|(found, times)| {
            let found = found.as_ref().ok()?;
            Some(Size {
                name: &found.name,
                bytes: found.bytes.len() as u64,
                times: *times as u64,
            })
        });
        sizes.collect()
    }
}

fn parse(fetched: Fetched, share: Share) -> Documents {
    let (mut sources, mut errors, mut secrets) = (Sources::default(), Vec::new(), Secrets::default());
    let mut documents: Vec<Option<Arc<Document>>> = Vec::new();
    for found in fetched.found {
        let document = found.and_then(|found| document(&found, &mut sources, &mut secrets));
        documents.push(document.map_err(|error| errors.push(error)).ok());
    }
    let read = fetched
        .order
        .iter()
        .filter_map(|at| documents.get(*at).cloned().flatten());
    Documents {
        read: read.collect(),
        errors,
        sources,
        found: fetched.sources,
        share: Some(share),
        secrets,
    }
}

fn document(found: &Found, sources: &mut Sources, secrets: &mut Secrets) -> Result<Arc<Document>, Diagnostic> {
    let document = Arc::new(yaml::read_bytes(&found.name, &found.bytes)?);
    sources.add_document(document.clone(), found.secret);
    if found.secret {
        secrets.add(Secrets::of_properties(&document.tree));
    }
    Ok(document)
}
