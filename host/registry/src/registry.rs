//! Asking a registry: the manifest with the credentials at hand, then the layers that the cache lacks.

use crate::cache::{Cache, Key};
use crate::credentials::Credentials;
use crate::layer;
use crate::layout::{Draft, Layout};
use crate::room::Sizes;
use boson_pipeline::Diagnostic;
use futures::FutureExt;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol, current_platform_resolver};
use oci_client::errors::OciDistributionError as Error;
use oci_client::manifest::{ImageIndexEntry, OciDescriptor, OciImageManifest};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::timeout;

/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a registry may be silent in the middle of a layer.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a manifest may take, signing in included.
const MANIFEST: Duration = Duration::from_secs(60);
/// How long an image may take, all its layers included: what never ends, byte by byte, holds up every deployment of an operator.
const IMAGE: Duration = Duration::from_secs(300);
/// Layers that an image may have; the usual storage drivers take 127.
const LAYERS: usize = 256;

/// How to reach registries.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `host:port` of registries that are spoken to without TLS.
    pub without_tls: Vec<String>,
    /// Certificates that are trusted beside the system's: PEM, one each.
    pub authorities: Vec<Vec<u8>>,
}

/// Reads images, and keeps what it read in a directory.
#[derive(Clone, Debug)]
pub struct Registry {
    cache: Cache,
    settings: Settings,
    patience: Duration,
}

// === impl Registry ===

impl Registry {
    /// `cache`: a directory of ours; it is made when it is needed. What processes that were killed left there is removed.
    pub fn new(cache: PathBuf, settings: Settings) -> Self {
        Self {
            cache: Cache::new(cache, Sizes::default()),
            settings,
            patience: IMAGE,
        }
    }

    #[cfg(test)]
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    #[cfg(test)]
    pub(crate) fn sized(self, cache: PathBuf, sizes: Sizes) -> Self {
        Self {
            cache: Cache::new(cache, sizes),
            ..self
        }
    }

