//! Reads the documents of a deployment. Each is read once, however often it is referred to. Their total size is
//! limited, in bytes and by the memory budget of the namespace.

use super::digests::{self, Source};
use super::memory::hold;
use super::references::{Found, Reference, fetch, find, given, references, source};
use super::sizes::{self, Size};
use crate::deployment::manifest::blocking;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::ReferenceType;
use boson_api::deployment::{Input, InputKind};
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
    /// What each reference of the specification names. Without errors, these are the kinds of `read`.
    pub kinds: Vec<InputKind>,
    /// What is wrong with the others.
    pub errors: Vec<Diagnostic>,
    /// For the positions of diagnostics.
    pub sources: Sources,
    /// The state of each document, the manifest first.
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
    /// By reference: what it is, and its state.
    kinds: Vec<InputKind>,
    sources: Vec<Source>,
    /// Set when they are too large together; later documents are not kept.
    excess: Option<Diagnostic>,
}

/// Reads all documents, and notes their digests.
pub async fn read(run: &Reconcile<'_>) -> Result<Documents, Stop> {
    let read = read_all(run).await?;
    run.progress.uses(read.inputs());
    let mut all = read.found.clone();
    all.extend(given(&run.context.cluster, run.namespace, &run.object.spec).await?);
    run.progress.known().inputs_digest = Some(digests::digest(&all));
    Ok(read)
}

/// Reads the documents that exist, and reports what is wrong with the others.
async fn read_all(run: &Reconcile<'_>) -> Result<Documents, Stop> {
    let budget = &run.context.conversion.budget;
    let most = sizes::MAX_DOCUMENT_BYTES.min(budget.most(Class::Reading));
    let reading = hold(run, Class::Reading, most).await?;
    let fetched = fetch_all(run, most).await?;
    let is_paused = run.object.spec.paused;
    let (fetched, weight) = blocking(move || {
        let weight = fetched.weight(is_paused);
        (fetched, weight)
    })
    .await?;
    let most = budget.most(Class::Documents);
    let heavy = (weight > most).then(|| sizes::too_heavy(&fetched.sized(), weight, most));
    if let Some(error) = fetched.excess.clone().or(heavy) {
        return Ok(Documents {
            kinds: fetched.kinds,
            errors: vec![error],
            found: fetched.sources,
            ..Documents::default()
        });
    }
    // A holder of the class Documents never waits for the class Reading, so this wait ends.
    let share = hold(run, Class::Documents, weight).await?;
    let read = blocking(move || parse(fetched, share)).await;
    drop(reading);
    read
}

async fn fetch_all(run: &Reconcile<'_>, most: u64) -> Result<Fetched, Stop> {
    let all: Vec<_> = references(&run.object.spec).collect();
    let mut fetched = Fetched {
        kinds: all.iter().map(|reference| reference.kind).collect(),
        ..Fetched::default()
    };
    let same = |one: usize, other: usize| {
        let of = |nth: usize| all.get(nth).map(|one| (one.to, one.key));
        of(one) == of(other)
    };
    for (nth, Reference { to, key, pointer, .. }) in all.iter().enumerate() {
        if let Some(first) = (0..nth).find(|earlier| same(*earlier, nth)) {
            fetched.again(first);
            continue;
        }
        // Do not fetch what would be dropped anyway: a server may answer any number of addresses.
        if fetched.excess.is_some() && to.kind == ReferenceType::Url {
            fetched.sources.push(source(to, None));
            fetched.order.push(fetched.found.len());
            continue;
        }
        let found = match to.kind {
            ReferenceType::Url => fetch(&*run.context.conversion.web, &to.name).await,
            _ => find(&run.context.cluster, run.namespace, to, key).await?,
        };
        let digest = found.as_ref().ok().map(|found| found.digest.clone());
        fetched.sources.push(source(to, digest));
        fetched.order.push(fetched.found.len());
        if fetched.excess.is_none() {
            let times = (nth..all.len()).filter(|later| same(nth, *later)).count();
            let found = found.map_err(|error| error.in_document("boshdeployment").at(pointer));
            fetched.keep(found, times, most);
        }
    }
    Ok(fetched)
}

// === impl Documents ===

impl Documents {
    /// The documents, as inputs of the deployment.
    pub fn inputs(&self) -> impl Iterator<Item = Input> {
        let found = self.kinds.iter().zip(&self.found);
        found.map(|(kind, source)| digests::document(*kind, source))
    }
}

// === impl Fetched ===

impl Fetched {
    /// Adds a reference to the document of an earlier one.
    fn again(&mut self, earlier: usize) {
        let (order, source) = (self.order.get(earlier).copied(), self.sources.get(earlier).cloned());
        self.order.extend(order);
        self.sources.extend(source);
    }

    /// Adds a document. Sets `excess` if all together exceed `most` bytes.
    fn keep(&mut self, found: Result<Found, Diagnostic>, times: usize, most: u64) {
        self.found.push(found);
        self.times.push(times);
        self.excess = sizes::too_large(&self.sized(), most);
    }

    fn weight(&self, is_paused: bool) -> u64 {
        let found = self.found.iter().flatten();
        sizes::of_conversion(found.map(|found| found.bytes.as_slice()), is_paused)
    }

    fn sized(&self) -> Vec<Size<'_>> {
        let both = self.found.iter().zip(&self.times);
        let sized = both.filter_map(|(found, times)| {
            let found = found.as_ref().ok()?;
            Some(Size {
                name: &found.name,
                bytes: found.bytes.len() as u64,
                times: *times as u64,
            })
        });
        sized.collect()
    }
}

/// Parses each document once.
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
        kinds: fetched.kinds,
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
        secrets.add(Secrets::suspected(&document.tree));
    }
    Ok(document)
}
