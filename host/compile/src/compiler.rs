//! Compiles the packages of releases: what is in the cache is used, the rest is built, package by package.

use crate::builder::{Build, Builder, Choice};
use crate::cache::{self, Cache, Work};
use crate::codes;
use crate::context;
use crate::dockerfile;
use crate::key::keys;
use crate::log::Tail;
use crate::schedule;
use boson_images::{Base, Pool, package_layer};
use boson_oci::Layer;
use boson_pipeline::Diagnostic;
use boson_releases::{Package, Source};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub choice: Choice,
    /// Scripts may use the network.
    pub network: bool,
    /// Packages that are compiled at the same time, over all releases.
    pub jobs: usize,
}

/// What happens to a package.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    Started(&'e str),
    /// Bytes of output so far.
    Output(&'e str, u64),
    Ended(&'e str),
}

/// How many packages of a release were compiled, and how many were in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub compiled: usize,
    pub cached: usize,
}

pub struct Compiler {
    settings: Settings,
    cache: Cache,
    pool: Pool,
    free: Mutex<usize>,
    freed: Condvar,
    /// By the digest of the image's manifest.
    stemcells: Mutex<BTreeMap<String, Arc<Stemcell>>>,
}

/// The stemcell's image, as a builder finds it.
struct Stemcell {
    builder: Builder,
    /// Its name in a Dockerfile.
    name: String,
    layout: PathBuf,
    digest: String,
}

/// The compilation of one release.
struct Run<'r> {
    compiler: &'r Compiler,
    stemcell: &'r Stemcell,
    release: &'r str,
    packages: &'r [Package],
    keys: &'r BTreeMap<String, String>,
    work: &'r Work,
    tell: &'r (dyn Fn(Event<'_>) + Sync),
}

// === impl Compiler ===

