//! Components of plugins: pulled into the cache, and read from it. The digest of the image fixes every byte: that of
//! the manifest, which is checked, contains that of the component, which is checked, too.

use crate::artifact::Artifact;
use crate::cache::{Cache, Key, Reservation, Reserving, cache_error};
use crate::client::{Repository, tag_or_digest, within_timeout};
use crate::codes;
use crate::credentials::Credentials;
use crate::error::Error;
use crate::registry::Registry;
use boson_oci::{Descriptor, Digest, Digesting, Place, digest, parse_digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::MAX_COMPONENT_BYTES;
use futures::FutureExt;
use oci_spec::distribution::Reference;
use reqwest::Response;
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, BufWriter, Write};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

/// How long the pull of a component may take, all requests included: other plugins wait for it.
const PULL_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// An image with a component, for a namespace: what one namespace has pulled gives no access to another one.
#[derive(Clone, Copy, Debug)]
pub struct Owned<'o> {
    /// The namespace, or another name that separates what is pulled.
    pub namespace: &'o str,
    /// Reference of the image.
    pub image: &'o str,
}

// === impl Registry ===

impl Registry {
    /// The digest of the manifest that the tag of an image refers to now.
    ///
    /// # Errors
    /// Codes `plugin-image-*`: there is no such image, no access, no answer; or it does not contain a component.
    pub async fn pin(&self, image: &str, credentials: Option<&Credentials>) -> Result<Digest, Diagnostic> {
        self.within_pull_timeout(image, async {
            let reference = component_reference(self, image)?;
            let asked = within_timeout(async {
                let repository = self.client.repository(&reference, credentials).await?;
                let body = repository.manifest(tag_or_digest(&reference)).await?;
                // A tag of something else is not recorded.
                Artifact::read(&body).map(|_| digest(&body))
            });
            asked.await.map_err(|error| error.explain_component(image))
        })
        .await
    }

    /// Pulls the component of an image with a digest into the cache, unless it is there; gives the component's own
    /// digest.
    ///
    /// # Guarantees
    /// It ends within two minutes, and writes at most [`MAX_COMPONENT_BYTES`] bytes. An image that this namespace has
    /// in the cache is not requested again.
    ///
    /// # Errors
    /// As [`Self::pin`]; the disk.
    pub async fn pull_component(
        &self,
        wanted: Owned<'_>,
        credentials: Option<&Credentials>,
    ) -> Result<Digest, Diagnostic> {
        self.within_pull_timeout(wanted.image, async {
            let reference = component_reference(self, wanted.image)?;
            match self.cached_digest(wanted, &reference).await? {
                Some(digest) => Ok(digest),
                None => self.pull(wanted, &reference, credentials).await,
            }
        })
        .await
    }

    /// The digest of the component of an image with a digest; `None` if this namespace does not have it in the cache.
    ///
    /// # Errors
    /// The reference is invalid or its registry not allowed; the disk.
    pub async fn component_digest(&self, wanted: Owned<'_>) -> Result<Option<Digest>, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        self.cached_digest(wanted, &reference).await
    }

