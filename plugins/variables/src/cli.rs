//! Interpolation as `bosh interpolate` does it.
//!
//! A variable is found where it has a value and all that its definition's options refer to has one. The name of one
//! that is not found because of its options is not reported: the names inside are, when the walk reaches them. As with
//! BOSH, only one level is checked: options may refer to a variable that is not found because of its own options.

use crate::error::Error;
use crate::plan::listed;
use crate::walk::{Evaluate, walk};
use crate::{codes, definitions, find, limit, satisfied};
use boson_contract::Reply;
use boson_contract::variables::{Definition, Interpolated};
use boson_document::placeholder::{self, Placeholder};
use boson_document::{Diagnostic, Map, Pointer, Report, Tree, go};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Longest chain of definitions whose options refer to each other.
const MAX_CHAIN: usize = 64;

const SECTIONS: &str = "Getting all variables from variable definitions sections";

/// Replaces placeholders, then takes out the definitions of variables that were found.
pub fn interpolate(mut document: Tree, values: &Map) -> Reply<Interpolated> {
    let defined = definitions::read(&document)?;
    let mut variables = Variables::new(values, &defined);
    let failed = |definition: &Definition, error: Error| vec![error.within(SECTIONS).at(&place(definition))];
    // The first failure ends it: failures of other definitions often have the same cause.
    for definition in defined.iter().filter(|definition| definition.kind.is_some()) {
        variables
            .found(&definition.name)
            .map_err(|error| failed(definition, error))?;
    }
    let mut report = limit::report();
    walk(&mut document, &mut variables, &mut report);
    let diagnostics = limit::finish(report)?;
    let mut found = Vec::new();
    for definition in &defined {
        match variables.found(&definition.name) {
            Ok(true) => found.push(definition.name.as_str()),
            Ok(false) => variables.record_missing(&definition.name, &place(definition)),
            Err(error) => return Err(failed(definition, error)),
        }
    }
    satisfied::remove(&mut document, &found).map_err(|diagnostic| vec![diagnostic])?;
    let interpolated = Interpolated {
        document,
        missing: listed(variables.missing),
        used: variables.used.into_iter().collect(),
    };
    Ok((interpolated, diagnostics))
}

fn place(definition: &Definition) -> Pointer {
    Pointer::parse(&definition.pointer).unwrap_or_default()
}

/// The state of a variable.
#[derive(Clone, Debug)]
enum State {
    /// It has a value, and all of its options have.
    Found,
    /// It has no value.
    Missing,
    /// Something in its options has no value.
    Blocked,
    /// Looking it up fails.
    Failed(Error),
}

struct Variables<'v> {
    values: &'v Map,
    /// The first definition of each name, where its options hold placeholders.
    options: HashMap<&'v str, &'v Tree>,
    states: HashMap<String, State>,
    missing: BTreeMap<String, Pointer>,
    used: BTreeSet<String>,
}

// === impl Variables ===

impl<'v> Variables<'v> {
    fn new(values: &'v Map, definitions: &'v [Definition]) -> Self {
        let mut options = HashMap::new();
        for definition in definitions {
            options.entry(definition.name.as_str()).or_insert(&definition.options);
        }
        Self {
            values,
            options,
            states: HashMap::new(),
            missing: BTreeMap::new(),
            used: BTreeSet::new(),
        }
    }

    /// Notes that a variable has no value; one that its options block is not noted.
    fn record_missing(&mut self, name: &str, place: &Pointer) {
        if !self.missing.contains_key(name) && matches!(self.states.get(name), Some(State::Missing)) {
            self.missing.insert(name.to_string(), place.clone());
        }
    }

    fn found(&mut self, name: &str) -> Result<bool, Error> {
        match self.state(name, &mut Vec::new()) {
            State::Found => Ok(true),
            State::Missing | State::Blocked => Ok(false),
            State::Failed(error) => Err(error),
        }
    }