    /// Fetches what a conversion needs of `image`.
    ///
    /// # Errors
    /// Codes `image-*`: there is no such image, no access, no answer; or those of `boson_releases` for a layer that is damaged or over a limit.
    pub async fn fetch(&self, image: &str, credentials: Option<&Credentials>) -> Result<Layout, Diagnostic> {
        // What a registry answers reaches code that is not ours, and a panic there would end the operator, not this image.
        let fetched = AssertUnwindSafe(self.read(image, credentials)).catch_unwind();
        match timeout(self.patience, fetched).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(unreachable(image, "gives an answer that cannot be read")),
            Err(_) => Err(unreachable(
                image,
                &format!("did not give all of it within {} s", self.patience.as_secs()),
            )),
        }
    }

    async fn read(&self, image: &str, credentials: Option<&Credentials>) -> Result<Layout, Diagnostic> {
        let reference: Reference = image.parse().map_err(|_| {
            Diagnostic::error("image-reference", format!("'{image}' is no name of an image"))
                .help("it is put together from the release's url, name and version and the stemcell")
        })?;
        // One for each fetch: a client keeps the first credentials that it saw for a registry.
        let client = Client::new(self.config());
        let auth = credentials.map_or(RegistryAuth::Anonymous, |found| {
            RegistryAuth::Basic(found.username.clone(), found.password.clone())
        });
        let asked = timeout(MANIFEST, client.pull_image_manifest(&reference, &auth)).await;
        let (manifest, _) = asked
            .map_err(|_| unreachable(image, "does not answer"))?
            .map_err(|error| explain(image, &error))?;
        check(image, &manifest)?;
        let (cache, name) = (self.cache.clone(), image.to_owned());
        let mut draft = layer::blocking(move || cache.open(name)).await?;
        for descriptor in &manifest.layers {
            draft = self.layer(&client, &reference, draft, image, descriptor).await?;
        }
        layer::blocking(|| draft.finish()).await
    }

    async fn layer(
        &self,
        client: &Client,
        reference: &Reference,
        mut draft: Draft,
        image: &str,
        descriptor: &OciDescriptor,
    ) -> Result<Draft, Diagnostic> {
        let key = Key::new(reference.resolve_registry(), reference.repository(), &descriptor.digest);
        let wanted = key.clone();
        let (draft, kept) = layer::blocking(move || draft.take(&wanted).map(|kept| (draft, kept))).await?;
        if kept {
            return Ok(draft);
        }
        let asked = timeout(MANIFEST, client.pull_blob_stream(reference, descriptor)).await;
        let stream = asked
            .map_err(|_| unreachable(image, "does not answer"))?
            .map_err(|error| explain(image, &error))?;
        let name = format!("{image}:{}", descriptor.digest);
        layer::add(draft, key, name, stream).await
    }

    fn config(&self) -> ClientConfig {
        let authorities = self.settings.authorities.iter().map(|pem| Certificate {
            encoding: CertificateEncoding::Pem,
            data: pem.clone(),
        });
        ClientConfig {
            protocol: ClientProtocol::HttpsExcept(self.settings.without_tls.clone()),
            extra_root_certificates: authorities.collect(),
            platform_resolver: Some(Box::new(platform)),
            connect_timeout: Some(CONNECT),
            read_timeout: Some(SILENCE),
            user_agent: concat!("boson/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        }
    }
}

/// The image of this platform, or the only one: jobs are text, they are the same on all.
fn platform(images: &[ImageIndexEntry]) -> Option<String> {
    current_platform_resolver(images).or(match images {
        [one] => Some(one.digest.clone()),
        _ => None,
    })
}

fn check(image: &str, manifest: &OciImageManifest) -> Result<(), Diagnostic> {
    let wrong = |what: &str, help: &str| {
        Err(Diagnostic::error("image-format", format!("image '{image}' {what}")).help(help.to_owned()))
    };
    if manifest.layers.len() > LAYERS {
        return wrong("has too many layers", "squash it");
    }
    if manifest.layers.iter().any(|layer| layer.media_type.ends_with("zstd")) {
        return wrong(
            "has layers compressed with zstd",
            "compress them with gzip: `skopeo copy --dest-compress-format gzip`",
        );
    }
    Ok(())
}

fn unreachable(image: &str, what: &str) -> Diagnostic {
    Diagnostic::error("image-registry", format!("the registry of image '{image}' {what}"))
        .help("is its host right, and can it be reached from here?")
}

/// Never the library's text: it holds URLs, and those may be signed.
fn explain(image: &str, error: &Error) -> Diagnostic {
    match error {
        Error::ImageManifestNotFoundError(_) => missing(image),
        Error::RegistryError { envelope, .. } => {
            use oci_client::errors::OciErrorCode as Code;
            match envelope.errors.first().map(|error| &error.code) {
                Some(Code::ManifestUnknown | Code::NameUnknown | Code::NotFound | Code::BlobUnknown) => missing(image),
                Some(Code::Unauthorized | Code::Denied) => refused(image),
                _ => unreachable(image, "answers with an error"),
            }
        }
        Error::AuthenticationFailure(_) | Error::UnauthorizedError { .. } => refused(image),
        Error::ServerError { code, .. } => match code {
            401 | 403 => refused(image),
            404 => missing(image),
            _ => unreachable(image, &format!("answers with status {code}")),
        },
        Error::RequestError(error) if error.is_timeout() => unreachable(image, "does not answer"),
        Error::RequestError(error) if error.is_connect() => unreachable(image, "cannot be connected to"),
        Error::RequestError(_) | Error::IoError(_) => unreachable(image, "breaks off"),
        _ => Diagnostic::error("image-format", format!("'{image}' is no image that can be read"))
            .help("push it as an OCI or Docker image for Linux, with gzip layers"),
    }
}

fn missing(image: &str) -> Diagnostic {
    Diagnostic::error("image-missing", format!("there is no image '{image}'"))
        .help("push the release's image, or mend `url`, `version` or the stemcell: together they are its name")
}

fn refused(image: &str) -> Diagnostic {
    Diagnostic::error("image-access", format!("the registry refuses to give image '{image}'"))
        .help("check releases[].credentials and the pull secrets")
}
