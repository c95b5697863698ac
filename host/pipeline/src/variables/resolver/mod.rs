//! Finds the value of each variable, or has it generated: the variables in its options come first, by `bosh
//! interpolate`'s rules.

mod making;

use crate::diagnostic::Diagnostic;
use crate::stage::{Addresses, Definition, Named, StageError, Stages, VariableRules, VariablesPlan};
use crate::variables::definitions::amend::amend;
use crate::variables::definitions::circle::recursion_help;
use crate::variables::definitions::update::UpdateMode;
use crate::variables::{Generator, Inputs, Options, Store, Table};
use boson_document::placeholder::{each_string, scan};
use boson_document::{Pointer, Tree};
use indexmap::IndexSet;
use std::collections::{HashMap, HashSet};

/// Longest chain of variables that need each other.
const MAX_CHAIN: usize = 64;

/// Inputs for finding values, and the results so far.
pub struct Resolver<'a> {
    stages: &'a dyn Stages,
    rules: VariableRules,
    /// Name of the document with the definitions.
    document: &'a str,
    /// The first definition of each name.
    definitions: HashMap<&'a str, &'a Definition>,
    pub table: &'a Table,
    store: &'a mut Store,
    generator: Option<&'a mut dyn Generator>,
    addresses: &'a Addresses,
    /// Mode of variables without their own update mode; `None`: existing values stay.
    update_mode: Option<UpdateMode>,
    /// Finished names.
    states: HashMap<String, State>,
    /// Options of definitions, placeholders replaced, if they have all values.
    pub options: HashMap<&'a str, Tree>,
    pub warnings: Vec<Diagnostic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Found,
    Missing,
    /// It counts as missing, because its options lack a value.
    Blocked,
}

/// The names whose options are being resolved, outermost first.
#[derive(Default)]
pub struct Path<'a> {
    names: Vec<String>,
    here: Option<&'a Definition>,
}

// === impl Resolver ===

