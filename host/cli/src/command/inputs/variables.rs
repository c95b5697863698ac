//! Options about ops files and variables, the same for `interpolate` and `convert`, and the first half of the flow:
//! read, apply, interpolate.

use crate::codes;
use crate::command::inputs::configs::Configs;
use crate::generator::Credentials;
use boson_commands::files;
use boson_commands::inputs;
use boson_commands::storage::vars_store::VarsStore;
use boson_document::Tree;
use boson_pipeline::convert::{self, Documents};
use boson_pipeline::report::Sources as Shown;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::stage::{Named, Reply, Variable};
use boson_pipeline::variables::{
    self, AskAddresses, CheckAhead, FilePath, Inputs, Interpolation, Options, Sources, Store, Table,
};
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Stages};
use clap::Args;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Type of a variable whose value is one text.
const PASSWORD_TYPE: &str = "password";

/// Ops files and variables.
#[derive(Args, Clone, Debug, Default)]
pub struct VariableArguments {
    /// Apply this ops file; repeat it for several, in order
    #[arg(short = 'o', long = "ops-file", value_name = "FILE")]
    pub ops: Vec<PathBuf>,
    /// Set a variable; the value is YAML
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", help_heading = "Variables")]
    pub vars: Vec<String>,
    /// Set variables from a YAML file
    #[arg(short = 'l', long = "vars-file", value_name = "FILE", help_heading = "Variables")]
    pub vars_files: Vec<PathBuf>,
    /// Set a variable to the text of a file
    #[arg(long = "var-file", value_name = "NAME=FILE", help_heading = "Variables")]
    pub var_files: Vec<String>,
    /// Set variables from environment variables PREFIX_NAME
    #[arg(long = "vars-env", value_name = "PREFIX", help_heading = "Variables")]
    pub vars_env: Vec<String>,
    /// Read generated values from this file, and store new ones in it. `convert` stores the options of the values in
    /// FILE.options, for `update_mode`
    #[arg(
        long = "vars-store",
        value_name = "FILE",
        overrides_with = "vars_store",
        help_heading = "Variables"
    )]
    pub vars_store: Option<PathBuf>,
    /// Where generated values are kept.
    #[arg(skip)]
    pub kept: Kept,
    /// Documents that were read before, instead of files.
    #[arg(skip)]
    pub given: Option<Given>,
}

#[derive(Clone, Debug)]
pub struct Given {
    pub manifest: Document,
    pub ops: Vec<Document>,
    /// Whether messages may not quote the documents.
    pub is_secret: bool,
    /// None: the values that the options give.
    pub values: Option<Table>,
}

#[derive(Clone, Debug, Default)]
pub enum Kept {
    /// In the vars store, if there is one.
    #[default]
    InStore,
    /// In memory: the vars store is read and not written.
    InMemory,
    /// These values are used instead of those of the vars store, and none are kept.
    Given(Tree),
}

/// How often to generate values again if another program has changed the store.
const MAX_ATTEMPTS: usize = 5;

pub struct Read {
    manifest: Document,
    ops: Vec<Document>,
    table: Table,
    store: Store,
    store_file: Option<VarsStore>,
    generates: bool,
    /// Values that may be shown in messages.
    plain: Vec<String>,
}

/// Callbacks for questions about the manifest.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// The addresses of links that variables consume.
    pub addresses: Option<&'a AskAddresses<'a>>,
    /// Checks that do not depend on values.
    pub check: Option<&'a CheckAhead<'a>>,
}

/// A manifest after ops and variables.
pub struct Manifest {
    /// Name of its document.
    pub name: String,
    pub document: Tree,
    /// Variables that it defines.
    pub variables: Vec<Variable>,
    pub values: Tree,
    /// What messages must not quote.
    pub secrets: Secrets,
}

// === impl Manifest ===

impl Manifest {
    pub fn named(&self) -> Named<'_> {
        Named::new(&self.name, &self.document)
    }

    /// Adds values that messages must not quote, except for names in the manifest.
    pub fn hide(&mut self, mut secrets: Secrets) {
        secrets.except_names(&self.document);
        self.secrets.add(secrets);
    }
}

/// Reads manifest, ops files and variables.
///
/// # Errors
/// Everything that cannot be read.
pub fn read(manifest: &Path, arguments: &VariableArguments, shown: &mut Shown) -> Result<Read, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let (manifest, ops) = match &arguments.given {
        Some(given) => {
            let all = std::iter::once(&given.manifest).chain(&given.ops);
            all.for_each(|document| shown.add_document(document.clone(), given.is_secret));
            (Some(given.manifest.clone()), given.ops.clone())
        }
        None => documents(manifest, arguments, shown, &mut errors),
    };
    let table = match arguments.given.as_ref().and_then(|given| given.values.as_ref()) {
        Some(values) => Some(values.clone()),
        None => table(arguments, shown, &mut errors),
    };
    let store = collect_error(store(arguments, shown), &mut errors);
    match (manifest, table, store) {
        (Some(manifest), Some(table), Some((store_file, store))) if errors.is_empty() => {
            shown.set_main(&manifest.name);
            Ok(Read {
                manifest,
                ops,
                table,
                store,
                store_file,
                generates: false,
                plain: variables::plain_words(arguments.vars.iter().map(String::as_str)),
            })
        }
        _ => Err(errors),
    }
}