    /// The component of an image with a digest; `None` as [`Self::component_digest`].
    ///
    /// # Errors
    /// As [`Self::component_digest`].
    pub async fn component(&self, wanted: Owned<'_>) -> Result<Option<Vec<u8>>, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let Some(layer) = self.cached_layer(wanted, &reference).await? else {
            return Ok(None);
        };
        let key = Keys::new(wanted.namespace, &reference).of(layer.digest().as_ref());
        self.in_cache(move |cache| {
            let found = cache.read(&key, MAX_COMPONENT_BYTES as u64)?;
            Ok(found.filter(|bytes| digest(bytes) == *layer.digest()))
        })
        .await
    }

    /// The digest of the component, if all of it is cached and undamaged.
    async fn cached_digest(&self, wanted: Owned<'_>, reference: &Reference) -> Result<Option<Digest>, Diagnostic> {
        let Some(layer) = self.cached_layer(wanted, reference).await? else {
            return Ok(None);
        };
        let key = Keys::new(wanted.namespace, reference).of(layer.digest().as_ref());
        let found = self.in_cache(move |cache| cache.digest(&key)).await?;
        Ok(found.filter(|found| found == layer.digest()))
    }

    /// The result of requests, which end in time.
    pub(crate) async fn within_pull_timeout<T>(
        &self,
        image: &str,
        work: impl Future<Output = Result<T, Diagnostic>>,
    ) -> Result<T, Diagnostic> {
        // Libraries parse the registry's answers, and a panic there must not end the operator.
        let limit = PULL_TIMEOUT.min(self.image_timeout);
        match timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::Odd("returned a response that cannot be read").explain_component(image)),
            Err(_) => Err(Error::Odd("did not send all of it in time").explain_component(image)),
        }
    }

    /// The layer with the component, if the manifests that lead to it are cached and undamaged.
    async fn cached_layer(&self, wanted: Owned<'_>, reference: &Reference) -> Result<Option<Descriptor>, Diagnostic> {
        let Some(pinned) = reference.digest().and_then(parse_digest) else {
            return Ok(None);
        };
        let keys = Keys::new(wanted.namespace, reference);
        self.in_cache(move |cache| {
            let mut next = pinned;
            // An index, and the manifest that it leads to.
            for _ in 0..2 {
                match cache
                    .read(&keys.of(next.as_ref()), MAX_MANIFEST_BYTES)?
                    .filter(|body| digest(body) == next)
                    .map(|body| Artifact::read(&body))
                {
                    Some(Ok(Artifact::Index(entry))) => next = entry.digest().clone(),
                    Some(Ok(Artifact::Component(layer))) => return Ok(Some(layer)),
                    Some(Err(_)) | None => return Ok(None),
                }
            }
            Ok(None)
        })
        .await
    }

    async fn pull(
        &self,
        wanted: Owned<'_>,
        reference: &Reference,
        credentials: Option<&Credentials>,
    ) -> Result<Digest, Diagnostic> {
        let explain = |error: Error| error.explain_component(wanted.image);
        let asked = within_timeout(async {
            let repository = self.client.repository(reference, credentials).await?;
            let (manifests, layer) = manifests(&repository, tag_or_digest(reference)).await?;
            Ok((repository, manifests, layer))
        });
        let (repository, manifests, layer) = asked.await.map_err(explain)?;
        let (place, reservation) = self.in_cache(|cache| Ok((cache.place()?, cache.reserve()))).await?;
        let answer = within_timeout(repository.blob(layer.digest())).await.map_err(explain)?;
        let mut draft = Draft { place, reservation };
        draft.receive(wanted.image, answer, &layer).await?;
        let (keys, found) = (Keys::new(wanted.namespace, reference), layer.digest().clone());
        self.in_cache(move |cache| {
            draft.keep(cache, &keys, &found, &manifests)?;
            Ok(found)
        })
        .await
    }
}

/// File of a component that is being received.
const COMPONENT_FILE: &str = "component";

/// The keys of the parts of a component that a namespace has pulled. They are used without asking the registry again,
/// so that an operator can restart while the registry is away; therefore each namespace has its own.
pub(crate) struct Keys(String);

// === impl Keys ===

impl Keys {
    pub(crate) fn new(namespace: &str, reference: &Reference) -> Self {
        let (registry, repository) = (reference.resolve_registry(), reference.repository());
        Self(format!("component\n{namespace}\n{registry}\n{repository}"))
    }

    pub(crate) fn of(&self, digest: &str) -> Key {
        Key::of(&format!("{}\n{digest}", self.0))
    }
}

/// A component that is being received. Its file is deleted with this value.
struct Draft {
    place: Place,
    reservation: Reservation,
}

// === impl Draft ===

