//! Builds and delivers one image.

use super::ImageError;
use super::base::{self, credentials};
use super::blocking::blocking;
use super::context::{Read, file_name};
use super::progress::Progress;
use super::selection::{From, Selected};
use boson_commands::output::{Bar, Bars};
use boson_compile::{Compiler, Tally};
use boson_images::codes;
use boson_images::{Base, Download, Downloads, Ingredients, Packages, Pool, Release, Stemcell, build, write};
use boson_oci::Image;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_registry::Transfer;
use boson_releases::Opened;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Settings shared by all images of a run.
pub struct Shared {
    pub bases: base::Bases,
    pub transfer: Transfer,
    pub downloads: Downloads,
    pub compiler: Compiler,
    pub pool: Pool,
    pub cache: PathBuf,
    pub out: Option<PathBuf>,
    /// Where build contexts are written instead of images.
    pub context: Option<PathBuf>,
    /// `out` or `context` is a directory for several images.
    pub many: bool,
    pub force: bool,
    pub bars: Bars,
}

/// An image that was delivered.
#[derive(Default)]
pub struct Made {
    pub name: String,
    /// Empty for a build context.
    pub digest: String,
    pub warnings: Vec<Diagnostic>,
    /// Of a source release.
    pub tally: Option<Tally>,
}

/// Makes an image.
///
/// # Errors
/// All errors in the release; or an error of a server, a registry or the disk.
pub async fn image(shared: &Arc<Shared>, selected: &Arc<Selected>) -> Result<Made, ImageError> {
    let bar = shared.bars.bar(&selected.title);
    let known = selected.wanted.as_ref().map(|wanted| wanted.image.clone());
    if let Some(made) = find_in_registry(shared, known.as_deref(), &bar).await? {
        return Ok(made);
    }
    let (path, download) = locate(shared, selected, &bar).await?;
    let title = download.as_ref().map(|download| download.title.clone());
    let (read, mut warnings) = read(shared, selected, path, title, &bar).await?;
    let stemcell_image = shared.bases.name(&read.stemcell);
    if let Some(directory) = &shared.context {
        let out = if shared.many {
            directory.join(file_name(&read.name, &selected.title))
        } else {
            directory.clone()
        };
        return Ok(Made {
            name: read.write_context(stemcell_image, out, shared.pool.clone()).await?,
            warnings,
            ..Made::default()
        });
    }
    // The name was not known before the release was read.
    if known.is_none()
        && let Some(made) = find_in_registry(shared, Some(&read.name), &bar).await?
    {
        return Ok(made);
    }
    let read = check_builder(shared, read).await?;
    let base = shared.bases.get(&stemcell_image, &shared.pool, &bar).await?;
    let (image, mut made) = build_image(shared, read, base, &bar).await?;
    deliver(shared, &image, &selected.title, base::reference(&stemcell_image), &bar).await?;
    if let Some(download) = download {
        download.done();
    }
    warnings.append(&mut made.warnings);
    Ok(Made { warnings, ..made })
}

/// The image, if the registry already has it.
async fn find_in_registry(shared: &Shared, name: Option<&str>, bar: &Bar) -> Result<Option<Made>, Diagnostic> {
    let Some(name) = name.filter(|_| shared.out.is_none() && shared.context.is_none() && !shared.force) else {
        return Ok(None);
    };
    bar.phase("asking the registry", None);
    let credentials = credentials(name).await?;
    let found = shared.transfer.present(name, credentials.as_ref()).await?;
    Ok(found.map(|digest| Made {
        name: name.to_owned(),
        digest,
        ..Made::default()
    }))
}

/// The tarball or repository of a release, and its download, which is deleted when the image is built.
async fn locate(shared: &Shared, selected: &Selected, bar: &Bar) -> Result<(PathBuf, Option<Download>), Diagnostic> {
    match &selected.from {
        From::Path(path) => Ok((path.clone(), None)),
        From::Web(url, digests) => {
            bar.phase("downloading", None);
            let release = Release {
                name: &selected.title,
                url,
                digests: digests.as_deref(),
            };
            let tell = |have: u64, whole: Option<u64>| bar.set(have, whole);
            let download = shared.downloads.get(release, &tell).await?;
            Ok((download.path.clone(), Some(download)))
        }
    }
}

async fn read(
    shared: &Arc<Shared>,
    selected: &Arc<Selected>,
    path: PathBuf,
    title: Option<String>,
    bar: &Bar,
) -> Result<(Read, Vec<Diagnostic>), ImageError> {
    bar.phase("reading", None);
    let (shared, selected) = (shared.clone(), selected.clone());
    blocking(move || {
        let mut sources = Sources::default();
        let opened = open_release(&shared, &selected, &path, title.as_deref(), &mut sources);
        opened.map_err(|diagnostics| ImageError { diagnostics, sources })
    })
    .await
}

