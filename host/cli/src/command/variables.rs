//! Options about ops files and variables, the same for `interpolate` and `convert`, and the first half of the flow: read, apply, interpolate.

use crate::command::inputs;
use crate::files;
use crate::generator::Credentials;
use boson_document::Tree;
use boson_pipeline::report::Sources as Shown;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::{Named, Variable};
use boson_pipeline::variables::{self, AskAddresses, FilePath, Inputs, Options, Recipes, Sources, Store, Table};
use boson_pipeline::yaml::{self, Document};
use boson_pipeline::{Diagnostic, Severity, StageError, Stages};
use clap::Args;
use std::path::{Path, PathBuf};

/// Ops files and variables.
#[derive(Args, Clone, Debug, Default)]
pub struct VariableArguments {
    /// Apply this ops file; in the order given
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
    /// Keep generated variables in this file: read where it is there, made where not. `convert` keeps beside it, in FILE.options, what `update_mode` needs
    #[arg(
        long = "vars-store",
        value_name = "FILE",
        overrides_with = "vars_store",
        help_heading = "Variables"
    )]
    pub vars_store: Option<PathBuf>,
}

/// Everything that was read.
pub struct Read {
    manifest: Document,
    ops: Vec<Document>,
    table: Table,
    store: Store,
    store_path: Option<PathBuf>,
    generates: bool,
    /// Values that may be shown.
    plain: Vec<String>,
}

/// A manifest after ops and variables.
pub struct Manifest {
    /// Name of its document.
    pub name: String,
    /// Content.
    pub document: Tree,
    /// Variables that it defines.
    pub variables: Vec<Variable>,
    /// Their values.
    pub values: Tree,
    secrets: Secrets,
}

// === impl Manifest ===

impl Manifest {
    /// What messages may quote. `shown`: what anybody may read.
    pub fn filter<'a>(&'a self, shown: &'a Shown) -> Filter<'a> {
        Filter {
            secrets: &self.secrets,
            sources: shown,
        }
    }

    /// Diagnostics without the values of its variables. `shown`: what anybody may read.
    pub fn scrub(&self, diagnostics: Vec<Diagnostic>, shown: &Shown) -> Vec<Diagnostic> {
        self.secrets.scrub(diagnostics, shown)
    }
}

/// Reads manifest, ops files and variables.
///
/// # Errors
/// Everything that cannot be read.
pub fn read(manifest: &Path, arguments: &VariableArguments, shown: &mut Shown) -> Result<Read, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let manifest = keep(inputs::yaml_file(&files::expanded(manifest), shown), &mut errors);
    let ops: Vec<Document> = arguments
        .ops
        .iter()
        .filter_map(|file| keep(read_as("ops file", file, inputs::yaml_file(file, shown)), &mut errors))
        .collect();
    let table = table(arguments, shown, &mut errors);
    let store_path = arguments.vars_store.as_deref().map(files::expanded);
    let store = keep(store(store_path.as_deref(), shown), &mut errors);
    match (manifest, table, store) {
        (Some(manifest), Some(table), Some(store)) if errors.is_empty() => {
            shown.set_main(&manifest.name);
            Ok(Read {
                manifest,
                ops,
                table,
                store,
                store_path,
                generates: false,
                plain: variables::plain_words(arguments.vars.iter().map(String::as_str)),
            })
        }
        _ => Err(errors),
    }
}

/// In BOSH's words, what a file that cannot be read was to be read as.
fn read_as<T>(what: &str, path: &Path, read: Result<T, Box<Diagnostic>>) -> Result<T, Box<Diagnostic>> {
    read.map_err(|mut error| {
        if error.code.starts_with("input-") {
            error.message = format!("Reading {what} '{}': {}", path.display(), error.message);
        }
        error
    })
}

fn keep<T>(result: Result<T, Box<Diagnostic>>, errors: &mut Vec<Diagnostic>) -> Option<T> {
    result.map_err(|error| errors.push(*error)).ok()
}