impl Draft {
    /// Moves component and manifests to the cache. The manifests last: one without its component would be useless.
    fn keep(&self, cache: &Cache, keys: &Keys, component: &Digest, manifests: &[Vec<u8>]) -> io::Result<()> {
        let keep = |digest: &Digest, file: &Path| cache.keep(&keys.of(digest.as_ref()), file);
        keep(component, &self.place.path().join(COMPONENT_FILE))?;
        let file = self.place.path().join("manifest");
        for body in manifests {
            fs::write(&file, body)?;
            keep(&digest(body), &file)?;
            fs::remove_file(&file)?;
        }
        Ok(())
    }

    /// Writes the component to its file, and checks size and digest.
    async fn receive(&mut self, image: &str, mut answer: Response, layer: &Descriptor) -> Result<(), Diagnostic> {
        const WRONG_DIGEST: Error = Error::Odd("returned a component that does not match its digest");
        let explain = |error: Error| error.explain_component(image);
        let file = File::create(self.place.path().join(COMPONENT_FILE)).map_err(|error| cache_error(&error))?;
        let mut out = Digesting::new(BufWriter::new(Reserving::new(file, &mut self.reservation)));
        let mut written = 0;
        loop {
            let part = answer.chunk().await.map_err(|error| explain(error.into()))?;
            let Some(part) = part else { break };
            written += part.len() as u64;
            if written > layer.size() {
                return Err(explain(WRONG_DIGEST));
            }
            out.write_all(&part).map_err(|error| cache_error(&error))?;
        }
        out.flush().map_err(|error| cache_error(&error))?;
        if out.finish().digest == *layer.digest() {
            Ok(())
        } else {
            Err(explain(WRONG_DIGEST))
        }
    }
}

/// The manifests that lead to the component, that of the image last, and the component's layer.
async fn manifests(repository: &Repository<'_>, tag_or_digest: &str) -> Result<(Vec<Vec<u8>>, Descriptor), Error> {
    let mut bodies = vec![repository.manifest(tag_or_digest).await?];
    let mut read = Artifact::read(bodies.last().map(Vec::as_slice).unwrap_or_default())?;
    if let Artifact::Index(entry) = &read {
        let body = repository.manifest(entry.digest().as_ref()).await?;
        read = Artifact::read(&body)?;
        bodies.push(body);
    }
    match read {
        Artifact::Component(layer) if layer.size() <= MAX_COMPONENT_BYTES as u64 => Ok((bodies, layer)),
        Artifact::Component(_) => Err(Error::Format(
            "has a component of more than 96 MiB",
            "strip it of debugging information",
        )),
        Artifact::Index(_) => Err(Error::Format("is an index of indexes", "name the image itself")),
    }
}

/// The reference of an image, if it is valid and its registry is allowed.
pub(crate) fn component_reference(registry: &Registry, image: &str) -> Result<Reference, Diagnostic> {
    let reference: Reference = image.parse().map_err(|_| {
        Diagnostic::error(
            codes::PLUGIN_IMAGE_REFERENCE,
            format!("'{image}' is not a valid reference of an image"),
        )
        .help("a reference is HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]")
    })?;
    if reference.digest().is_some_and(|digest| parse_digest(digest).is_none()) {
        let message = format!("the digest in '{image}' is not of the form sha256:DIGEST");
        return Err(Diagnostic::error(codes::PLUGIN_IMAGE_REFERENCE, message)
            .help("use the digest that `host plugin push` prints"));
    }
    if registry.allows(&reference) {
        Ok(reference)
    } else {
        Err(not_allowed(&reference, image))
    }
}

fn not_allowed(reference: &Reference, image: &str) -> Diagnostic {
    let registry = reference.registry();
    let message = format!("image '{image}' was not pulled: the operator may not read from registry '{registry}'");
    Diagnostic::error(codes::PLUGIN_IMAGE_NOT_ALLOWED, message)
        .help("push it to a registry that --registry-allowed lists, or add the registry to that list")
}