impl Compiler {
    /// `cache`: a directory of its own.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn new(cache: &Path, pool: Pool, settings: Settings) -> Result<Self, Diagnostic> {
        Ok(Self {
            settings,
            cache: Cache::new(cache)?,
            pool,
            free: Mutex::new(settings.jobs.max(1)),
            freed: Condvar::new(),
            stemcells: Mutex::new(BTreeMap::new()),
        })
    }

    /// Looks for a builder, unless the cache may have all packages of a release: this needs no stemcell image.
    ///
    /// # Errors
    /// `compile-no-builder`
    pub fn check(&self, source: &Source) -> Result<(), Diagnostic> {
        let needs_none = source.packages.iter().all(|package| self.cache.has_any(package));
        if needs_none {
            return Ok(());
        }
        self.settings.choice.find().map(drop)
    }

    /// The layers of a release's packages, sorted by name.
    ///
    /// # Errors
    /// There is no builder; sources are missing; a script fails.
    pub fn compile(
        &self,
        source: &Source,
        base: &Base,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<(Vec<Layer>, Tally), Vec<Diagnostic>> {
        let keys = keys(&source.packages, &base.digest);
        let missing: Vec<&Package> = source
            .packages
            .iter()
            .filter(|package| self.cached(package, &keys).is_none())
            .collect();
        let tally = Tally {
            compiled: missing.len(),
            cached: source.packages.len() - missing.len(),
        };
        if !missing.is_empty() {
            let stemcell = self.stemcell(base)?;
            let work = self.cache.work().map_err(cache::storage_error)?;
            let wanted: BTreeSet<&str> = missing.iter().map(|package| package.name.as_str()).collect();
            context::write_sources(source, &wanted, &work)?;
            let run = Run {
                compiler: self,
                stemcell: &stemcell,
                release: &source.release.name,
                packages: &source.packages,
                keys: &keys,
                work: &work,
                tell,
            };
            let errors = schedule::run(&missing, self.settings.jobs, |package| run.package(package));
            if !errors.is_empty() {
                return Err(errors);
            }
        }
        let mut layers = BTreeMap::new();
        for package in &source.packages {
            let layer = self.cached(package, &keys);
            let layer = layer.ok_or_else(|| cache::storage_error(io::ErrorKind::NotFound.into()))?;
            layers.insert(package.name.clone(), layer);
        }
        Ok((layers.into_values().collect(), tally))
    }

    fn cached(&self, package: &Package, keys: &BTreeMap<String, String>) -> Option<Layer> {
        self.cache.get(package, keys.get(&package.name)?)
    }

    /// The stemcell's image, which is loaded once.
    fn stemcell(&self, base: &Base) -> Result<Arc<Stemcell>, Diagnostic> {
        let mut known = self.stemcells.lock();
        if let Some(stemcell) = known.get(base.digest.digest()) {
            return Ok(stemcell.clone());
        }
        let builder = self.settings.choice.find()?;
        let loaded = Arc::new(self.loaded(builder, base)?);
        known.insert(base.digest.digest().to_owned(), loaded.clone());
        Ok(loaded)
    }

    fn loaded(&self, builder: Builder, base: &Base) -> Result<Stemcell, Diagnostic> {
        let digits = base.digest.digest().get(..16).unwrap_or_default();
        let image = base.image(&format!("localhost/boson-stemcell:{digits}"));
        let place = self.cache.stemcells();
        let (layout, archive) = (place.join(digits), place.join(format!("{digits}.tar")));
        // The archive of another run, which has the same path, would be deleted before its builder has read it.
        let _lock = self.cache.lock_stemcell(digits).map_err(cache::storage_error)?;
        let mut said = String::new();
        if let Some(command) = builder.load(&archive) {
            boson_oci::archive(&image, &archive).map_err(cache::storage_error)?;
            let log = place.join(format!("{digits}.log"));
            let (tail, success) = output(command, builder, &log, &|_| {})?;
            // A builder that has loaded it needs it no more.
            let _ = fs::remove_file(&archive);
            if !success {
                return Err(builder.stemcell_error(&log, &tail.text()));
            }
            tail.last().unwrap_or_default().clone_into(&mut said);
        } else {
            boson_oci::directory(&image, &layout).map_err(cache::storage_error)?;
        }
        Ok(Stemcell {
            builder,
            name: builder.stemcell(&image, &said).to_owned(),
            layout,
            digest: image.manifest.digest.to_string(),
        })
    }

    /// Runs something while few enough others run.
    fn in_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut free = self.free.lock();
        while *free == 0 {
            self.freed.wait(&mut free);
        }
        *free -= 1;
        drop(free);
        let done = work();
        *self.free.lock() += 1;
        self.freed.notify_one();
        done
    }
}

// === impl Run ===

