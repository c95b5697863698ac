//! The images of stemcells, each read only when a release needs it: not if the registry has all images.

use super::blocking::blocking;
use boson_commands::output::Bar;
use boson_images::{Base, Pool, Stemcell};
use boson_oci::Parts;
use boson_pipeline::Diagnostic;
use boson_registry::codes;
use boson_registry::{Credentials, Transfer, docker_credentials};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The images of a run: the user's, or for each stemcell the one that Cloud Foundry publishes.
pub struct Bases {
    given: Option<String>,
    cache: PathBuf,
    transfer: Transfer,
    all: Mutex<BTreeMap<String, Arc<Lazy>>>,
}

/// An image that is read once.
type Lazy = OnceCell<Arc<Base>>;

// === impl Bases ===

impl Bases {
    pub fn new(given: Option<&str>, cache: &Path, transfer: Transfer) -> Self {
        Self {
            given: given.map(str::to_owned),
            cache: cache.to_path_buf(),
            transfer,
            all: Mutex::default(),
        }
    }

    /// The stemcell that the name of the user's image contains.
    pub fn stemcell(&self) -> Option<Stemcell> {
        self.given.as_deref().and_then(Stemcell::of_image)
    }

    /// The name of the image for this stemcell.
    pub fn name(&self, stemcell: &Stemcell) -> String {
        self.given.clone().unwrap_or_else(|| stemcell.published())
    }

    /// The image of this name.
    ///
    /// # Errors
    /// It cannot be read, or cannot be used as a base.
    pub async fn get(&self, image: &str, pool: &Pool, bar: &Bar) -> Result<Arc<Base>, Diagnostic> {
        let lazy = self.all.lock().entry(image.to_owned()).or_default().clone();
        let read = lazy.get_or_try_init(|| self.read(image, pool, bar));
        read.await.cloned()
    }

    async fn read(&self, image: &str, pool: &Pool, bar: &Bar) -> Result<Arc<Base>, Diagnostic> {
        bar.phase("stemcell", None);
        let (name, place, pool) = (image.to_owned(), self.cache.join("stemcells"), pool.clone());
        let base = match reference(image) {
            None => blocking(move || Base::read(Path::new(&name), &place, &pool)).await?,
            Some(image) if !has_registry(image) => return Err(missing_error(image)),
            Some(image) => {
                let parts = self.pull(image, &place, bar).await?;
                blocking(move || Base::of(&name, parts, &place, &pool)).await?
            }
        };
        Ok(Arc::new(base))
    }

    async fn pull(&self, image: &str, place: &Path, bar: &Bar) -> Result<Parts, Diagnostic> {
        let credentials = credentials(image).await?;
        let tell = |bytes: u64| bar.advance(bytes);
        let pulled = self.transfer.pull(image, credentials.as_ref(), place, &tell);
        pulled.await.map_err(|error| match error.code.as_str() {
            "image-missing" => missing_error(image),
            "image-access" => error.help("sign in with `docker login`, or check the name"),
            _ => error,
        })
    }
}

/// Reference of an image, if it is in a registry.
pub fn reference(image: &str) -> Option<&str> {
    (!Path::new(image).exists()).then_some(image)
}

/// The credentials of the user for an image.
///
/// # Errors
/// They cannot be read.
pub async fn credentials(image: &str) -> Result<Option<Credentials>, Diagnostic> {
    let image = image.to_owned();
    blocking(move || docker_credentials(&image)).await
}

/// A misspelt path must not cause a request to a registry.
fn has_registry(image: &str) -> bool {
    let host = image.split_once('/').map_or("", |(host, _)| host);
    host == "localhost" || host.contains(['.', ':']) && !host.starts_with('.')
}

fn missing_error(image: &str) -> Diagnostic {
    let message = format!("there is neither an image nor a file '{image}'");
    Diagnostic::error(codes::IMAGE_MISSING, message)
        .help("set --stemcell-image to a path, or to a name with its registry, such as docker.io/library/ubuntu:22.04")
}

#[cfg(test)]
mod tests {
    use super::has_registry;

    #[test]
    fn names_have_a_registry() {
        for (image, expected) in [
            ("docker.io/library/ubuntu:22.04", true),
            ("localhost:5000/jammy", true),
            ("localhost/jammy:1", true),
            ("stemcell.tar", false),
            ("images/stemcell.tar", false),
            ("./stemcell.tar", false),
            ("../stemcell.tar", false),
            ("/images/stemcell.tar", false),
        ] {
            assert_eq!(has_registry(image), expected, "{image}");
        }
    }
}