fn open_release(
    shared: &Shared,
    selected: &Selected,
    path: &Path,
    title: Option<&str>,
    sources: &mut Sources,
) -> Result<(Read, Vec<Diagnostic>), Vec<Diagnostic>> {
    let name = selected.wanted.as_ref().map(|wanted| wanted.release.as_str());
    let opened = Opened::open(path, title, name, sources, &mut |_| {})?;
    let mut warnings = opened.release().warnings.clone();
    let own = opened.stemcell().and_then(Stemcell::parse);
    let unnamed = |why: &str| {
        let error = Diagnostic::error(
            codes::IMAGE_UNNAMED,
            format!("the image of '{}' has no name: {why}", path.display()),
        );
        vec![error.help("name the stemcell: --stemcell OS/VERSION")]
    };
    let named = selected.stemcell.clone().or_else(|| own.clone());
    let stemcell = named.or_else(|| shared.bases.stemcell());
    let stemcell = stemcell.ok_or_else(|| unnamed("its packages name no stemcell"))?;
    if let Some(own) = own.filter(|own| *own != stemcell) {
        let message = format!(
            "packages of release '{}' were compiled for {}, but the name of the image contains {}",
            opened.release().name,
            own.text(),
            stemcell.text()
        );
        warnings.push(Diagnostic::warning(codes::IMAGE_STEMCELL_DIFFERS, message));
    }
    let version = opened.release().version.clone().unwrap_or_default();
    let name = match &selected.wanted {
        Some(wanted) if wanted.version != version => return Err(vec![other_version(wanted, &version)]),
        Some(wanted) => wanted.image.clone(),
        None => {
            let registry = selected.registry.as_deref().unwrap_or("localhost");
            let named = stemcell.image(&opened.release().name, &version, registry);
            named.map_err(|why| unnamed(&why))?
        }
    };
    let read = Read { opened, name, stemcell };
    Ok((read, warnings))
}

/// Looks for a builder of a source release before its stemcell image is read, which may be a large download.
async fn check_builder(shared: &Arc<Shared>, read: Read) -> Result<Read, Diagnostic> {
    let shared = shared.clone();
    blocking(move || {
        if let Opened::Source(source) = &read.opened {
            shared.compiler.check(source)?;
        }
        Ok(read)
    })
    .await
}

fn other_version(wanted: &boson_images::Wanted, found: &str) -> Diagnostic {
    let message = format!(
        "release '{}' has version {found}, but the manifest wants {}",
        wanted.release, wanted.version
    );
    Diagnostic::error(codes::IMAGE_VERSION_DIFFERS, message).help("correct `version`, `url`, or the path of --release")
}

/// The image, and what is said about it.
async fn build_image(
    shared: &Arc<Shared>,
    read: Read,
    base: Arc<Base>,
    bar: &Bar,
) -> Result<(Image, Made), ImageError> {
    bar.phase("building", None);
    let (shared, bar) = (shared.clone(), bar.clone());
    blocking(move || assemble(&shared, &read, &base, &bar).map_err(ImageError::of)).await
}

fn assemble(shared: &Shared, read: &Read, base: &Base, bar: &Bar) -> Result<(Image, Made), Vec<Diagnostic>> {
    let (mut layers, mut tally) = (Vec::new(), None);
    if let Opened::Source(source) = &read.opened {
        let progress = Progress::new(&shared.bars, &source.release.name);
        let (made, counted) = shared.compiler.compile(source, base, &|event| progress.tell(event))?;
        layers = made;
        tally = Some(counted);
    }
    let ingredients = Ingredients {
        base,
        release: read.opened.release(),
        jobs: read.opened.jobs(),
        packages: match &read.opened {
            Opened::Compiled(packed) => Packages::Packed(packed),
            Opened::Source(_) => Packages::Layers(&layers),
        },
        name: &read.name,
        stemcell: &read.stemcell.text(),
    };
    let mut tell = |bytes: u64| bar.set(bytes, None);
    let image = build(&ingredients, &shared.cache.join("layers"), &shared.pool, &mut tell)?;
    let made = Made {
        name: image.name.clone(),
        digest: image.manifest.digest.to_string(),
        warnings: base.warnings(),
        tally,
    };
    Ok((image, made))
}

async fn deliver(
    shared: &Arc<Shared>,
    image: &Image,
    title: &str,
    from: Option<&str>,
    bar: &Bar,
) -> Result<(), Diagnostic> {
    let Some(out) = &shared.out else {
        return push(shared, image, from, bar).await;
    };
    bar.phase("writing", None);
    let (image, out) = (image.clone(), out.clone());
    let file = if shared.many {
        Some(out.join(format!("{}.tar", file_name(&image.name, title))))
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

async fn push(shared: &Shared, image: &Image, from: Option<&str>, bar: &Bar) -> Result<(), Diagnostic> {
    let whole = image.layers.iter().map(|layer| layer.content.size()).sum();
    bar.phase("pushing", Some(whole));
    let credentials = credentials(&image.name).await?;
    let tell = |bytes: u64| bar.advance(bytes);
    shared.transfer.push(image, credentials.as_ref(), from, &tell).await
}
