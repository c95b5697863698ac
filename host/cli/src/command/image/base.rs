//! The images of stemcells, each read only when a release needs it: not if the registry has all images.

use super::blocking::blocking;
use boson_commands::output::Bar;
use boson_images::{Base, Pool, Stemcell};
use boson_oci::Parts;
use boson_pipeline::Diagnostic;
use boson_registry::codes;
use boson_registry::{Transfer, docker_credentials};
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
pub struct Lazy {
    image: String,
    cache: PathBuf,
    transfer: Transfer,
    read: OnceCell<Arc<Base>>,
}

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

    /// The image for this stemcell.
    pub fn of(&self, stemcell: &Stemcell) -> Arc<Lazy> {
        let name = self.name(stemcell);
        let mut all = self.all.lock();
        let new = || Lazy {
            image: name.clone(),
            cache: self.cache.clone(),
            transfer: self.transfer.clone(),
            read: OnceCell::new(),
        };
        let lazy = all.entry(name.clone()).or_insert_with(|| Arc::new(new()));
        lazy.clone()
    }
}

// === impl Lazy ===

impl Lazy {
    /// The image.
    ///
    /// # Errors
    /// It cannot be read, or cannot be used as a base.
    pub async fn get(&self, pool: &Pool, bar: &Bar) -> Result<Arc<Base>, Diagnostic> {
        let read = self.read.get_or_try_init(|| self.read(pool, bar));
        read.await.cloned()
    }

    /// Reference of the image, if it is in a registry.
    pub fn reference(&self) -> Option<&str> {
        (!Path::new(&self.image).exists()).then_some(self.image.as_str())
    }

    async fn read(&self, pool: &Pool, bar: &Bar) -> Result<Arc<Base>, Diagnostic> {
        bar.phase("stemcell", None);
        let (image, place, pool) = (self.image.clone(), self.cache.join("stemcells"), pool.clone());
        let base = match self.reference() {
            None => blocking(move || Base::read(Path::new(&image), &place, &pool)).await?,
            Some(image) if !has_registry(image) => return Err(missing(image)),
            Some(_) => {
                let parts = self.pulled(&place, bar).await?;
                blocking(move || Base::of(&image, parts, &place, &pool)).await?
            }
        };
        Ok(Arc::new(base))
    }

    async fn pulled(&self, place: &Path, bar: &Bar) -> Result<Parts, Diagnostic> {
        let image = self.image.clone();
        let credentials = blocking(move || docker_credentials(&image)).await?;
        let tell = |bytes: u64| bar.advance(bytes);
        let pulled = self.transfer.pull(&self.image, credentials.as_ref(), place, &tell);
        pulled.await.map_err(|error| match error.code.as_str() {
            "image-missing" => missing(&self.image),
            "image-access" => error.help("sign in with `docker login`, or check the name"),
            _ => error,
        })
    }
}

/// A misspelt path must not cause a request to a registry.
fn has_registry(image: &str) -> bool {
    let host = image.split_once('/').map_or("", |(host, _)| host);
    host == "localhost" || host.contains(['.', ':']) && !host.starts_with('.')
}

fn missing(image: &str) -> Diagnostic {
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
