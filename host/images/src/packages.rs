//! The layers of packages. A package is at `/var/vcap/packages-src/<package>/<fingerprint>`, and
//! `/var/vcap/packages/<package>` is a link to it. BOSH's agent puts it below `/var/vcap/data/packages`, but in a pod
//! the volume at `/var/vcap/data` hides the image's files.

use crate::error::{read_or_write_error, write_error};
use crate::gzip::Pool;
use crate::layer::Draft;
use boson_document::Code;
use boson_oci::Layer;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use boson_pipeline::release::paths::clean;
use boson_releases::{Budget, Item, Kind, Limits, each, inner_path};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Path of packages.
pub(crate) const SOURCES_PATH: &str = "var/vcap/packages-src";
/// The path at which jobs and scripts expect packages.
const LINKS_PATH: &str = "var/vcap/packages";

/// Limits of an unpacked package: the largest contain a root filesystem of some GiB.
const PACKAGE_LIMITS: Limits = Limits::scanning(16 << 30);

/// The layer of one compiled package, which is in a tar.
///
/// # Errors
/// It contains files that packages cannot have; the layer cannot be written.
pub fn package_layer(
    name: &str,
    fingerprint: &str,
    content: &mut dyn Read,
    place: &Path,
    pool: &Pool,
) -> Result<Layer, Diagnostic> {
    let mut draft = Draft::new(place, pool).map_err(|error| write_error(&error))?;
    add(&mut draft, name, fingerprint, content, "compiled")?;
    draft.finish().map_err(|error| write_error(&error))
}

struct Unpacking<'u> {
    draft: &'u mut Draft,
    archive: String,
    root: String,
    budget: &'u Budget,
    /// Symbolic links so far: nothing may be below one.
    links: BTreeSet<String>,
}

/// Adds a package whose tarball is `content`. `source`: the release's, for messages.
///
/// # Errors
/// The tarball is damaged or hostile; the layer cannot be written.
pub(crate) fn add(
    draft: &mut Draft,
    name: &str,
    fingerprint: &str,
    content: &mut dyn Read,
    source: &str,
) -> Result<(), Diagnostic> {
    let root = format!("{SOURCES_PATH}/{name}/{fingerprint}");
    draft
        .directory(&root)
        .and_then(|()| draft.directory(LINKS_PATH))
        .and_then(|()| draft.link(&format!("{LINKS_PATH}/{name}"), &format!("/{root}")))
        .map_err(|error| write_error(&error))?;
    let budget = Budget::new(PACKAGE_LIMITS);
    let mut unpacking = Unpacking {
        draft,
        archive: format!("{source}:compiled_packages/{name}.tgz"),
        root,
        budget: &budget,
        links: BTreeSet::new(),
    };
    let archive = unpacking.archive.clone();
    each(&archive, content, &budget, &mut |_| {}, &mut |item, data| {
        unpacking.entry(item, data)
    })
}

// === impl Unpacking ===

impl Unpacking<'_> {
    fn entry(&mut self, item: &Item, data: &mut dyn Read) -> Result<(), Diagnostic> {
        let path = self.path(item)?;
        if path.is_empty() {
            return Ok(());
        }
        let full = format!("{}/{path}", self.root);
        let written = match &item.kind {
            Kind::Directory => self.draft.directory_with(&full, item.mode),
            Kind::File { .. } => self.draft.file(&full, item.mode, item.size, data.take(item.size)),
            // The target is resolved in the container; links to other packages and to /dev/null are common.
            Kind::Link(target) => {
                self.budget.note(&path, &self.archive)?;
                let target = target.clone();
                self.links.insert(path);
                self.draft.link(&full, &target)
            }
            Kind::HardLink(target) => {
                let target = clean(target).map_err(|_| self.refuse(item, codes::RELEASE_ARCHIVE_LINK, LEADS_OUT))?;
                self.draft.hard_link(&full, &format!("{}/{target}", self.root))
            }
            Kind::Special(what) => return Err(self.refuse(item, codes::RELEASE_ARCHIVE_ENTRY, what)),
        };
        written.map_err(|error| read_or_write_error(error, &self.archive))
    }

    fn path(&self, item: &Item) -> Result<String, Diagnostic> {
        let path = inner_path(item, &self.archive)?;
        if path.split('/').any(|part| part.starts_with(".wh.")) {
            return Err(self.refuse(
                item,
                codes::RELEASE_ARCHIVE_ENTRY,
                "has a name with which layers of images delete files",
            ));
        }
        let mut above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        if above.any(|part| self.links.contains(part)) {
            return Err(self.refuse(item, codes::RELEASE_ARCHIVE_LINK, "is written through a link"));
        }
        Ok(path)
    }

    fn refuse(&self, item: &Item, code: &Code, what: &str) -> Diagnostic {
        item.entry_error(code, &self.archive, what)
    }
}

const LEADS_OUT: &str = "is a link that leads out of the archive";
