//! The file of `--vars-store`, with the recipes beside it. One run at a time generates values: the next one waits,
//! reads the stored values, and uses them. So no run prints a value that is not in the file.

use super::{Lock, durable};
use crate::codes;
use crate::inputs;
use crate::{files, output};
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_pipeline::variables::{Recipes, Store};
use boson_pipeline::{Diagnostic, yaml};
use rustix::fs::Access;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most links to follow, as the system does.
const MAX_LINKS: usize = 40;

pub struct VarsStore {
    /// The user's path, for messages.
    name: String,
    /// The path with links resolved, so that a rename replaces the file and not a link.
    path: PathBuf,
    /// The content when it was last read; `None` if there was no file.
    content: Option<Vec<u8>>,
    lock: Option<Lock>,
}

// === impl VarsStore ===

impl VarsStore {
    /// The file at this path, with links resolved. It need not exist.
    ///
    /// # Errors
    /// It is a directory, a device or a named pipe, or its type cannot be read.
    pub fn at(path: &Path) -> Result<Self, Diagnostic> {
        let name = files::name(path);
        let path = resolve_links(path, &name)?;
        Ok(Self {
            name,
            path,
            content: None,
            lock: None,
        })
    }

    /// The values in it; empty if there is no file.
    ///
    /// # Errors
    /// It cannot be read, or is not a map.
    pub fn read(&mut self, shown: &mut Sources) -> Result<Store, Diagnostic> {
        self.content = self.read_regular(&self.path)?;
        let Some(bytes) = self.content.clone() else {
            return Ok(Store::default());
        };
        let mut store = Store::read(&inputs::secret_text(&self.name, bytes, shown)?)?;
        if let Some(bytes) = self.read_regular(&self.recipes())? {
            let name = format!("{}{RECIPES_SUFFIX}", self.name);
            store.recipes = Recipes::read(&inputs::secret_text(&name, bytes, shown)?)?;
        }
        Ok(store)
    }

    /// Locks the file, and waits for other runs that generate values for it. If its directory is not writable, no run
    /// can store values: the file is read without a lock, and writing fails if there is something to store.
    ///
    /// # Errors
    /// It cannot be locked.
    pub fn lock(&mut self) -> Result<(), Diagnostic> {
        const UNWRITABLE: [io::ErrorKind; 3] = [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::NotFound,
        ];
        let (path, name) = (self.sibling(".", ".lock"), &self.name);
        let waiting = || output::eprint(&format!("waiting for another run that generates values for '{name}'\n"));
        match Lock::acquire(path.clone(), waiting) {
            Ok(lock) => {
                self.lock = Some(lock);
                self.remove_leftovers()
            }
            // Not one of another user that cannot be opened, which may be gone now.
            Err(error) if UNWRITABLE.contains(&error.kind()) && !path.exists() && !is_writable(&path) => Ok(()),
            Err(error) => Err(self.unwritable(&format!("cannot lock '{name}': {error}"))),
        }
    }

    pub fn release(&mut self) {
        self.lock = None;
    }

    /// Whether the file has changed since it was read. Other programs do not lock it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn has_changed(&self) -> Result<bool, Diagnostic> {
        Ok(self.read_regular(&self.path)? != self.content)
    }

    /// Stores values and recipes, if there are new ones.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, store: &Store) -> Result<(), Diagnostic> {
        let write = |path: &Path, tree: &Tree| {
            durable::write(path, yaml::write(tree).as_bytes(), 0o600)
                .map_err(|error| self.unwritable(&format!("{error:#}")))
        };
        if store.changed() {
            write(&self.path, &store.to_tree())?;
        }
        // A crash between the two loses recipes, never a value; a value without a recipe is not made again.
        if store.recipes.changed() {
            write(&self.recipes(), &store.recipes.to_tree())?;
        }
        Ok(())
    }

    fn read_regular(&self, path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
        match fs::symlink_metadata(path) {
            Ok(data) if data.is_file() && data.len() > files::MAX_BYTES => Err(files::too_large(&self.name)),
            _ => files::regular(path, files::MAX_BYTES).map_err(|error| files::unreadable(&self.name, &error)),
        }
    }

    fn recipes(&self) -> PathBuf {
        self.sibling("", RECIPES_SUFFIX)
    }

    fn sibling(&self, before: &str, after: &str) -> PathBuf {
        let mut name = OsString::from(before);
        name.push(self.path.file_name().unwrap_or_default());
        name.push(after);
        self.path.with_file_name(name)
    }

    /// Removes files with secrets that killed runs left.
    fn remove_leftovers(&self) -> Result<(), Diagnostic> {
        let all = [self.path.clone(), self.recipes()];
        let ours = |name: &str| all.iter().any(|path| path.file_name() == Some(name.as_ref()));
        durable::remove_leftovers(durable::parent(&self.path), ours)
            .map_err(|error| self.unwritable(&format!("{error:#}")))
    }

    fn unwritable(&self, message: &str) -> Diagnostic {
        Diagnostic::error(codes::OUTPUT_UNWRITABLE, message).help("check --vars-store")
    }
}