impl<'a> Resolver<'a> {
    /// A resolver without results.
    pub fn new(
        stages: &'a dyn Stages,
        document: &'a str,
        plan: &'a VariablesPlan,
        inputs: &'a mut Inputs<'_>,
        options: &Options,
        addresses: &'a Addresses,
        update_mode: Option<UpdateMode>,
    ) -> Self {
        let definitions = plan.definitions.iter().rev();
        Self {
            stages,
            rules: options.rules,
            document,
            // The first definition of a name counts: later ones are inserted first.
            definitions: definitions.map(|one| (one.name.as_str(), one)).collect(),
            table: inputs.table,
            store: inputs.store,
            generator: match &mut inputs.generator {
                Some(generator) => Some(&mut **generator),
                None => None,
            },
            addresses,
            update_mode,
            states: HashMap::new(),
            options: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Finds the value of a variable, or has it generated.
    ///
    /// # Errors
    /// Options with a circle or unsuitable values, and errors of the generator.
    pub fn resolve(&mut self, name: &str) -> Result<(), StageError> {
        self.resolve_within(name, &mut Path::default()).map(|_| ())
    }

    /// The value of a variable that was found.
    pub fn value(&self, name: &str) -> Option<&Tree> {
        self.table.get(name).or_else(|| self.store.get(name))
    }

    /// Names that count as missing, because their options lack a value.
    pub fn blocked(&self) -> impl Iterator<Item = &str> {
        self.states
            .iter()
            .filter(|(_, state)| **state == State::Blocked)
            .map(|(name, _)| name.as_str())
    }

    fn resolve_within(&mut self, name: &str, path: &mut Path<'a>) -> Result<State, StageError> {
        if let Some(state) = self.states.get(name) {
            return Ok(*state);
        }
        if let Some(first) = path.names.iter().position(|outer| outer == name) {
            let circle = path.names.iter().skip(first).map(String::as_str).chain([name]);
            let help = recursion_help(circle);
            return Err(self.input_error(
                path,
                Diagnostic::reported_error("variables-recursion", "Detected recursion").help(help),
            ));
        }
        if path.names.len() >= MAX_CHAIN {
            let message = format!("Expected at most {MAX_CHAIN} variables whose options refer to each other");
            return Err(self.input_error(path, Diagnostic::reported_error("variables-too-deep", message)));
        }
        let definition = self.definitions.get(name).copied();
        let outer = path.here;
        path.here = definition.or(outer);
        path.names.push(name.to_string());
        let state = self.find(name, definition, path);
        path.names.pop();
        path.here = outer;
        // The failure is reported: for variables that need this one, it has no value.
        let known = state.as_ref().copied().unwrap_or(State::Missing);
        self.states.insert(name.to_string(), known);
        state
    }

    fn find(
        &mut self,
        name: &str,
        definition: Option<&'a Definition>,
        path: &mut Path<'a>,
    ) -> Result<State, StageError> {
        let state = |has_value| if has_value { State::Found } else { State::Missing };
        let Some(definition) = definition else {
            return Ok(state(self.value(name).is_some()));
        };
        let context = format!("Interpolating variable '{name}' definition options");
        let options = self
            .options(definition, path)
            .map_err(|error| with_context(error, &context))?;
        let Some(mut options) = options else {
            return Ok(State::Blocked);
        };
        if let Some(consumed) = self.addresses.get(name) {
            amend(&mut options, consumed);
        }
        let has_value = self.value(name).is_some();
        let has_value = match &definition.kind {
            Some(kind) if self.generator.is_some() => self.ensure(definition, kind, &options, path)?,
            _ => has_value,
        };
        self.options.insert(&definition.name, options);
        Ok(state(has_value))
    }

    /// The options with values in place of placeholders; `None` if some have no value.
    fn options(&mut self, definition: &'a Definition, path: &mut Path<'a>) -> Result<Option<Tree>, StageError> {
        let names = references(&definition.options);
        if names.is_empty() {
            return Ok(Some(definition.options.clone()));
        }
        let (mut values, mut all) = (Tree::object(), true);
        for name in &names {
            let root = name.split('.').next().unwrap_or(name);
            let state = self.resolve_within(root, path);
            match state.map_err(|error| with_context(error, &format!("Finding variable '{name}'")))? {
                State::Found => drop(values.set(root, self.value(root).cloned())),
                // BOSH generates from a placeholder that is left. The director has no such behaviour to be compatible
                // with.
                State::Blocked => all &= self.rules == VariableRules::Cli,
                State::Missing => all = false,
            }
        }
        let options = self.put_in(definition, &values)?;
        Ok(options.filter(|_| all))
    }

    /// The options with these values.
    fn put_in(&mut self, definition: &Definition, values: &Tree) -> Result<Option<Tree>, StageError> {
        // Wrapped in a list, so that options are never mistaken for a document with a section `variables`.
        let wrapped = Tree::Array(vec![definition.options.clone()]);
        let wrapped = Named::new(self.document, &wrapped);
        let mut reply = self.stages.interpolate(wrapped, values, self.rules);
        if let Ok((_, reported)) | Err(StageError::Input(reported)) = &mut reply {
            relocate(reported, definition);
        }
        let (done, warnings) = reply?;
        self.warnings.extend(warnings);
        Ok(done.document.as_array().and_then(|items| items.first()).cloned())
    }

    fn placed(&self, mut error: Diagnostic, pointer: &str) -> Diagnostic {
        if error.place.document.is_none() {
            error = error.in_document(self.document).at(pointer);
        }
        error
    }

    fn input_error(&self, path: &Path<'_>, error: Diagnostic) -> StageError {
        let pointer = path.here.map_or("", |definition| &definition.pointer);
        StageError::Input(vec![self.placed(error, pointer)])
    }
}

/// The variables whose value has to be generated.
pub fn to_generate<'a>(definitions: &'a [Definition], table: &Table, store: &Store) -> Vec<&'a Definition> {
    let mut seen = HashSet::new();
    let has_no_value = |name: &str| table.get(name).is_none() && store.get(name).is_none();
    definitions
        .iter()
        .filter(|one| one.kind.is_some() && has_no_value(&one.name) && seen.insert(&one.name))
        .collect()
}

/// Adds the context of an error, as BOSH writes it on one line. Faults of a plugin stay unchanged.
pub fn with_context(mut error: StageError, context: &str) -> StageError {
    if let StageError::Input(diagnostics) = &mut error {
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.is_error()) {
            diagnostic.message = format!("{context}: {}", diagnostic.message);
        }
    }
    error
}

/// All names in the placeholders of a tree, with sub-keys, each once, in order.
pub fn references(tree: &Tree) -> IndexSet<String> {
    let mut names = IndexSet::new();
    each_string(tree, &mut Pointer::root(), &mut |text, _, _| {
        names.extend(scan(text).map(|found| found.name.to_string()))
    });
    names
}

/// Moves the places of diagnostics from the list around the options to the definition in the document.
fn relocate(diagnostics: &mut [Diagnostic], definition: &Definition) {
    for Diagnostic { place, .. } in diagnostics {
        let inner = place.pointer.as_deref().and_then(|pointer| pointer.strip_prefix("/0"));
        place.pointer = Some(format!("{}/options{}", definition.pointer, inner.unwrap_or("")));
    }
}
