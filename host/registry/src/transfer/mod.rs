//! Whole images: from a registry to files, and from files to a registry. Blobs that a registry already has are not sent
//! again, and interrupted transfers are resumed.

mod upload;

use crate::client::{Access, Client, Repository, Settings, within_timeout};
use crate::codes;
use crate::credentials::Credentials;
use crate::error::{Error, unless_missing};
use boson_oci::{Descriptor, Digest, Image, Part, Parts, Section, digest};
use boson_pipeline::Diagnostic;
use futures::{TryStreamExt, stream};
use oci_spec::distribution::Reference;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use upload::Upload;

/// Layers of an image that are sent at once.
const MAX_CONCURRENT_LAYERS: usize = 3;
/// The largest layer of a stemcell's image, in bytes.
const MAX_LAYER_BYTES: u64 = 8 << 30;
/// Most attempts after interrupted transfers.
const MAX_ATTEMPTS: u32 = 5;
/// New tokens for a layer, because they are valid for some minutes only. Then the registry's answer stands: a registry
/// that always rejects its own tokens would otherwise be asked for ever.
const MAX_NEW_TOKENS_PER_LAYER: u32 = 3;

/// Called with numbers of bytes that were sent or received, or that did not need to be.
pub type Tell<'t> = dyn Fn(u64) + Send + Sync + 't;

#[derive(Clone, Debug)]
pub struct Transfer {
    client: Client,
    /// Repositories that have a blob, by registry and digest.
    sent: Arc<Mutex<HashMap<(String, Digest), BlobSource>>>,
}

/// A repository to mount a blob from. The lock is held while the blob is sent, so that it is sent once.
type BlobSource = Arc<tokio::sync::Mutex<Option<String>>>;

// === impl Transfer ===

impl Transfer {
    /// # Errors
    /// `image-authority`: a trusted authority is not a certificate.
    pub fn new(settings: &Settings) -> Result<Self, Diagnostic> {
        let client = Client::new(settings).map_err(|error| error.help("set --ca to files with certificates in PEM"))?;
        Ok(Self {
            client,
            sent: Arc::default(),
        })
    }

    /// The digest of the manifest that the registry has under this name.
    ///
    /// # Errors
    /// Codes `image-*`: no access, no answer.
    pub async fn present(&self, image: &str, credentials: Option<&Credentials>) -> Result<Option<String>, Diagnostic> {
        let reference = reference(image)?;
        let asked = within_timeout(async {
            let repository = self.client.repository(&reference, credentials).await?;
            repository.manifest_digest(reference.tag().unwrap_or_default()).await
        });
        // The repository may not exist yet.
        let found = unless_missing(asked.await).map_err(|error| error.explain_push(image))?;
        Ok(found.flatten())
    }

    /// Receives an image into files of the directory `place`, which is created if missing. Existing layers are not
    /// received again.
    ///
    /// # Errors
    /// Codes `image-*`: there is no such image, no access, no answer, the disk is full.
    pub async fn pull(
        &self,
        image: &str,
        credentials: Option<&Credentials>,
        place: &Path,
        tell: &Tell<'_>,
    ) -> Result<Parts, Diagnostic> {
        let reference = reference(image)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(place);
        made.map_err(|error| cache_error(place, &error))?;
        let asked = within_timeout(async {
            let repository = self.client.repository(&reference, credentials).await?;
            let (manifest, body) = repository.image(&reference, "name the image itself").await?;
            let config = repository.document(manifest.config().digest()).await?;
            Ok((repository, digest(&body), config, manifest))
        });
        let (mut repository, digest, config, manifest) = asked.await.map_err(|error| error.explain(image))?;
        let mut layers = Vec::new();
        for layer in manifest.layers() {
            let mut tokens = 0;
            let content = loop {
                match self.receive_layer(&repository, layer, place, tell).await {
                    Err(Error::Expired) if tokens < MAX_NEW_TOKENS_PER_LAYER => {
                        tokens += 1;
                        let again = self.client.repository(&reference, credentials).await;
                        repository = again.map_err(|error| error.explain(image))?;
                    }
                    Err(Error::Disk(error)) => return Err(cache_error(place, &error)),
                    Err(error) => return Err(error.explain(image)),
                    Ok(content) => break content,
                }
            };
            layers.push(Part {
                media_type: layer.media_type().clone(),
                digest: Some(layer.digest().clone()),
                content,
            });
        }
        Ok(Parts { digest, config, layers })
    }