fn table(arguments: &VariableArguments, shown: &mut Shown, errors: &mut Vec<Diagnostic>) -> Option<Table> {
    let files: Vec<Document> = arguments
        .vars_files
        .iter()
        .filter_map(|file| {
            keep(
                read_as("variables file", file, inputs::secret_file(file, shown)),
                errors,
            )
        })
        .collect();
    let mut contents = Vec::new();
    for argument in &arguments.var_files {
        let read = FilePath::parse(argument).map_err(Box::new).and_then(|file| {
            let path = files::expanded(Path::new(&file.path));
            let bytes = read_as("variable from file", &path, files::read(&path))?;
            Ok((file, bytes))
        });
        contents.extend(keep(read, errors));
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

fn store(path: Option<&Path>, shown: &mut Shown) -> Result<Store, Box<Diagnostic>> {
    match path {
        Some(path) if path.exists() => {
            let mut store = Store::read(&inputs::secret_file(path, shown)?)?;
            let beside = recipes_path(path);
            if beside.exists() {
                store.recipes = Recipes::read(&inputs::secret_file(&beside, shown)?)?;
            }
            Ok(store)
        }
        _ => Ok(Store::empty()),
    }
}

/// Where it is remembered how the values of a store were made.
fn recipes_path(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".options");
    name.into()
}

// === impl Read ===

impl Read {
    /// Name of the manifest's document.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Makes values also where there is no store to keep them in: a conversion needs them all.
    pub fn generating(mut self) -> Self {
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
        warnings.extend(self.manifest.warnings.iter().cloned());
        warnings.extend(self.ops.iter().flat_map(|file| file.warnings.clone()));
        if self.ops.is_empty() {
            return Ok(self.manifest.tree.clone());
        }
        let files: Vec<Named<'_>> = self
            .ops
            .iter()
            .map(|file| Named {
                name: &file.name,
                tree: &file.tree,
            })
            .collect();
        let manifest = Named {
            name: &self.manifest.name,
            tree: &self.manifest.tree,
        };
        let (applied, said) = stages.apply(manifest, &files).map_err(StageError::into_diagnostics)?;
        warnings.extend(said);
        // From here on the manifest's name means the result, whose parts lead back to the files they come from.
        shown.add_result(
            &self.manifest.name,
            &self.manifest.name,
            applied.document.clone(),
            &applied.origins,
        );
        Ok(applied.document)
    }

    /// Finds or makes values, and puts them in. What was made is kept in the store at once, whatever happens later: nobody
    /// wants another CA because a template failed.
    ///
    /// # Errors
    /// Of the variables stage, without values; and a store that cannot be written.
    pub fn interpolate(
        &mut self,
        stages: &dyn Stages,
        document: &Tree,
        options: &Options,
        addresses: Option<&AskAddresses<'_>>,
        shown: &Shown,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Manifest, Vec<Diagnostic>> {
        let mut generator = Credentials::new(options.rules);
        let generates = self.generates || self.store_path.is_some();
        let inputs = Inputs {
            table: &self.table,
            store: &mut self.store,
            generator: if generates { Some(&mut generator) } else { None },
            addresses,
        };
        let named = Named {
            name: &self.manifest.name,
            tree: document,
        };
        let result = variables::interpolate(stages, named, inputs, options);
        self.save().map_err(|error| vec![*error])?;
        let (done, said) = result.map_err(|error| {
            let mut known = self.secrets(&self.table.to_tree());
            known.add(self.secrets(&self.store.to_tree()));
            known.scrub(error.into_diagnostics(), shown)
        })?;
        let mut secrets = self.secrets(&done.values);
        secrets.except_names(&done.document);
        warnings.extend(secrets.scrub(said, shown));
        if self.store_path.is_none() && self.store.changed() {
            let message = "Values were made for this run only; the next one makes others";
            let note = Diagnostic::warning("variables-not-kept", message).help("keep them: --vars-store FILE");
            warnings.push(Diagnostic {
                severity: Severity::Info,
                ..note
            });
        }
        Ok(Manifest {
            name: self.manifest.name.clone(),
            document: done.document,
            variables: done.variables,
            values: done.values,
            secrets,
        })
    }

    fn secrets(&self, values: &Tree) -> Secrets {
        Secrets::of(values).except(self.plain.iter().map(String::as_str))
    }

    fn save(&self) -> Result<(), Box<Diagnostic>> {
        let Some(path) = &self.store_path else { return Ok(()) };
        let write = |path: &Path, tree: &Tree| {
            files::write(path, yaml::write(tree).as_bytes(), 0o600).map_err(|error| {
                Box::new(Diagnostic::error("output-unwritable", format!("{error:#}")).help("check --vars-store"))
            })
        };
        if self.store.changed() {
            write(path, &self.store.to_tree())?;
        }
        // A crash between the two loses recipes, never a value; what has none is kept.
        if self.store.recipes.changed() {
            write(&recipes_path(path), &self.store.recipes.to_tree())?;
        }
        Ok(())
    }
}