impl Run<'_> {
    /// Compiles a package, unless another run has done so meanwhile.
    fn package(&self, package: &Package) -> Result<(), Diagnostic> {
        let (cache, key) = (&self.compiler.cache, self.key(package));
        let _lock = cache.lock(package, key).map_err(cache::storage_error)?;
        if cache.get(package, key).is_some() {
            return Ok(());
        }
        self.compiler.in_turn(|| {
            (self.tell)(Event::Started(&package.name));
            let layer = self.build(package).and_then(|out| self.layer(package, &out));
            let stored = layer.and_then(|layer| cache.put(package, key, &layer).map_err(cache::storage_error));
            // Sources and results of large packages together would not fit on a disk.
            let _ = fs::remove_dir_all(self.work.of(package));
            (self.tell)(Event::Ended(&package.name));
            stored
        })
    }

    fn key(&self, package: &Package) -> &str {
        self.keys.get(&package.name).map(String::as_str).unwrap_or_default()
    }

    /// Builds it; the result is the path of a tar with `package.tar`.
    fn build(&self, package: &Package) -> Result<PathBuf, Diagnostic> {
        let place = self.work.of(package);
        let dependencies = self.dependencies(package, &place).map_err(cache::storage_error)?;
        let Stemcell { builder, name, .. } = self.stemcell;
        let text = dockerfile::package(name, package, dependencies, &self.work.name());
        fs::write(place.join("Dockerfile"), text).map_err(cache::storage_error)?;
        let side = |end: &str| place.with_file_name(format!("{}.{end}", package.name));
        let (out, id) = (side("out"), side("id"));
        let command = builder.command(&Build {
            context: &place,
            out: &out,
            id: &id,
            network: self.compiler.settings.network,
            layout: (&self.stemcell.layout, &self.stemcell.digest),
        });
        let log = self.compiler.cache.log(package, self.key(package));
        let tell = |bytes| (self.tell)(Event::Output(&package.name, bytes));
        let (tail, success) = output(command, *builder, &log, &tell)?;
        builder.clean(&id);
        if success {
            Ok(out)
        } else {
            Err(self.compile_error(package, &tail, &log))
        }
    }

    /// Puts the compiled packages that it depends on into the context, and counts them.
    fn dependencies(&self, package: &Package, place: &Path) -> io::Result<usize> {
        let all = self.packages;
        let dependencies = package
            .dependencies
            .iter()
            .filter_map(|name| all.iter().find(|one| one.name == *name));
        let mut count = 0;
        for (nth, dependency) in dependencies.enumerate() {
            let layer = self.compiler.cache.layer(dependency, self.key(dependency));
            let to = place.join(format!("dependency-{nth}.tar.gz"));
            if fs::hard_link(&layer, &to).is_err() {
                fs::copy(&layer, &to)?;
            }
            count += 1;
        }
        Ok(count)
    }

    /// The layer of the package in a builder's output.
    fn layer(&self, package: &Package, out: &Path) -> Result<Layer, Diagnostic> {
        let read_error = |error: io::Error| {
            let message = format!(
                "the output of '{}' cannot be read: {error}",
                self.stemcell.builder.name()
            );
            Diagnostic::error(codes::COMPILE_BUILDER, message)
        };
        let mut archive = tar::Archive::new(File::open(out).map_err(read_error)?);
        let Package { name, fingerprint, .. } = package;
        for entry in archive.entries().map_err(read_error)? {
            let mut entry = entry.map_err(read_error)?;
            if entry.path().map_err(read_error)?.ends_with("package.tar") {
                let place = self.compiler.cache.stemcells();
                let made = package_layer(name, fingerprint, &mut entry, &place, &self.compiler.pool)?;
                let _ = fs::remove_file(out);
                return Ok(made);
            }
        }
        Err(read_error(io::ErrorKind::NotFound.into()))
    }

    fn compile_error(&self, package: &Package, tail: &Tail, log: &Path) -> Diagnostic {
        let release = self.release;
        let message = format!(
            "package '{}' of release '{release}' does not compile:{}",
            package.name,
            tail.text()
        );
        let mut help = format!("the whole output is in '{}'", log.display());
        if !self.compiler.settings.network {
            help.push_str("; scripts have no network: if one needs it, set --network");
        }
        Diagnostic::error(codes::COMPILE_FAILED, message).help(help)
    }
}

/// Runs a command, and keeps its output in a file. Returns the last lines, and whether it has succeeded.
fn output(mut command: Command, builder: Builder, log: &Path, tell: &dyn Fn(u64)) -> Result<(Tail, bool), Diagnostic> {
    let start_error = |error: io::Error| builder.start_error(&error);
    let (reader, writer) = io::pipe().map_err(start_error)?;
    let errors = writer.try_clone().map_err(start_error)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(start_error)?;
    // The command holds the writing ends: reading would never end.
    drop(command);
    let tail = Tail::keep(reader, log, tell);
    let status = child.wait().map_err(start_error)?;
    Ok((tail.map_err(cache::storage_error)?, status.success()))
}