/// Reads everything that `given` can hold.
///
/// # Errors
/// Everything that cannot be read.
pub fn given(manifest: &Path, arguments: &VariableArguments, shown: &mut Shown) -> Result<Given, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let (manifest, ops) = documents(manifest, arguments, shown, &mut errors);
    let values = table(arguments, shown, &mut errors);
    match manifest {
        Some(manifest) if errors.is_empty() => Ok(Given {
            manifest,
            ops,
            is_secret: false,
            values,
        }),
        _ => Err(errors),
    }
}

fn documents(
    manifest: &Path,
    arguments: &VariableArguments,
    shown: &mut Shown,
    errors: &mut Vec<Diagnostic>,
) -> (Option<Document>, Vec<Document>) {
    let manifest = collect_error(inputs::yaml_file(&files::expanded(manifest), shown), errors);
    let ops = arguments.ops.iter();
    let ops = ops.filter_map(|file| collect_error(read_as("ops file", file, inputs::yaml_file(file, shown)), errors));
    let ops = ops.collect();
    (manifest, ops)
}

/// The error for a file that cannot be read, with its purpose in BOSH's words.
fn read_as<T>(what: &str, path: &Path, read: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    read.map_err(|mut error| {
        if error.code.starts_with("input-") {
            error.message = format!("Reading {what} '{}': {}", path.display(), error.message);
        }
        error
    })
}

fn collect_error<T>(result: Result<T, Diagnostic>, errors: &mut Vec<Diagnostic>) -> Option<T> {
    let note = |error: Diagnostic| {
        // If the files together are too large, report only the first that does not fit.
        let total = inputs::TOTAL_SIZE_CODE.name;
        if error.code != total || errors.iter().all(|other| other.code != total) {
            errors.push(error);
        }
    };
    result.map_err(note).ok()
}

fn table(arguments: &VariableArguments, shown: &mut Shown, errors: &mut Vec<Diagnostic>) -> Option<Table> {
    let mut read = |file: &PathBuf| read_as("variables file", file, inputs::secret_file(file, shown));
    let files = arguments.vars_files.iter();
    let files: Vec<Document> = files.filter_map(|file| collect_error(read(file), errors)).collect();
    let mut contents = Vec::new();
    for argument in &arguments.var_files {
        let read = FilePath::parse(argument).and_then(|file| {
            let path = files::expanded(Path::new(&file.path));
            let bytes = read_as("variable from file", &path, files::read(&path))?;
            // Counted twice: the text, and its copy in the tree.
            inputs::count_memory(&files::name(&path), 2 * bytes.len() as u64, shown)?;
            Ok((file, bytes))
        });
        contents.extend(collect_error(read, errors));
    }
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let sources = Sources {
        prefixes: arguments.vars_env.iter().map(String::as_str).collect(),
        environment: environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
        files: files.iter().collect(),
        contents: contents
            .iter()
            .map(|(file, bytes)| (file.name.as_str(), file.path.as_str(), bytes.as_slice()))
            .collect(),
        flags: arguments.vars.iter().map(String::as_str).collect(),
    };
    sources.table().map_err(|more| errors.extend(more)).ok()
}

fn store(arguments: &VariableArguments, shown: &mut Shown) -> Result<(Option<VarsStore>, Store), Diagnostic> {
    let (path, kept) = (arguments.vars_store.as_deref(), &arguments.kept);
    match (path, kept) {
        (_, Kept::Given(values)) => Ok((None, Store::of(values))),
        (None, _) => Ok((None, Store::default())),
        (Some(path), kept) => {
            let mut file = VarsStore::at(&files::expanded(path))?;
            let store = file.read(shown)?;
            Ok((matches!(kept, Kept::InStore).then_some(file), store))
        }
    }
}

// === impl Read ===

impl Read {
    /// Name of the manifest's document.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The `name` of the manifest, if it has no placeholder.
    pub fn own_name(&self) -> Option<&str> {
        self.manifest.tree.str("name").filter(|name| !name.contains("(("))
    }

    /// Generates values even without a store, because a conversion needs all of them.
    pub fn with_generation(mut self) -> Self {
        self.generates = true;
        self
    }