    async fn receive_layer(
        &self,
        repository: &Repository<'_>,
        layer: &Descriptor,
        place: &Path,
        tell: &Tell<'_>,
    ) -> Result<Section, Error> {
        if layer.size() > MAX_LAYER_BYTES {
            return Err(Error::Format("has a layer of more than 8 GiB", "take another"));
        }
        let path = place.join(layer.digest().digest());
        let file = open_locked(path.clone()).await?;
        for attempt in 0..MAX_ATTEMPTS {
            let mut have = file.metadata()?.len();
            if have > layer.size() {
                // The file of an earlier run has other content.
                have = 0;
            }
            if have == layer.size() && have > 0 {
                break;
            }
            match receive(repository, layer, &file, have, tell).await {
                Err(error) if error.is_transient() && attempt + 1 < MAX_ATTEMPTS => {
                    tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        let file = Arc::new(file);
        let section = Section::new(file.clone(), 0, layer.size());
        let copy = section.clone();
        let found = tokio::task::spawn_blocking(move || copy.digest()).await;
        if found.map_err(io::Error::from)?? != *layer.digest() {
            let _ = fs::remove_file(path);
            return Err(WRONG_DIGEST);
        }
        // Other processes may read it, too.
        file.unlock()?;
        Ok(section)
    }

    /// Sends an image. `from`: a repository of the same registry that may have some
    /// of its layers.
    ///
    /// # Errors
    /// Codes `image-*`: no access, no answer.
    pub async fn push(
        &self,
        image: &Image,
        credentials: Option<&Credentials>,
        from: Option<&str>,
        tell: &Tell<'_>,
    ) -> Result<(), Diagnostic> {
        let reference = &reference(&image.name)?;
        let from = from.and_then(|from| same_registry(from, reference));
        let sent = async {
            let access = Access::Push { from: from.as_deref() };
            let upload = Upload::new(&self.client, reference, credentials, access).await?;
            let config = temporary_section(&image.config.bytes)?;
            let layers = image.layers.iter().map(|layer| (&layer.digest, &layer.content));
            let blobs = layers.chain([(&image.config.digest, &config)]);
            stream::iter(blobs.map(Ok::<_, Error>))
                .try_for_each_concurrent(MAX_CONCURRENT_LAYERS, |(digest, content)| {
                    self.send_blob(&upload, reference, digest, content, from.as_deref(), tell)
                })
                .await?;
            upload
                .manifest(reference.tag().unwrap_or_default(), &image.manifest)
                .await
        };
        sent.await.map_err(|error| error.explain_push(&image.name))
    }

    /// Sends one blob, unless the registry has it.
    async fn send_blob(
        &self,
        upload: &Upload<'_>,
        reference: &Reference,
        digest: &Digest,
        content: &Section,
        from: Option<&str>,
        tell: &Tell<'_>,
    ) -> Result<(), Error> {
        let key = (reference.resolve_registry().to_owned(), digest.clone());
        let place = self.sent.lock().entry(key).or_default().clone();
        let mut known = place.lock().await;
        let from = known.as_deref().or(from).filter(|from| *from != reference.repository());
        upload.blob(digest, content, from, tell).await?;
        *known = Some(reference.repository().to_owned());
        Ok(())
    }
}

const WRONG_DIGEST: Error = Error::Odd("returned a layer that does not match its digest");

async fn receive(
    repository: &Repository<'_>,
    layer: &Descriptor,
    file: &File,
    have: u64,
    tell: &Tell<'_>,
) -> Result<(), Error> {
    let (mut answer, mut have) = repository.blob_from(layer.digest(), have).await?;
    file.set_len(have)?;
    let mut out: &File = file;
    while let Some(part) = answer.chunk().await? {
        have += part.len() as u64;
        if have > layer.size() {
            return Err(WRONG_DIGEST);
        }
        io::Write::write_all(&mut out, &part)?;
        tell(part.len() as u64);
    }
    if have == layer.size() {
        Ok(())
    } else {
        Err(Error::Odd("breaks off"))
    }
}

/// Opens the file of a layer, and waits for another process that receives it.
async fn open_locked(path: PathBuf) -> io::Result<File> {
    let opened = tokio::task::spawn_blocking(move || boson_oci::open_locked(&path));
    opened.await.unwrap_or_else(|_| Err(io::Error::other("interrupted")))
}

/// A document as a section, so that it is sent as layers are.
fn temporary_section(bytes: &[u8]) -> io::Result<Section> {
    let mut file = tempfile::tempfile()?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(Section::new(Arc::new(file), 0, bytes.len() as u64))
}

/// The repository of an image, if it is in the same registry.
fn same_registry(image: &str, reference: &Reference) -> Option<String> {
    let other: Reference = image.parse().ok()?;
    (other.resolve_registry() == reference.resolve_registry()).then(|| other.repository().to_owned())
}

fn reference(image: &str) -> Result<Reference, Diagnostic> {
    image.parse().map_err(|_| {
        Diagnostic::error(codes::IMAGE_REFERENCE, format!("'{image}' is not a valid image name"))
            .help("a name is HOST[:PORT]/PATH:TAG, in lower-case letters")
    })
}

fn cache_error(place: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("'{}' cannot be used for layers: {error}", place.display());
    Diagnostic::error(boson_releases::codes::IMAGE_CACHE, message)
        .help("check whether its disk is full or read-only, or choose another directory with --cache")
}