/// Suffix of the file that records the options of generated values.
const RECIPES_SUFFIX: &str = ".options";

/// Whether this process may make files in the directory of this path.
fn is_writable(path: &Path) -> bool {
    rustix::fs::access(durable::parent(path), Access::WRITE_OK).is_ok()
}

/// Resolves the links at this path, to the file that is read or created.
fn resolve_links(path: &Path, name: &str) -> Result<PathBuf, Diagnostic> {
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => return Err(files::directory(name)),
        Ok(data) if !data.is_file() => {
            let message = format!("'{name}' is not a regular file: no values can be stored in it");
            let error = Diagnostic::error(codes::VARS_STORE_SPECIAL, message).in_document(name);
            return Err(error.help("set --vars-store to the path of a regular file, or of a new file"));
        }
        Ok(_) => return fs::canonicalize(path).map_err(|error| files::unreadable(name, &error)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(files::unreadable(name, &error)),
        Err(_) => {}
    }
    // The file does not exist, or is a dangling link: the file is created at the link's target, as other programs do.
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = durable::parent(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(files::unreadable(name, &io::Error::from(io::ErrorKind::NotFound)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::crash_at_each_point;
    use std::os::unix::fs::symlink;

    fn made(name: &str, value: &str) -> impl Fn(&mut Store) {
        move |store| {
            store.put(name, Tree::from(value));
            store.recipes.record(name, "password", &Tree::Null, &Tree::from(value));
        }
    }

    fn store(path: &Path, make: impl Fn(&mut Store)) {
        let mut file = VarsStore::at(path).unwrap();
        file.lock().unwrap();
        let mut store = file.read(&mut Sources::default()).unwrap();
        make(&mut store);
        file.write(&store).unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_that_is_killed_anywhere_loses_no_value_and_leaves_no_secret_beside() {
        let prepare = |directory: &Path| store(&directory.join("vars.yml"), made("a", "first"));
        let act = |directory: &Path| store(&directory.join("vars.yml"), made("b", "second"));
        let check = |directory: &Path, at: u32| {
            let path = directory.join("vars.yml");
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                ["a: first\n", "a: first\nb: second\n"].contains(&text.as_str()),
                "{at}: {text}"
            );
            store(&path, made("c", "third"));
            assert_eq!(names(directory), ["vars.yml", "vars.yml.options"], "{at}");
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                text.starts_with("a: first\n") && text.ends_with("c: third\n"),
                "{at}: {text}"
            );
            let options = fs::read_to_string(directory.join("vars.yml.options")).unwrap();
            assert!(options.contains("\na:") || options.starts_with("a:"), "{at}: {options}");
        };
        let test =
            "storage::vars_store::tests::a_run_that_is_killed_anywhere_loses_no_value_and_leaves_no_secret_beside";
        crash_at_each_point(test, prepare, act, check);
    }

    #[test]
    fn links_stay_links_also_those_to_nothing_yet() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("shared")).unwrap();
        symlink("link", at("vars.yml")).unwrap();
        symlink("shared/real.yml", at("link")).unwrap();
        store(&at("vars.yml"), made("a", "first"));
        store(&at("vars.yml"), made("b", "second"));
        assert_eq!(
            fs::read_to_string(at("shared/real.yml")).unwrap(),
            "a: first\nb: second\n"
        );
        assert!(["vars.yml", "link"].iter().all(|name| at(name).is_symlink()));
        assert_eq!(names(&at("shared")), ["real.yml", "real.yml.options"]);
    }

    #[test]
    fn a_change_by_a_program_that_does_not_lock_is_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("vars.yml");
        let mut file = VarsStore::at(&path).unwrap();
        file.read(&mut Sources::default()).unwrap();
        assert!(!file.has_changed().unwrap());
        fs::write(&path, "a: 1\n").unwrap();
        assert!(file.has_changed().unwrap());
    }
}
