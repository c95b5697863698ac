//! Builds and delivers one image.

use super::blocking::{blocking, interrupted};
use super::selection::{From, Selected};
use super::{Report, base};
use boson_commands::output::{Bar, Bars};
use boson_images::codes;
use boson_images::{Base, Download, Downloads, Ingredients, Pool, Release, Stemcell, build, write};
use boson_oci::Image;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_registry::{Credentials, Transfer, docker_credentials};
use boson_releases::Compiled;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Settings shared by all images of a run.
pub struct Site {
    pub base: base::Lazy,
    pub transfer: Transfer,
    pub downloads: Downloads,
    pub pool: Pool,
    pub cache: PathBuf,
    pub out: Option<PathBuf>,
    /// `out` is a directory for several images.
    pub many: bool,
    pub force: bool,
    pub bars: Bars,
}

/// An image that was delivered.
pub struct Made {
    pub name: String,
    pub digest: String,
    pub warnings: Vec<Diagnostic>,
}

/// The tarball of a release.
enum Tarball {
    Given(PathBuf),
    /// A download, which is deleted when its image is built.
    Downloaded(Download),
}

/// An image that was built, with warnings.
struct Built {
    image: Image,
    warnings: Vec<Diagnostic>,
}

/// Makes an image.
///
/// # Errors
/// All errors in the release; or an error of a server, a registry or the disk.
pub async fn image(site: &Arc<Site>, selected: &Selected) -> Result<Made, Report> {
    let bar = site.bars.bar(&selected.title);
    let known = selected.wanted.as_ref().map(|wanted| wanted.image.clone());
    if let Some(made) = present(site, known.as_deref(), &bar).await? {
        return Ok(made);
    }
    let tarball = tarball(site, selected, &bar).await?;
    let base = site.base.get(&site.pool, &bar).await?;
    let (path, title) = match &tarball {
        Tarball::Given(path) => (path.clone(), None),
        Tarball::Downloaded(download) => (download.path.clone(), Some(download.title.clone())),
    };
    let plan = Plan {
        path,
        title,
        wanted: selected.wanted.clone(),
        stemcell: selected.stemcell.clone(),
        registry: selected.registry.clone(),
    };
    let (compiled, name, stemcell, mut warnings) = read(plan, &bar).await?;
    // The name was not known before the tarball was read.
    if known.is_none()
        && let Some(made) = present(site, Some(&name), &bar).await?
    {
        return Ok(made);
    }
    let built = built(site, compiled, base, name, stemcell, &bar).await?;
    deliver(site, &built.image, &selected.title, &bar).await?;
    if let Tarball::Downloaded(download) = tarball {
        download.done();
    }
    warnings.extend(built.warnings);
    Ok(Made {
        digest: built.image.manifest.digest.to_string(),
        name: built.image.name,
        warnings,
    })
}

/// The image, if the registry already has it.
async fn present(site: &Site, name: Option<&str>, bar: &Bar) -> Result<Option<Made>, Diagnostic> {
    let Some(name) = name.filter(|_| site.out.is_none() && !site.force) else {
        return Ok(None);
    };
    bar.phase("asking the registry", None);
    let credentials = credentials(name).await?;
    let found = site.transfer.present(name, credentials.as_ref()).await?;
    Ok(found.map(|digest| Made {
        name: name.to_owned(),
        digest,
        warnings: Vec::new(),
    }))
}

async fn tarball(site: &Site, selected: &Selected, bar: &Bar) -> Result<Tarball, Diagnostic> {
    match &selected.from {
        From::Path(path) => Ok(Tarball::Given(path.clone())),
        From::Web(url, digests) => {
            bar.phase("downloading", None);
            let release = Release {
                name: &selected.title,
                url,
                digests: digests.as_deref(),
            };
            let tell = |have: u64, whole: Option<u64>| bar.set(have, whole);
            site.downloads.get(release, &tell).await.map(Tarball::Downloaded)
        }
    }
}

/// The expected properties of a tarball.
struct Plan {
    path: PathBuf,
    title: Option<String>,
    wanted: Option<boson_images::Wanted>,
    stemcell: Option<Stemcell>,
    registry: Option<String>,
}

type Opened = (Compiled, String, Stemcell, Vec<Diagnostic>);

async fn read(plan: Plan, bar: &Bar) -> Result<Opened, Report> {
    bar.phase("reading", None);
    let read = tokio::task::spawn_blocking(move || {
        let mut sources = Sources::default();
        opened(&plan, &mut sources).map_err(|diagnostics| Report { diagnostics, sources })
    });
    read.await.unwrap_or_else(|_| Err(interrupted().into()))
}