    /// The state of a variable; `path` holds the names whose options are being checked.
    fn state(&mut self, name: &str, path: &mut Vec<String>) -> State {
        if let Some(state) = self.states.get(name) {
            return state.clone();
        }
        if path.iter().any(|outer| outer == name) {
            return State::Failed(Error::new(codes::RECURSION, "Detected recursion"));
        }
        if path.len() >= MAX_CHAIN {
            let message = format!("Expected at most {MAX_CHAIN} variables whose options refer to each other");
            return State::Failed(Error::new(codes::TOO_DEEP, message));
        }
        let has_value = self.values.contains_key(name);
        if has_value {
            self.used.insert(name.to_string());
        }
        let options = self.options.get(name).copied();
        path.push(name.to_string());
        let options = options.map_or(State::Found, |options| self.options_state(options, path));
        path.pop();
        let state = match options {
            State::Found if has_value => State::Found,
            State::Found => State::Missing,
            State::Failed(error) => {
                State::Failed(error.within(&format!("Interpolating variable '{name}' definition options")))
            }
            state => state,
        };
        // Inside of others a failure has a part of their path in it: it is not this variable's own.
        if path.is_empty() || !matches!(state, State::Failed(_)) {
            self.states.insert(name.to_string(), state.clone());
        }
        state
    }

    fn options_state(&mut self, options: &Tree, path: &mut Vec<String>) -> State {
        let mut names = Vec::new();
        placeholder::each_string(options, &mut Pointer::root(), &mut |text, _, _| {
            names.extend(placeholder::scan(text).map(|found| found.name.to_string()));
        });
        let mut all = true;
        for name in &names {
            let root = name.split('.').next().unwrap_or(name);
            match self.state(root, path) {
                State::Found | State::Blocked => {}
                State::Missing => all = false,
                State::Failed(error) => return State::Failed(error.within(&format!("Finding variable '{name}'"))),
            }
        }
        if names.is_empty() {
            return State::Found;
        }
        // Values of the wrong kind and missing sub-keys show only when they are put in.
        let (missing, mut report) = (std::mem::take(&mut self.missing), limit::report());
        walk(&mut options.clone(), self, &mut report);
        self.missing = missing;
        match report.into_diagnostics().into_iter().find(Diagnostic::is_error) {
            Some(error) => State::Failed(Error::new(error.code, error.message)),
            None if all => State::Found,
            None => State::Blocked,
        }
    }

    /// The value of a placeholder; `None` if it has none, which is recorded, or if looking it up fails, which is
    /// reported.
    fn lookup(&mut self, found: &Placeholder<'_>, place: &Pointer, report: &mut Report) -> Option<&'v Tree> {
        self.find(found, place).unwrap_or_else(|error| {
            let error = error.within(&format!("Finding variable '{}'", found.name));
            report.push(error.at(place));
            None
        })
    }

    fn find(&mut self, found: &Placeholder<'_>, place: &Pointer) -> Result<Option<&'v Tree>, Error> {
        if !self.found(found.root())? {
            self.record_missing(found.root(), place);
            return Ok(None);
        }
        let keys: Vec<&str> = found.sub_keys().collect();
        let value = self.values.get(found.root());
        value.map(|value| find::in_value(value, &keys)).transpose()
    }
}

impl Evaluate for Variables<'_> {
    fn value(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree> {
        if let Some(whole) = placeholder::whole(text) {
            return self.lookup(&whole, place, report).cloned();
        }
        let (mut out, mut end) = (String::new(), 0);
        for found in placeholder::scan(text) {
            let Some(value) = self.lookup(&found, place, report) else {
                continue;
            };
            let Some(part) = embeddable(value) else {
                report.push(not_embeddable(value, found.name).at(place));
                continue;
            };
            // BOSH looks these up, and replaces only the form without spaces.
            if !found.spaced {
                out.push_str(&text[end..found.range.start]);
                out.push_str(&part);
                end = found.range.end;
            }
        }
        (end > 0).then(|| Tree::String(out + &text[end..]))
    }

    fn key(&mut self, text: &str, place: &Pointer, report: &mut Report) -> Option<Tree> {
        self.value(text, place, report)
    }
}

/// The text of a string or of an integer of 64 bits; nothing else can be part of a string.
fn embeddable(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Some(integer.to_string()),
            (None, Some(integer)) => Some(integer.to_string()),
            (None, None) => None,
        },
        _ => None,
    }
}

fn not_embeddable(value: &Tree, name: &str) -> Error {
    let shown = if value.is_null() { "<nil>" } else { "<redacted>" };
    let found = format!(
        "Invalid type '{}' for value '{shown}' and variable '{name}'.",
        go::type_name(value)
    );
    let message = format!("{found} Supported types for interpolation within a string are integers and strings.");
    Error::new(codes::NOT_EMBEDDABLE, message)
}