    /// Applies the ops files.
    ///
    /// # Errors
    /// Of the ops stage.
    pub fn apply(
        &self,
        stages: &dyn Stages,
        shown: &mut Shown,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Tree, Vec<Diagnostic>> {
        convert::apply(stages, &self.manifest, &self.ops, shown, warnings)
    }

    /// Applies the ops files, and adds cloud configs and runtime configs. `deployment`: its name, if it is not the
    /// manifest's.
    ///
    /// # Errors
    /// As [`convert::merge`].
    pub fn merge(
        &self,
        stages: &dyn Stages,
        configs: &Configs,
        deployment: Option<&str>,
        shown: &mut Shown,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Tree, Vec<Diagnostic>> {
        let documents = Documents {
            manifest: &self.manifest,
            ops: &self.ops,
            cloud_configs: &configs.cloud,
            runtime_configs: &configs.runtime,
            deployment,
        };
        convert::merge(stages, documents, shown, warnings)
    }

    /// Finds or generates values, and inserts them. Generated values are stored at once, even if a later step fails: a
    /// failed template must not cause a new CA. No other run generates values for the same store meanwhile, and the
    /// inserted values are the stored ones.
    ///
    /// # Errors
    /// Of the variables stage, without values; and a store that cannot be written.
    pub fn interpolate(
        &mut self,
        stages: &dyn Stages,
        document: &Tree,
        options: &Options,
        asked: &Asked<'_>,
        shown: &Shown,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Manifest, Vec<Diagnostic>> {
        let refused = RefCell::new(Tree::Null);
        let check = |manifest: Named<'_>| match asked.check.map_or(Ok(()), |check| check(manifest)) {
            Ok(()) => Ok(()),
            Err(error) => {
                refused.replace(manifest.tree.clone());
                Err(error)
            }
        };
        let asked = Asked {
            check: asked.check.is_some().then_some(&check),
            ..*asked
        };
        let (done, reported) = self
            .interpolate_stored(stages, document, options, &asked)
            .map_err(|errors| {
                let mut known = self.secrets();
                known.except_names(&refused.borrow());
                known.scrub(errors, shown)
            })?;
        let passwords = done.variables.iter().filter(|one| one.kind == PASSWORD_TYPE);
        let passwords = passwords.filter_map(|one| Some((one.name.clone(), done.values.get(&one.name)?.clone())));
        let mut secrets = self.without_plain(Secrets::of(&done.values));
        secrets.add(self.without_plain(Secrets::generated(&passwords.collect())));
        secrets.except_names(&done.document);
        warnings.extend(secrets.scrub(reported, shown));
        if self.store_file.is_none() && self.store.changed() {
            let message = "Generated values are not stored: the next run generates others";
            let note = Diagnostic::info(codes::VARIABLES_NOT_KEPT, message);
            warnings.push(note.help("store them: --vars-store FILE"));
        }
        Ok(Manifest {
            name: self.manifest.name.clone(),
            document: done.document,
            variables: done.variables,
            values: done.values,
            secrets,
        })
    }

    /// The values that are given, stored, or generated so far.
    pub fn secrets(&self) -> Secrets {
        let mut known = self.without_plain(Secrets::of(&self.table.to_tree()));
        known.add(self.without_plain(Secrets::generated(&self.store.to_tree())));
        known
    }

    /// Without the words that were given on the command line.
    fn without_plain(&self, secrets: Secrets) -> Secrets {
        secrets.except(self.plain.iter().map(String::as_str))
    }

    /// The manifest with its values, all of which are in the store.
    fn interpolate_stored(
        &mut self,
        stages: &dyn Stages,
        document: &Tree,
        options: &Options,
        asked: &Asked<'_>,
    ) -> Result<(Interpolation, Vec<Diagnostic>), Vec<Diagnostic>> {
        if let Some(file) = &mut self.store_file {
            file.lock()?;
        }
        for _ in 0..MAX_ATTEMPTS {
            self.update()?;
            let result = self.interpolate_once(stages, document, options, asked);
            let Some(file) = &mut self.store_file else {
                return Ok(result?);
            };
            // An editor, or bosh, does not respect the lock. Generated values stay in memory for the next attempt.
            if self.store.changed() && file.has_changed()? {
                continue;
            }
            file.write(&self.store)?;
            file.release();
            return Ok(result?);
        }
        let message = "another program changed the vars store each time before values could be stored";
        Err(vec![
            Diagnostic::error(codes::VARS_STORE_BUSY, message).help("try again when the other program has finished"),
        ])
    }

    /// Reads the store again if it was changed.
    fn update(&mut self) -> Result<(), Diagnostic> {
        if let Some(file) = &mut self.store_file
            && file.has_changed()?
        {
            let current = file.read(&mut Shown::default())?;
            self.store = std::mem::take(&mut self.store).merge_into(current);
        }
        Ok(())
    }

    fn interpolate_once(
        &mut self,
        stages: &dyn Stages,
        document: &Tree,
        options: &Options,
        asked: &Asked<'_>,
    ) -> Reply<Interpolation> {
        let mut generator = Credentials::new(options.rules);
        let generates = self.generates || self.store_file.is_some();
        let inputs = Inputs {
            table: &self.table,
            store: &mut self.store,
            generator: if generates { Some(&mut generator) } else { None },
            addresses: asked.addresses,
            check: asked.check,
        };
        let named = Named::new(&self.manifest.name, document);
        variables::interpolate(stages, named, inputs, options)
    }
}