fn opened(plan: &Plan, sources: &mut Sources) -> Result<Opened, Vec<Diagnostic>> {
    let name = plan.wanted.as_ref().map(|wanted| wanted.release.as_str());
    let compiled = Compiled::open(&plan.path, plan.title.as_deref(), name, sources, &mut |_| {})?;
    let mut warnings = compiled.release().warnings.clone();
    let own = compiled.stemcell().and_then(Stemcell::parse);
    let unnamed = |why: &str| {
        let error = Diagnostic::error(
            codes::IMAGE_UNNAMED,
            format!("the image of '{}' has no name: {why}", plan.path.display()),
        );
        vec![error.help("name the stemcell: --stemcell OS/VERSION")]
    };
    let stemcell = plan.stemcell.clone().or_else(|| own.clone());
    let stemcell = stemcell.ok_or_else(|| unnamed("its packages name no stemcell"))?;
    if let Some(own) = own.filter(|own| *own != stemcell) {
        let message = format!(
            "packages of release '{}' were compiled for {}, but the name of the image contains {}",
            compiled.release().name,
            own.text(),
            stemcell.text()
        );
        warnings.push(Diagnostic::warning(codes::IMAGE_STEMCELL_DIFFERS, message));
    }
    let version = compiled.release().version.clone().unwrap_or_default();
    let name = match &plan.wanted {
        Some(wanted) if wanted.version != version => return Err(vec![other_version(wanted, &version)]),
        Some(wanted) => wanted.image.clone(),
        None => {
            let registry = plan.registry.as_deref().unwrap_or("localhost");
            let named = stemcell.image(&compiled.release().name, &version, registry);
            named.map_err(|why| unnamed(&why))?
        }
    };
    Ok((compiled, name, stemcell, warnings))
}

fn other_version(wanted: &boson_images::Wanted, found: &str) -> Diagnostic {
    let message = format!(
        "the tarball of release '{}' contains version {found}, but the manifest wants {}",
        wanted.release, wanted.version
    );
    Diagnostic::error(codes::IMAGE_VERSION_DIFFERS, message).help("correct `version`, `url`, or the path of --release")
}

async fn built(
    site: &Arc<Site>,
    compiled: Compiled,
    base: Arc<Base>,
    name: String,
    stemcell: Stemcell,
    bar: &Bar,
) -> Result<Built, Diagnostic> {
    bar.phase("building", None);
    let (site, bar) = (site.clone(), bar.clone());
    blocking(move || {
        let ingredients = Ingredients {
            base: &base,
            release: &compiled,
            name: &name,
            stemcell: &stemcell.text(),
        };
        let mut tell = |bytes: u64| bar.set(bytes, None);
        let image = build(&ingredients, &site.cache.join("layers"), &site.pool, &mut tell)?;
        Ok(Built {
            image,
            warnings: base.warnings(),
        })
    })
    .await
}

/// Writes or pushes an image.
async fn deliver(site: &Arc<Site>, image: &Image, title: &str, bar: &Bar) -> Result<(), Diagnostic> {
    let Some(out) = &site.out else {
        return push(site, image, bar).await;
    };
    bar.phase("writing", None);
    let (image, out) = (image.clone(), out.clone());
    let file = if site.many {
        let tag = image.name.rsplit_once(':').map_or("latest", |(_, tag)| tag).to_owned();
        Some(out.join(format!("{title}-{tag}.tar")))
    } else {
        (out.extension().is_some_and(|end| end == "tar")).then(|| out.clone())
    };
    blocking(move || match file {
        Some(file) => {
            let parent = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(parent).map_err(|error| {
                Diagnostic::error(
                    codes::IMAGE_UNWRITABLE,
                    format!("'{}' cannot be made: {error}", parent.display()),
                )
            })?;
            write::archive(&image, &file)
        }
        None => write::layout(&image, &out),
    })
    .await
}

async fn push(site: &Site, image: &Image, bar: &Bar) -> Result<(), Diagnostic> {
    let whole = image.layers.iter().map(|layer| layer.content.size()).sum();
    bar.phase("pushing", Some(whole));
    let credentials = credentials(&image.name).await?;
    let tell = |bytes: u64| bar.advance(bytes);
    let from = site.base.reference();
    site.transfer.push(image, credentials.as_ref(), from, &tell).await
}

async fn credentials(name: &str) -> Result<Option<Credentials>, Diagnostic> {
    let name = name.to_owned();
    blocking(move || docker_credentials(&name)).await
}
