//! Reads the documents of a deployment. Each is read once, however often it is referred to. Their total size is
//! limited, in bytes and by the memory budget of the namespace.

use super::digests::{self, Source};
use super::memory::hold;
use super::references::{Found, Reference, fetch, find, given, references, source};
use super::sizes::{self, Size};
use crate::conversion::Web;
use crate::deployment::manifest::blocking;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_api::deployment::{Input, InputKind};
use boson_api::{BoshDeploymentSpec, ReferenceType, ResourceReference};
use boson_budget::{Budget, Class, Share};
use boson_cluster::client::{Cluster, Error};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::yaml::{self, Document};
use std::sync::Arc;

/// The documents of a deployment, as far as they could be read.
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

/// Where documents are read from, and the memory budget for them.
struct Reader<'a> {
    cluster: &'a Cluster,
    web: &'a dyn Web,
    budget: &'a Budget,
    namespace: &'a str,
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
    let (conversion, spec) = (&run.context.conversion, &run.object.spec);
    let reader = Reader {
        cluster: &run.context.cluster,
        web: &*conversion.web,
        budget: &conversion.budget,
        namespace: run.namespace,
    };
    let read = reader.read(spec).await?;
    run.progress.uses(read.inputs());
    let mut all = read.found.clone();
    all.extend(given(reader.cluster, run.namespace, spec).await?);
    run.progress.has_read(digests::digest(&all));
    Ok(read)
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads the documents that exist, and reports what is wrong with the others.
    async fn read(&self, spec: &BoshDeploymentSpec) -> Result<Documents, Stop> {
        let most = sizes::MAX_DOCUMENT_BYTES.min(self.budget.most(Class::Reading));
        let reading = self.hold(Class::Reading, most).await?;
        let fetched = self.fetch_all(spec, most).await?;
        let is_paused = spec.paused;
        let (fetched, weight) = blocking(move || {
            let weight = fetched.weight(is_paused);
            (fetched, weight)
        })
        .await?;
        let most = self.budget.most(Class::Documents);
        let heavy = (weight > most).then(|| sizes::too_heavy(&fetched.sized(), weight, most));
        if let Some(error) = fetched.excess.clone().or(heavy) {
            return Ok(Documents {
                read: Vec::new(),
                kinds: fetched.kinds,
                errors: vec![error],
                sources: Sources::default(),
                found: fetched.sources,
                share: None,
                secrets: Secrets::default(),
            });
        }
        // A holder of the class Documents never waits for the class Reading, so this wait ends.
        let share = self.hold(Class::Documents, weight).await?;
        let read = blocking(move || parse(fetched, share)).await;
        drop(reading);
        read
    }

    async fn hold(&self, class: Class, bytes: u64) -> Result<Share, Stop> {
        hold(self.budget, class, self.namespace, bytes).await
    }

    async fn fetch_all(&self, spec: &BoshDeploymentSpec, most: u64) -> Result<Fetched, Stop> {
        let all: Vec<_> = references(spec).collect();
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
            let found = self.fetch(to, key).await?;
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

    async fn fetch(&self, reference: &ResourceReference, key: &str) -> Result<Result<Found, Diagnostic>, Error> {
        match reference.kind {
            ReferenceType::Url => Ok(fetch(self.web, &reference.name).await),
            _ => find(self.cluster, self.namespace, reference, key).await,
        }
    }
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
        documents.push(
            match found.and_then(|found| document(&found, &mut sources, &mut secrets)) {
                Ok(document) => Some(document),
                Err(error) => {
                    errors.push(error);
                    None
                }
            },
        );
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
